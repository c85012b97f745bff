"""The moves of all linear players of a round as one operation, and what is counted of their mean as another.

A thousand players with 73 inputs each spend most of a round on being called. Players that share a shape are stacked:
their weights are ``(players, classes, inputs)``, one product has all of their logits, and Adam goes over all of them.
What a player keeps, draws and answers stays its own, and it is the same but for rounding as when it moves by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from flgames.core.cache import LogitCache
from flgames.core.client import Client
from flgames.core.information import Buffer, Term
from flgames.core.messages import HISTORY, MODEL, Action, Answer, Ask
from flgames.methods.fl_games.client import FLGamesClient
from flgames.methods.fl_games.memory import sum_of
from flgames.models.architecture import Weights

TASKS = ("respond", "count")
"""What can be done for all players at once."""

Key = TypeVar("Key")

Counted = tuple[Tensor, Tensor]
"""Features and targets of the samples that are counted, of some players."""


class AllAtOnce:
    """Answers for linear players on a fixed representation, all at once."""

    def __init__(self) -> None:
        self._counted: dict[tuple[int, ...], tuple[Sequence[LogitCache], Counted]] = {}

    def __call__(self, clients: Mapping[str, Client], asks: Mapping[str, Ask]) -> dict[str, Answer] | None:
        """Every player's answer to its question; all of them are asked for the same."""
        first = next(iter(asks.values()))
        if first.task not in TASKS:
            return None
        for name, ask in asks.items():
            clients[name].hear(ask.news)
        movers = [client for name in asks if isinstance(client := clients[name], FLGamesClient)]
        answers: dict[str, Answer] = {}
        if first.task == "count":
            counted = [(client, client.counted.chunks(int(first.arguments["samples"]))) for client in movers]
            for chunks, group in _grouped((chunks, client) for client, chunks in counted):
                answers |= self._count(group, chunks)
        else:
            t, players, sign = (int(first.arguments.get(name, 0)) for name in ("t", "players", "sign"))
            for client in movers:
                client.prepare(sign)
            shapes = (((client.batches.batch_size, client.steps), client) for client in movers)
            for _, group in _grouped(shapes):
                answers |= respond(group, t, players)
        return {name: answers[name] for name in asks}

    def _count(self, group: Sequence[FLGamesClient], chunks: int) -> dict[str, Answer]:
        """Confusion counts and loss sums of the mean of all players, which all of them are told."""
        answers: dict[str, Answer] = {}
        sizes = ((sum(map(len, client.counted.features.chunks[:chunks])), client) for client in group)
        for size, alike in _grouped(sizes):
            features, targets = self._read([client.counted for client in alike], chunks)
            model = alike[0].known.buffers[MODEL].current
            assert all(client.known.buffers[MODEL].current.version == model.version for client in alike)
            with torch.no_grad():
                weight, bias = _parts(model.weights)
                logits = torch.matmul(features, weight.T) + bias
                losses = torch.vmap(alike[0].loss)(logits, targets) * size
            classes = logits.shape[-1]
            cells = torch.arange(len(alike), device=targets.device)[:, None] * classes**2
            pairs = (cells + targets * classes + logits.argmax(-1)).flatten()
            confusion = torch.bincount(pairs, minlength=len(alike) * classes**2).reshape(-1, classes, classes).cpu()
            for client, own, loss in zip(alike, confusion, losses.tolist(), strict=True):
                answers[client.site.name] = Answer({"confusion": own}, {"loss_sum": loss})
        return answers

    def _read(self, caches: Sequence[LogitCache], chunks: int) -> Counted:
        """What is counted stands still while the representation does, so it is read once."""
        key = (chunks, *map(id, caches))
        if key not in self._counted:
            features = [torch.cat([cache.features.features(k) for k in range(chunks)]).flatten(1) for cache in caches]
            found = torch.stack(features), torch.stack([cache.targets(chunks) for cache in caches])
            # Another number of samples, or others of them: what was read before is not asked for again.
            self._counted = {each: kept for each, kept in self._counted.items() if each[0] == chunks}
            self._counted[key] = caches, found  # the caches are kept, so that their ids stay theirs
        return self._counted[key][1]


def respond(group: Sequence[FLGamesClient], t: int, players: int) -> dict[str, Answer]:
    """The moves of players that share a batch size and a number of steps."""
    own_weight, others = opponents(group, players)
    weight, bias = (
        torch.stack(each).requires_grad_()
        for each in zip(*(_parts(_own(client).current.weights) for client in group), strict=True)
    )
    adam = _Adam(group) if group[0].config.optimiser == "adam" else None
    losses = torch.zeros(len(group), device=weight.device)
    steps, loss = group[0].steps, torch.vmap(group[0].loss)
    for step in range(steps):
        batches = [client.next_batch(step) for client in group]
        features = torch.stack([features.flatten(1) for features, _ in batches])
        targets = torch.stack([targets for _, targets in batches])
        # Opponents and the player are one product: (own w_k + sum of w_q) x.
        logits = torch.baddbmm(
            (own_weight * bias + others[1])[:, None], features, (own_weight * weight + others[0]).transpose(1, 2)
        )
        each = loss(logits, targets)
        gradients = torch.autograd.grad(each.sum(), (weight, bias))
        losses += each.detach()
        with torch.no_grad():
            for place, (parameter, gradient) in enumerate(zip((weight, bias), gradients, strict=True)):
                if adam is None:
                    parameter -= group[0].config.learning_rate * gradient
                else:
                    adam.step(place, parameter, gradient)
    if adam is not None:
        adam.keep()
    moved = zip(group, weight.detach(), bias.detach(), (losses / steps).tolist(), strict=True)
    names = list(_own(group[0]).current.weights)
    return {
        client.site.name: client.moved(t, dict(zip(names, (own.clone(), shift.clone()), strict=True)), mean)
        for client, own, shift, mean in moved
    }


def opponents(group: Sequence[FLGamesClient], players: int) -> tuple[float, tuple[Tensor, Tensor]]:
    """:func:`~flgames.methods.fl_games.memory.linear_response` of each: its own weight, and its opponents, stacked."""
    config, known = group[0].config, group[0].known
    total = 2 * players - 1 if config.memory and config.memory_mode == "normalised" else players
    share, count = players / total, len(group)
    model, told = known.buffers[MODEL], known.buffers.get(HISTORY)
    common: list[Term] = []
    own: list[tuple[Tensor, list[Action]]] = []
    """What all are told, and what each takes off: so much of one of its actions."""
    if not config.memory or config.memory_mode != "history":
        common.append((share, model.current))
        own.append((torch.ones(count), [_own(client).current for client in group]))
    if config.memory:
        if told and told.current.version == model.current.version:
            common.append((share, told.current))
        else:
            common += [(share * weight, action) for weight, action in model.history()]
        histories = [_own(client).history() for client in group]
        lengths = torch.tensor([len(history) for history in histories])
        for place in range(int(lengths.max())):
            # Who has played less often than others takes nothing off for what it has not played.
            actions = [history[min(place, len(history) - 1)][1] for history in histories]
            own.append(((place < lengths) / lengths, actions))
    weight, bias = (tensor.expand(count, *tensor.shape) for tensor in _parts(sum_of(common)))
    for scale, actions in own:
        weights, biases = (torch.stack(each) for each in zip(*(_parts(a.weights) for a in actions), strict=True))
        scale = scale.to(weights) / total
        weight, bias = weight - weights * scale[:, None, None], bias - biases * scale[:, None]
    return 1 / total, (weight, bias)


class _Adam:
    """Adam over stacked players, each with the moments and the number of steps that it has by itself."""

    def __init__(self, group: Sequence[FLGamesClient]) -> None:
        self.group = group
        self.rate = group[0].config.learning_rate
        (self.beta1, self.beta2), self.eps = (0.9, 0.999), 1e-8
        self.moments: list[list[Tensor]] = []
        parameters = [list(client.optimiser.param_groups[0]["params"]) for client in group]
        states = [
            [client.optimiser.state.get(each, {}) for each in own]
            for client, own in zip(group, parameters, strict=True)
        ]
        self.parameters = parameters
        self.steps = torch.tensor([float(own[0].get("step", 0.0)) for own in states])
        for place in range(len(parameters[0])):
            zeros = torch.zeros_like(parameters[0][place])
            self.moments.append(
                [torch.stack([own[place].get(name, zeros) for own in states]) for name in ("exp_avg", "exp_avg_sq")]
            )

    def step(self, place: int, parameter: Tensor, gradient: Tensor) -> None:
        if place == 0:
            self.steps += 1
        first, second = self.moments[place]
        first.lerp_(gradient, 1 - self.beta1)
        second.mul_(self.beta2).addcmul_(gradient, gradient, value=1 - self.beta2)
        shape = (-1, *[1] * (parameter.ndim - 1))
        steps = self.steps.double()
        rate = (self.rate / (1 - self.beta1**steps)).to(parameter).reshape(shape)
        root = (1 - self.beta2**steps).sqrt().to(parameter).reshape(shape)
        parameter -= rate * first / (second.sqrt() / root + self.eps)

    def keep(self) -> None:
        """Give every player its moments back."""
        for place in range(len(self.moments)):
            first, second = self.moments[place]
            rows = zip(self.group, self.parameters, first, second, self.steps, strict=True)
            for client, parameters, own, squares, step in rows:
                client.optimiser.state[parameters[place]] = {
                    "step": step.clone(), "exp_avg": own, "exp_avg_sq": squares,
                }  # fmt: skip


def _own(client: FLGamesClient) -> Buffer:
    return client.known.buffers[client.site.name]


def _parts(weights: Weights) -> tuple[Tensor, Tensor]:
    """The matrix and the bias of a linear predictor."""
    weight, bias = weights.values()
    return weight, bias


def _grouped(pairs: Iterable[tuple[Key, FLGamesClient]]) -> list[tuple[Key, list[FLGamesClient]]]:
    found: dict[Key, list[FLGamesClient]] = {}
    for key, client in pairs:
        found.setdefault(key, []).append(client)
    return list(found.items())

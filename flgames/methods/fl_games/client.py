"""A client of FL Games: a player that answers its opponents, and lends its data's gradient to phi.

``respond`` is PredictorUpdate(k) of Algorithm 1, ``represent`` is RepresentationUpdate(k).
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional

from flgames.core.client import Client, Site
from flgames.core.gradients import gradient_answer
from flgames.core.information import Term
from flgames.core.messages import CONTESTED, Action, Answer
from flgames.core.state import State, taken
from flgames.core.steps import batches_in, make_optimiser, steps_of
from flgames.data.samples import BatchStream, effective_share, in_chunks
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.memory import drawn, linear_response, response_terms
from flgames.methods.fl_games.objective import best_response_loss, opponents_logits, representation_loss
from flgames.methods.fl_games.settling import edges_along, reliance
from flgames.methods.heads import fit_head
from flgames.methods.weighting import Weighting, cells_of
from flgames.models.architecture import Architecture, Weights, snapshot
from flgames.models.linear import linear_layer
from flgames.seeds import generator, torch_seed


class FLGamesClient(Client):
    """One player. Its Adam moments, its move number and its copies of the others' buffers stay with it."""

    tasks = Client.tasks | {"respond", "represent", "moments", "head", "rely", "weigh", "risk", "doubt"}

    def __init__(self, site: Site, architecture: Architecture, config: FLGamesConfig) -> None:
        super().__init__(site, architecture, config.memory)
        self.config = config
        self.moves = 0
        self.phi_moves = 0
        self.sign = 0
        """Of what is contested, where samples are weighted."""
        self._played: Action | None = None
        parameters = list(self.predictor.parameters())
        self.optimiser = (
            architecture.optimiser(parameters)
            if architecture.optimiser
            else make_optimiser(config.optimiser, parameters, config.learning_rate)
        )
        size = len(site.samples)
        self.batches = self._even_batches()
        self.phi_stream = BatchStream(size, config.batch_size, site.seed, site.name, "phi")
        self.steps = steps_of(config.local_steps, size, config.batch_size, site.seed, site.name)

    def _even_batches(self) -> BatchStream:
        site = self.site
        return BatchStream(len(site.samples), self.config.batch_size, site.seed, site.name, "moves")

    def respond(self, t: int, players: int = 0, sign: int = 0) -> Answer:
        """Move in predictor round t: ``local_steps`` steps on the ensemble's loss, opponents held still.

        ``players`` is their number where all of them are linear, and are told of by their mean only. ``sign`` is set
        where samples are weighted so that what is contested tells nothing.
        """
        own = self.known.buffers[self.site.name].current
        if own is not self._played:
            # The first move, or the last one was lost on its way, or bounded: what counts is what the others have seen.
            self.predictor.load_state_dict(own.weights)
        self.prepare(sign)
        steps = self._full_batch_steps if self.config.full_batch else self._mini_batch_steps
        self.predictor.train()
        # A module that draws, such as Dropout, draws the same when this move is played again.
        with torch_seed(self.site.seed, "move", self.site.name, self.moves):
            losses = steps(*self._ensemble(t, players))
        answer = self.moved(t, snapshot(self.predictor), sum(losses) / len(losses))
        self._played = self.known.buffers[self.site.name].current
        return answer

    def moved(self, t: int, weights: Weights, loss: float) -> Answer:
        """Its move in predictor round t is over: what it has played, and what it says."""
        self.moves += 1
        self.known.receive([Action(self.site.name, t, weights)])
        return Answer(weights, {"loss": loss})

    def next_batch(self, step: int) -> tuple[Tensor, Tensor]:
        """Features and targets for a step of its next move."""
        return self._features(self._batch_of(step))

    def _batch_of(self, step: int) -> Tensor:
        return self.batches.batch(self.moves * self.steps + step)

    def moments(self) -> Answer:
        """The sums and the sums of squares of this client's features, over all of its samples."""
        sums, squares = torch.zeros(1, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
        for index in in_chunks(torch.arange(len(self.site.samples))):
            features = self._features(index)[0].cpu().double()
            sums, squares = sums + features.sum(0), squares + (features**2).sum(0)
        return Answer({"sums": sums, "squares": squares})

    def risk(self) -> Answer:
        """The risk of a balanced ensemble, and its gradient for what players count for and for the bias."""
        told = self.known.balance
        assert told is not None
        weights, bias = (told[name].clone().requires_grad_() for name in ("weights", "bias"))
        logits, targets = self._players_logits()
        loss = self.loss(torch.einsum("k,knc->nc", weights, logits) + bias, targets)
        loss.backward()  # type: ignore[no-untyped-call]
        assert weights.grad is not None
        assert bias.grad is not None
        return Answer({"gradient": torch.cat([weights.grad, bias.grad[1:]]).cpu()}, {"loss": loss.item()})

    def doubt(self) -> Answer:
        """How much losses of the ensemble vary from sample to sample: what a mean of them is worth."""
        logits, targets = self._answered(self.judged)
        losses = functional.cross_entropy(logits, targets, reduction="none")
        return Answer(numbers={"variance": float(losses.var(correction=0))})

    def _players_logits(self) -> tuple[Tensor, Tensor]:
        """What every player says of the samples that models are judged by, and their targets."""
        chunks = self.judged.chunks()
        actions = self.known.current
        found = self.judged.logits(actions, chunks, {action.key for action in actions})
        return torch.stack(found).double(), self.judged.targets(chunks)

    def head(self) -> Answer:
        """This client's own head: the effect of every column, how uncertain it is, and how much the column varies."""
        features, targets = self._all_features()
        classes = linear_layer(self.predictor).out_features
        found = fit_head(features, targets, classes)
        spread = features.double().var(0, unbiased=False)
        return Answer({"effects": found.effects(), "variances": found.variances(features), "spread": spread})

    def rely(self) -> Answer:
        """How much of what the heads say, on average, is what they differ about; and which way that points."""
        told = self.known.buffers[CONTESTED].current.weights
        features, targets = self._all_features()
        right = dict.fromkeys(("along", "against"), 0)
        if len(told["direction"]) > 1:  # with two classes cells are quantiles, and have no side
            for way, sign in (("along", 1), ("against", -1)):
                u = features.double() @ (sign * told["direction"]).T
                right[way] = int((cells_of(u, None) == targets).sum())
        return Answer(numbers={"reliance": reliance(features, told["direction"], told["mean"])} | right)

    def weigh(self, sign: int) -> Answer:
        """Weight this client's samples so that what is contested tells nothing; the share that is left, as weights
        count them. The weights never leave it."""
        self.prepare(sign)
        return Answer(
            numbers={"effective": effective_share(self.weights), "judged": effective_share(self.judged_weights)}
        )

    def prepare(self, sign: int) -> None:
        """From now on draw batches, and count samples, by weights."""
        if sign == self.sign:
            return
        self.sign = sign
        if not sign:
            self.batches, self.counted = self._even_batches(), self.judged
            return
        direction = sign * self.known.buffers[CONTESTED].current.weights["direction"]
        features, targets = self._all_features()
        u = features.double() @ direction.T
        weighting = Weighting.of(u, targets, linear_layer(self.predictor).out_features, edges_along(u))
        judged = self.judged.features
        back, its_targets = judged.batch(torch.arange(len(judged.samples)))
        self.weigh_samples(weighting(u, targets), weighting(back.flatten(1).double() @ direction.T, its_targets))

    def _all_features(self) -> tuple[Tensor, Tensor]:
        features, targets = self._features(torch.arange(len(self.site.samples)))
        return features.flatten(1), targets

    def _ensemble(self, t: int, players: int) -> tuple[float, list[Term]]:
        """What is answered to: the own weight in the ensemble, and the opponents."""
        who, memory, mode = self.site.name, self.config.memory, self.config.memory_mode
        if not players:
            own_weight, terms = response_terms(who, self.known, memory, mode)
            if count := self.config.opponents:
                terms = drawn(terms, count, generator(self.site.seed, "opponents", who, self.moves))
            return own_weight, terms
        own_weight, weights = linear_response(who, self.known, players, memory, mode)
        return own_weight, [(1.0, Action("opponents", t, weights))]

    def _mini_batch_steps(self, own_weight: float, opponents: list[Term]) -> list[float]:
        losses = []
        answered = self._looked_up(opponents) if self.config.look_up and opponents else None
        for step in range(self.steps):
            index = self._batch_of(step)
            features, targets = self._features(index)
            if answered is None:
                others = opponents_logits(self.frozen_predictor, opponents, features)
            else:
                others = answered.index_select(0, self.features.places(index))
            loss = best_response_loss(own_weight, self.predictor(features), others, targets, self.loss)
            self.predictor.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimiser.step()
            losses.append(loss.item())
        return losses

    def _looked_up(self, opponents: list[Term]) -> Tensor:
        """What opponents say of all samples, in the order of :attr:`cache`; only new actions are evaluated."""
        return self.cached_logits(opponents, self.cache.chunks(), self.cache)

    def _features(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """phi of these samples, and their targets. One that never moves is computed once."""
        if self.config.representation == "fixed":
            return self.features.batch(index)
        inputs, targets = self.batch(index)
        with torch.no_grad():
            return self.representation(inputs), targets

    def _full_batch_steps(self, own_weight: float, opponents: list[Term]) -> list[float]:
        """Gradient descent on all samples. The opponents stand still, so their logits are looked up, not recomputed."""
        size, chunks = len(self.site.samples), self.cache.chunks()
        others = self._looked_up(opponents) if opponents else None
        targets = self.cache.targets(chunks)
        losses = []
        for _ in range(self.steps):
            self.predictor.zero_grad()
            total, start = 0.0, 0
            for chunk in range(chunks):
                own = self.predictor(self.features.features(chunk))
                part = slice(start, start + len(own))
                against = None if others is None else others[part]
                loss = best_response_loss(own_weight, own, against, targets[part], self.loss) * (len(own) / size)
                loss.backward()  # type: ignore[no-untyped-call]
                total, start = total + loss.item(), part.stop
            self.optimiser.step()
            losses.append(total)
        return losses

    def represent(self) -> Answer:
        """The sample-mean gradient of R^k(w_av o phi), and phi's buffers after it, if it has any."""
        actions = [action.weights for action in self.known.current]
        for name in self.learnt:
            self.representation.get_parameter(name).requires_grad_(True)
        self.representation.train()
        seen, total = 0, 0.0
        with torch_seed(self.site.seed, "phi", self.site.name, self.phi_moves):
            for inputs, targets in self._phi_batches():
                loss = representation_loss(
                    self.representation, self.frozen_predictor, actions, inputs, targets, self.loss
                )
                (loss * len(targets)).backward()  # type: ignore[no-untyped-call]
                seen += len(targets)
                total += loss.item() * len(targets)
        for parameter in self.representation.parameters():
            if parameter.grad is not None:
                parameter.grad.div_(seen)
        answer = gradient_answer(self.representation, total / seen)
        self.representation.requires_grad_(False).eval()
        self.phi_moves += 1
        return answer

    def _phi_batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        if self.config.phi_batches == "all":
            yield from map(self.features.inputs, range(self.cache.chunks()))
            return
        count = batches_in(self.config.phi_batches, len(self.site.samples), self.config.batch_size)
        for number in range(self.phi_moves * count, (self.phi_moves + 1) * count):
            yield self.batch(self.phi_stream.batch(number))

    def state_dict(self) -> State:
        return super().state_dict() | {
            "moves": self.moves,
            "phi_moves": self.phi_moves,
            "sign": self.sign,
            "optimiser": self.optimiser.state_dict(),
        }

    def load_state_dict(self, state: State) -> None:
        super().load_state_dict(state)
        self.moves = taken(state, "moves", int)
        self.phi_moves = taken(state, "phi_moves", int)
        self.optimiser.load_state_dict(taken(state, "optimiser", dict))
        self._played = None
        self.prepare(0)
        if self.known.phi is not None:  # weights are made of what phi gives
            self.representation.load_state_dict(self.known.phi.weights)
        self.prepare(taken({"sign": 0} | state, "sign", int))

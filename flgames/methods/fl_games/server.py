"""The server's part of Algorithm 1.

In a predictor round players answer their opponents (:class:`~flgames.methods.fl_games.client.FLGamesClient`); in a
round of phi the server takes one step on the clients' mean gradient, FedSGD.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial

import torch

from flgames.core.client import Site
from flgames.core.gradients import descend, gradient_form, losses_of
from flgames.core.information import Buffer
from flgames.core.messages import CONTESTED, HISTORY, LARGEST, MODEL, SHARE, Action, Answer, Form, MomentForm
from flgames.core.method import Method, Move, Together
from flgames.core.records import Balanced, Finding
from flgames.core.robust import clipped, merged
from flgames.core.server import Server
from flgames.core.state import State, taken
from flgames.core.steps import make_optimiser
from flgames.methods.fl_games.balance import balance
from flgames.methods.fl_games.client import FLGamesClient
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.counting import CountedTogether
from flgames.methods.fl_games.memory import mean_action, mean_history, moved_together
from flgames.methods.fl_games.schedule import turn
from flgames.methods.fl_games.settling import RELIED_ON, Told, disagreement
from flgames.methods.fl_games.together import AllAtOnce
from flgames.methods.heads import LEAST_VARIANCE, largest_effect
from flgames.models.architecture import Architecture, Weights, initial_weights, snapshot
from flgames.models.ensemble import PHI, Ensemble
from flgames.models.linear import is_linear, linear_layer
from flgames.models.standardise import FeatureScale, moments
from flgames.seeds import torch_seed

FEWEST = 3
"""Players that must have moved for one to stand out."""


class Game(Method):
    """Every variant of FL Games, by its configuration.

    ``first_phi`` are weights to begin with, such as those of a network that was trained before; without them they are
    drawn. Where predictors are linear, clients are told the mean of all players instead of every opponent's action,
    which is enough for them.

    Examples
    --------
    >>> from flgames.methods.fl_games.config import FLGamesConfig
    >>> from flgames.methods.fl_games.server import Game
    >>> from flgames.models.mlp import paper_architecture
    >>> Game(paper_architecture((4,), 2, variable=False), FLGamesConfig(memory=5)).memory
    5
    """

    Config = FLGamesConfig

    def __init__(
        self,
        architecture: Architecture,
        config: FLGamesConfig,
        first_phi: Weights | None = None,
    ) -> None:
        self.architecture = architecture
        self.config = config
        self.first_phi = first_phi
        self.memory = config.memory
        with torch_seed(0, "discarded"):
            linear = is_linear(architecture.predictor())
        self.sums = linear if architecture.linear is None else architecture.linear
        if config.ensemble == "balanced":
            self.sums = False  # to weigh players one must know each of them
        if self.sums and not linear:
            raise ValueError("linear players have one linear layer each, and these have more")
        if config.settle != "never" and not (self.sums and config.representation == "fixed"):
            raise ValueError("settling is for linear players on a fixed representation")
        if config.settle != "never" and config.full_batch:
            raise ValueError("settling weights the samples of mini-batches: it can't be had with full batches")
        if config.batched and (config.representation == "variable" or config.full_batch):
            raise ValueError("only mini-batches on a fixed representation can be batched")
        if self.sums and (config.opponents or config.look_up):
            raise ValueError("linear opponents are answered as one: they need not be drawn, nor looked up")
        self._reset()

    def _reset(self) -> None:
        self.found: Finding | None = None
        self.sign = 0
        self.phi = self.architecture.representation()
        self.phi_optimiser: torch.optim.Optimizer | None = None
        if self.config.representation == "variable":
            parameters = [parameter for parameter in self.phi.parameters() if parameter.requires_grad]
            if not parameters:
                raise ValueError("a variable representation needs parameters; this one has none: keep it fixed")
            config, own = self.config, self.architecture.phi_optimiser
            self.phi_optimiser = (
                own(parameters) if own else make_optimiser(config.phi_optimiser, parameters, config.phi_learning_rate)
            )

    def client(self, site: Site) -> FLGamesClient:
        return FLGamesClient(site, self.architecture, self.config)

    def together(self) -> Together | None:
        if not self.config.batched:
            return None
        return AllAtOnce() if self.sums else CountedTogether()

    def start(self, server: Server, seed: int) -> None:
        """Draw phi and each player's initial action."""
        self._reset()
        self.phi.load_state_dict(self.first_phi or initial_weights(self.architecture.representation, seed, PHI))
        if self.phi.state_dict():
            server.publish(Action(PHI, 0, snapshot(self.phi)))
        for layer in self.phi.modules():
            if isinstance(layer, FeatureScale):
                self._standardise(layer, server)
        for player in server.clients:
            server.publish(Action(player, 0, initial_weights(self.architecture.predictor, seed, player)))
        self._publish_mean(server, 0)
        if self.config.settle != "never":
            self._look_for_disagreement(server)

    def _look_for_disagreement(self, server: Server) -> None:
        """Compare the clients' own heads; where a game between them can't be trusted, have samples weighted."""
        with torch_seed(0, "discarded"):
            layer = linear_layer(self.architecture.predictor())
        like = torch.zeros(1 if server.classes == 2 else server.classes, layer.in_features, dtype=torch.float64)
        largest = largest_effect(server.classes)
        form = replace(
            Form.of({"effects": like, "variances": like, "spread": like[0]}),
            between={
                "effects": (-largest, largest), "variances": (LEAST_VARIANCE, LARGEST), "spread": (0, LARGEST),
            },
        )  # fmt: skip
        told = [
            Told(answer.tensors["effects"], answer.tensors["variances"], answer.tensors["spread"], server.samples[name])
            for name, answer in server.ask_all("head", form).items()
        ]
        differing = disagreement(told)
        server.publish(Action(CONTESTED, 0, {"direction": differing.direction, "mean": differing.mean}))
        forms = {
            name: Form(
                numbers=("reliance", "along", "against"),
                between={"reliance": SHARE, "along": (0, size), "against": (0, size)},
            )
            for name, size in server.samples.items()
        }
        answers = server.ask_all("rely", forms)
        by_size = server.shares(answers)
        relied = sum(float(answer.numbers["reliance"]) * by_size[name] for name, answer in answers.items())
        along, against = (sum(answer.numbers[way] for answer in answers.values()) for way in ("along", "against"))
        sure = bool(differing.contested) and relied >= RELIED_ON
        settled = (sure or self.config.settle == "always") and bool(differing.direction.any())
        left: dict[str, dict[str, float]] = {"effective": {}, "judged": {}}
        if settled:
            self.sign = 1 if along >= against else -1
            weighed = server.ask_all(
                "weigh", Form(numbers=tuple(left), between=dict.fromkeys(left, SHARE)), sign=self.sign
            )
            left = {each: {name: float(answer.numbers[each]) for name, answer in weighed.items()} for each in left}
            server.effective = {name: share for name, share in left["judged"].items() if name in server.judged}
        self.found = Finding(
            contested=differing.contested,
            reliance=relied,
            settled=settled,
            effective=left["effective"],
            judged=left["judged"],
        )

    def _standardise(self, layer: FeatureScale, server: Server) -> None:
        """Set phi's last layer by what all clients see."""
        forms = {name: MomentForm.over(len(layer.mean), size) for name, size in server.samples.items()}
        answers = server.ask_all("moments", forms)
        sums = [answer.tensors["sums"] for answer in answers.values()]
        squares = [answer.tensors["squares"] for answer in answers.values()]
        layer.fit(*moments(sum(server.samples.values()), sums, squares))
        server.publish(Action(PHI, 1, snapshot(self.phi)))

    def warm_start(self, samples: Mapping[str, int]) -> int:
        """The paper's: N rounds with a fixed representation, one epoch of rounds with a variable one."""
        if self.config.representation == "fixed":
            return len(samples)
        return max(math.ceil(count / self.config.batch_size) for count in samples.values())

    def round(self, server: Server, round_: int, seed: int) -> Move:
        now = turn(self.config, round_, server.clients, seed)
        if now.t is None:
            return self._move_phi(server)
        told = {"t": now.t} | ({"players": len(server.clients)} if self.sums else {})
        told |= {"sign": self.sign} if self.sign else {}
        answers = server.ask("respond", now.movers, self.predictor_form, **told)
        # All movers have answered the actions of the round before: only now do the others hear of theirs.
        for player, action in self._bounded(server, seed, now.t, answers).items():
            server.publish(action, by_author=action.weights is answers[player].tensors)
        self._publish_mean(server, now.t)
        return Move("predictors", losses_of(answers))

    def _bounded(self, server: Server, seed: int, t: int, answers: Mapping[str, Answer]) -> dict[str, Action]:
        """What movers played, with ``player_clip`` no further from where they began than others are from theirs.

        That is a game whose players choose from a ball. The bound is set before others hear of an action, so what they
        answer is what the ensemble has in it. To leave a player out of the ensemble only in the end would be another
        thing: the others have answered it, and are wrong without it.
        """
        played = {player: Action(player, t, answer.tensors) for player, answer in answers.items()}
        if not self.config.player_clip:
            return played
        current = {buffer.current.author: buffer.current for buffer in self._players(server)} | played
        moved = {name: action for name, action in current.items() if action.version > 0}
        if len(moved) < FEWEST:
            return played
        first = {name: initial_weights(self.architecture.predictor, seed, name) for name in moved}
        bounded = clipped({name: each.weights for name, each in moved.items()}, self.config.player_clip, first)
        return {name: replace(action, weights=bounded[name]) for name, action in played.items()}

    def _publish_mean(self, server: Server, t: int) -> None:
        """Of linear players others hear the mean; and that of their histories, where theirs is not the mean's own."""
        if not self.sums:
            return
        players = self._players(server)
        server.publish(mean_action(players, t))
        if self.memory and not moved_together(players, server.known.buffers[MODEL]):
            server.publish(mean_history(players, t))

    def _players(self, server: Server) -> list[Buffer]:
        return [server.known.buffers[player] for player in server.clients]

    def heard_by(self, client: str) -> Collection[str] | None:
        return (client, MODEL, HISTORY, CONTESTED) if self.sums else None

    def return_to(self, server: Server, tensors: Weights) -> None:
        super().return_to(server, tensors)
        if self.sums:
            server.publish(mean_action(self._players(server), server.known.buffers[MODEL].current.version + 1))

    def finding(self) -> Finding | None:
        return self.found

    def conclude(self, server: Server) -> Balanced | None:
        return balance(server) if self.config.ensemble == "balanced" else None

    def ensemble(self, server: Server) -> Ensemble:
        players = {buffer.current.author: buffer.current.weights for buffer in self._players(server)}
        known = server.known
        return Ensemble(self.learnt, players, known.phi.weights if known.phi else None, known.balance)

    def _move_phi(self, server: Server) -> Move:
        answers = server.ask("represent", server.clients, gradient_form(self.phi))
        assert self.phi_optimiser is not None
        by_size = server.shares(answers)
        merge = partial(merged, by=self.config.phi_merged_by, clip=self.config.phi_clip)
        descend(self.phi, self.phi_optimiser, answers, by_size, by_size, merge=merge)
        assert server.known.phi is not None
        server.publish(Action(PHI, server.known.phi.version + 1, snapshot(self.phi)))
        return Move("phi", losses_of(answers))

    def state_dict(self) -> State:
        return {
            "phi_optimiser": self.phi_optimiser.state_dict() if self.phi_optimiser else None,
            "found": self.found.model_dump() if self.found else None,
            "sign": self.sign,
        }

    def load_state_dict(self, state: State, server: Server) -> None:
        self._reset()
        if server.known.phi is not None:
            self.phi.load_state_dict(server.known.phi.weights)
        if self.phi_optimiser is not None:
            self.phi_optimiser.load_state_dict(taken(state, "phi_optimiser", dict))
        self.found = Finding.model_validate(state["found"]) if state.get("found") else None
        self.sign = taken({"sign": 0} | state, "sign", int)

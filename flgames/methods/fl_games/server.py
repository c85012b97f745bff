"""The server's part of Algorithm 1.

In a predictor round players answer their opponents (:class:`~flgames.methods.fl_games.client.FLGamesClient`); in a
round of phi the server takes one step on the clients' mean gradient, FedSGD.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import torch

from flgames.core.client import Site
from flgames.core.gradients import descend, gradient_form, losses_of, shares_by_size
from flgames.core.information import Buffer
from flgames.core.messages import HISTORY, MODEL, Action, Form
from flgames.core.method import Method, Move
from flgames.core.server import Server
from flgames.core.state import State, taken
from flgames.core.steps import make_optimiser
from flgames.errors import ClientFailure
from flgames.methods.fl_games.client import FLGamesClient
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.memory import mean_action, mean_history, moved_together
from flgames.methods.fl_games.schedule import turn
from flgames.models.architecture import Architecture, Weights, initial_weights, snapshot
from flgames.models.ensemble import PHI, Ensemble
from flgames.models.linear import is_linear
from flgames.models.standardise import FeatureScale, moments
from flgames.seeds import torch_seed


class Game(Method):
    """Every variant of FL Games, by its configuration.

    ``first_phi`` are weights to begin with, such as those of a network that was trained before; without them they are
    drawn. Where the architecture is linear, clients are told the mean of all players instead of every opponent's
    action, which is enough for them.

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
        self.sums = architecture.linear
        if self.sums:
            with torch_seed(0, "discarded"):
                if not is_linear(architecture.predictor()):
                    raise ValueError("linear players have one linear layer each, and these have more")
        self._reset()

    def _reset(self) -> None:
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

    def _standardise(self, layer: FeatureScale, server: Server) -> None:
        """Set phi's last layer by what all clients see."""
        like = torch.zeros(len(layer.mean), dtype=torch.float64)
        answers = server.ask("moments", server.clients, Form.of({"sums": like, "squares": like}))
        if missing := [name for name in server.clients if name not in answers]:
            raise ClientFailure(f"A game begins with all of its clients; {', '.join(missing)} did not answer.")
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
        answers = server.ask("respond", now.movers, self.predictor_form, **told)
        # All movers have answered the actions of the round before: only now do the others hear of theirs.
        for player, answer in answers.items():
            server.publish(Action(player, now.t, answer.tensors))
        self._publish_mean(server, now.t)
        return Move("predictors", losses_of(answers))

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
        return (client, MODEL, HISTORY) if self.sums else None

    def ensemble(self, server: Server) -> Ensemble:
        players = {buffer.current.author: buffer.current.weights for buffer in self._players(server)}
        return Ensemble(self.learnt, players, server.known.phi.weights if server.known.phi else None)

    def _move_phi(self, server: Server) -> Move:
        answers = server.ask("represent", server.clients, gradient_form(self.phi))
        assert self.phi_optimiser is not None
        by_size = shares_by_size(server.samples, answers)
        descend(self.phi, self.phi_optimiser, answers, by_size, by_size)
        assert server.known.phi is not None
        server.publish(Action(PHI, server.known.phi.version + 1, snapshot(self.phi)))
        return Move("phi", losses_of(answers))

    def state_dict(self) -> State:
        return {"phi_optimiser": self.phi_optimiser.state_dict() if self.phi_optimiser else None}

    def load_state_dict(self, state: State, server: Server) -> None:
        self._reset()
        if server.known.phi is not None:
            self.phi.load_state_dict(server.known.phi.weights)
        if self.phi_optimiser is not None:
            self.phi_optimiser.load_state_dict(taken(state, "phi_optimiser", dict))

"""FL Games: A Federated Learning Framework for Distribution Shifts.

Sharut Gupta, Kartik Ahuja, Mohammad Havaei, Niladri Chatterjee, Yoshua Bengio, 2022,
https://arxiv.org/abs/2211.00184

Each client is a player with its own predictor on a shared representation. In a predictor round players answer their
opponents (:class:`~flgames.player.Player`); in a round of phi the server takes one step on the clients' mean
gradient, FedSGD. This file is the server's part of Algorithm 1.
"""

from __future__ import annotations

from typing import Any

import torch

from flgames.client import Site
from flgames.errors import ClientFailure
from flgames.features import FeatureScale
from flgames.federation import Action, Form, Weights
from flgames.gradients import gradient_form, gradients_and_buffers
from flgames.memory import PHI
from flgames.methods.base import Method, Move, combine, losses_of, shares_by_size
from flgames.models import Architecture, initial_weights, snapshot
from flgames.player import Player
from flgames.rules import Rules, make_optimiser
from flgames.schedule import turn
from flgames.server import Server
from flgames.standardise import moments


class Game(Method):
    """Every variant of FL Games, by its rules.

    ``first_phi`` are weights to begin with, such as those of a network that was trained before; without them they are
    drawn.

    Examples
    --------
    >>> from flgames import Game, Rules, paper_architecture
    >>> Game(paper_architecture((4,), 2, variable=False), Rules(memory=5)).memory
    5
    """

    def __init__(self, architecture: Architecture, rules: Rules, first_phi: Weights | None = None) -> None:
        self.architecture = architecture
        self.rules = rules
        self.first_phi = first_phi
        self.memory = rules.memory
        self._reset()

    def _reset(self) -> None:
        self.phi = self.architecture.representation()
        self.phi_optimiser: torch.optim.Optimizer | None = None
        if self.rules.representation == "variable":
            parameters = [parameter for parameter in self.phi.parameters() if parameter.requires_grad]
            if not parameters:
                raise ValueError("a variable representation needs parameters; this one has none: keep it fixed")
            rules, own = self.rules, self.architecture.phi_optimiser
            self.phi_optimiser = (
                own(parameters) if own else make_optimiser(rules.phi_optimiser, parameters, rules.phi_learning_rate)
            )

    def client(self, site: Site) -> Player:
        return Player(site, self.architecture, self.rules)

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

    def round(self, server: Server, round_: int, seed: int) -> Move:
        now = turn(self.rules, round_, server.clients, seed)
        if now.t is None:
            return self._move_phi(server)
        answers = server.ask("respond", now.movers, self.predictor_form, t=now.t)
        # All movers have answered the actions of the round before: only now do the others hear of theirs.
        for player, answer in answers.items():
            server.publish(Action(player, now.t, answer.tensors))
        return Move("predictors", losses_of(answers))

    def _move_phi(self, server: Server) -> Move:
        answers = server.ask("represent", server.clients, gradient_form(self.phi))
        parts = {client: gradients_and_buffers(answer) for client, answer in answers.items()}
        by_size = shares_by_size(server.samples, answers)
        gradient = combine({client: gradient for client, (gradient, _) in parts.items()}, by_size)
        buffers = combine({client: buffers for client, (_, buffers) in parts.items()}, by_size)
        for name, parameter in self.phi.named_parameters():
            if parameter.requires_grad:
                parameter.grad = gradient[name].to(parameter.device)
        assert self.phi_optimiser is not None
        self.phi_optimiser.step()
        self.phi.load_state_dict(buffers, strict=False)
        assert server.known.phi is not None
        server.publish(Action(PHI, server.known.phi.version + 1, snapshot(self.phi)))
        return Move("phi", losses_of(answers))

    def state_dict(self) -> dict[str, Any]:
        return {"phi_optimiser": self.phi_optimiser.state_dict() if self.phi_optimiser else None}

    def load_state_dict(self, state: dict[str, Any], server: Server) -> None:
        self._reset()
        if server.known.phi is not None:
            self.phi.load_state_dict(server.known.phi.weights)
        if self.phi_optimiser is not None:
            self.phi_optimiser.load_state_dict(state["phi_optimiser"])

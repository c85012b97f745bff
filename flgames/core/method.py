"""The contract that every method answers to, so that a comparison is fair and one loop plays them all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from pydantic import BaseModel

from flgames.core.client import Client, Site
from flgames.core.messages import TIMES_WEIGHTS, Action, Answer, Ask, Form
from flgames.core.records import Balanced, Finding, Kind
from flgames.core.server import Server
from flgames.core.state import State
from flgames.models.architecture import Architecture, Weights
from flgames.models.ensemble import PHI, Ensemble, parts_of
from flgames.seeds import torch_seed


@dataclass(frozen=True)
class Move:
    """What happened in a round: what moved, and the loss of each client that took part."""

    kind: Kind
    losses: Mapping[str, float]


Together = Callable[[Mapping[str, Client], Mapping[str, Ask]], dict[str, Answer] | None]
"""Answers for many clients in one process at once; None: this question is one for each by itself."""


class Method(ABC):
    """A federated learning method: how its clients are made, how it starts, and what one round does.

    What it has learnt is the ensemble of the server's information set; whatever else it keeps between rounds is its
    :meth:`state_dict`.
    """

    Config: ClassVar[type[BaseModel]]
    """The type of its configuration: its knobs."""

    architecture: Architecture
    memory: int = 0

    @abstractmethod
    def __init__(self, architecture: Architecture, config: BaseModel) -> None:
        """A method for an architecture. Subclasses take their own type of configuration."""

    @abstractmethod
    def client(self, site: Site) -> Client:
        """This method's client at a site."""

    def together(self) -> Together | None:
        """What answers for all clients at once, where they are in one process; None: each answers by itself."""
        return None

    @abstractmethod
    def start(self, server: Server, seed: int) -> None:
        """Publish what is played before the first round."""

    @abstractmethod
    def round(self, server: Server, round_: int, seed: int) -> Move:
        """Play one round: ask clients, publish what comes of it."""

    @property
    def learnt(self) -> Architecture:
        """The architecture of :meth:`ensemble`, for those who load a model that was saved."""
        return self.architecture

    @cached_property
    def predictor_form(self) -> Form:
        """What an answer with a predictor's weights and its loss looks like."""
        with torch_seed(0, "discarded"):
            return Form.of(self.architecture.predictor().state_dict(), "loss", times=TIMES_WEIGHTS)

    def ensemble(self, server: Server) -> Ensemble:
        """What has been learnt so far, as one module."""
        return server.known.ensemble(self.learnt)

    def warm_start(self, samples: Mapping[str, int]) -> int:
        """Rounds in which no rule may stop it, where clients have so many samples: each of them moves once."""
        return len(samples)

    def heard_by(self, client: str) -> Collection[str] | None:
        """Whose actions a client is told of; None: everybody's."""
        return None

    def return_to(self, server: Server, tensors: Weights) -> None:
        """Make an earlier model the current one, and tell clients of it: a rule has chosen it."""
        phi, players = parts_of(tensors)
        for name, weights in players.items():
            version = server.known.buffers[name].current.version + 1
            server.publish(Action(name, version, weights), by_author=False)
        if phi and server.known.phi is not None:
            server.publish(Action(PHI, server.known.phi.version + 1, phi))

    def finding(self) -> Finding | None:
        """What it found out about the clients, for those who look for something."""
        return None

    def evidence(self, server: Server) -> Weights:
        """What it found that by, as tensors: they are kept beside the model, for those who explain it."""
        return {}

    def conclude(self, server: Server) -> Balanced | None:
        """The last round has been played: what is still to be done with its model, if anything is."""
        return None

    def state_dict(self) -> State:
        return {}

    def load_state_dict(self, state: State, server: Server) -> None:
        """Go on from :meth:`state_dict`; the server's information set has been restored already."""

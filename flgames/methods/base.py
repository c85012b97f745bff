"""The contract that every method answers to, so that a comparison is fair and one loop plays them all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import torch

from flgames.client import Client, Site
from flgames.federation import Answer, Form, Weights
from flgames.models import Architecture, Ensemble
from flgames.seeds import torch_seed
from flgames.server import Server


@dataclass(frozen=True)
class Move:
    """What happened in a round: what moved, and the loss of each client that took part."""

    kind: Literal["phi", "predictors", "model"]
    losses: Mapping[str, float]


class Method(ABC):
    """A federated learning method: how its clients are made, how it starts, and what one round does.

    What it has learnt is the ensemble of the server's information set; whatever else it keeps between rounds is its
    :meth:`state_dict`.
    """

    architecture: Architecture
    memory: int = 0

    @abstractmethod
    def client(self, site: Site) -> Client:
        """This method's client at a site."""

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
            return Form.of(self.architecture.predictor().state_dict(), "loss")

    def ensemble(self, server: Server) -> Ensemble:
        """What has been learnt so far, as one module."""
        return Ensemble.of(self.learnt, server.known)

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any], server: Server) -> None:
        """Go on from :meth:`state_dict`; the server's information set has been restored already."""


def losses_of(answers: Mapping[str, Answer]) -> dict[str, float]:
    """The loss that each client reported."""
    return {client: float(answer.numbers["loss"]) for client, answer in answers.items()}


def shares_by_size(samples: Mapping[str, int], clients: Iterable[str]) -> dict[str, float]:
    """N_k/N of these clients."""
    sizes = {client: samples[client] for client in clients}
    return {client: size / sum(sizes.values()) for client, size in sizes.items()}


def combine(tensors: Mapping[str, Weights], shares: Mapping[str, float]) -> Weights:
    """The sum of the clients' tensors, each times its share; counters, which have no sum, are the first client's."""
    first = next(iter(tensors.values()))
    total = {name: torch.zeros_like(like) if like.is_floating_point() else like for name, like in first.items()}
    for client, own in tensors.items():
        for name, value in total.items():
            if value.is_floating_point():
                value.add_(own[name], alpha=shares[client])
    return total

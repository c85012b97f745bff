"""The federation in this process: nothing is serialised, and clients share one copy of every action."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Self

import torch

from flgames.client import CPU, Client, Site
from flgames.data.clients import Samples
from flgames.federation import Answers, Ask, Saved
from flgames.methods.base import Method


class LocalFederation:
    """Clients as objects. An error in a client is an error of ours and is raised, not reported.

    Examples
    --------
    >>> import torch
    >>> from flgames import ArraySamples, Game, LocalFederation, Rules, paper_architecture
    >>> game = Game(paper_architecture((4,), 2, variable=False), Rules())
    >>> clients = {name: ArraySamples(torch.randn(9, 4), torch.arange(9) % 2) for name in ("north", "south")}
    >>> LocalFederation.of(game, clients, seed=0).clients
    ('north', 'south')
    """

    def __init__(self, clients: Mapping[str, Client]) -> None:
        self._clients = dict(clients)

    @classmethod
    def of(cls, method: Method, clients: Mapping[str, Samples], seed: int, device: torch.device = CPU) -> Self:
        """A method's clients, one for each name and its samples."""
        return cls({name: method.client(Site(name, samples, seed, device)) for name, samples in clients.items()})

    @property
    def clients(self) -> tuple[str, ...]:
        return tuple(self._clients)

    def ask(self, asks: Mapping[str, Ask], timeout: float | None = None) -> Answers:
        return Answers({name: self._clients[name].answer(ask) for name, ask in asks.items()})

    def save(self, round_: int, keep: Collection[int] = ()) -> Saved:
        return Saved({name: client.state_dict() for name, client in self._clients.items()})

    def rounds(self) -> None:
        return None

    def restore(self, round_: int, states: dict[str, Any]) -> dict[str, str]:
        for name, client in self._clients.items():
            client.load_state_dict(states[name])
        return {}

    def close(self) -> None:
        """There is nothing to close."""

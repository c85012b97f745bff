"""The federation in this process: nothing is serialised, and clients share one copy of every action."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Self

import torch

from flgames.core.client import CPU, Client, Site
from flgames.core.messages import Answer, Answers, Ask, Saved
from flgames.core.method import Method, Together
from flgames.core.state import State
from flgames.data.samples import Samples
from flgames.errors import Diverged


class LocalFederation:
    """Clients as objects. Answers are checked as those of engines are, but what is wrong with one is our own error, or
    a diverging game: it is raised, not reported.

    Examples
    --------
    >>> import torch
    >>> from flgames.core.local import LocalFederation
    >>> from flgames.data.samples import ArraySamples
    >>> from flgames.methods.fl_games.config import FLGamesConfig
    >>> from flgames.methods.fl_games.server import Game
    >>> from flgames.models.mlp import paper_architecture
    >>> game = Game(paper_architecture((4,), 2, variable=False), FLGamesConfig())
    >>> clients = {name: ArraySamples(torch.randn(9, 4), torch.arange(9) % 2) for name in ("north", "south")}
    >>> LocalFederation.of(game, clients, seed=0).clients
    ('north', 'south')
    """

    _together: Together | None = None

    def __init__(self, clients: Mapping[str, Client]) -> None:
        self._clients = dict(clients)

    @classmethod
    def of(
        cls,
        method: Method,
        clients: Mapping[str, Samples],
        seed: int,
        device: torch.device = CPU,
        validation: float = 0.0,
    ) -> Self:
        """A method's clients, one for each name and its samples; this share of them is held back."""
        sites = [Site.of(name, samples, seed, device, validation) for name, samples in clients.items()]
        federation = cls({site.name: method.client(site) for site in sites})
        federation._together = method.together()
        return federation

    @property
    def clients(self) -> tuple[str, ...]:
        return tuple(self._clients)

    def ask(self, asks: Mapping[str, Ask], timeout: float | None = None) -> Answers:
        answers = self._together(self._clients, asks) if self._together else None
        if answers is None:
            return Answers({name: _checked(name, ask, self._clients[name].answer(ask)) for name, ask in asks.items()})
        return Answers({name: _checked(name, asks[name], answer) for name, answer in answers.items()})

    def refuse(self, name: str, task: str, why: str) -> str:
        raise Diverged(f"the answer of {name} to {task!r} {why}")

    def blame(self, name: str, why: str, others: Collection[str]) -> None:
        """Nobody is: an answer that is NaN has been raised."""

    def save(self, round_: int, keep: Collection[int] = ()) -> Saved:
        return Saved({name: client.state_dict() for name, client in self._clients.items()})

    def rounds(self) -> None:
        return None

    def restore(self, round_: int, states: Mapping[str, State]) -> dict[str, str]:
        for name, client in self._clients.items():
            client.load_state_dict(states[name])
        return {}

    def close(self) -> None:
        """There is nothing to close."""


def _checked(name: str, ask: Ask, answer: Answer) -> Answer:
    for fault in ask.form.malformed(answer):
        raise TypeError(f"the answer of {name} to {ask.task!r} {fault}")
    for fault in ask.form.unbounded(answer):
        raise Diverged(f"the answer of {name} to {ask.task!r} {fault}")
    for fault in ask.form.implausible(answer):
        raise TypeError(f"the answer of {name} to {ask.task!r} {fault}")
    return answer

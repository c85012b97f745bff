"""The one small interface between server and clients.

A server asks some clients for something, each with its own payload, and learns who answered and who failed.
Engines implement :class:`Federation` and move bytes; they know nothing of the game.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from torch import Tensor

Weights = dict[str, Tensor]
"""The parameters and buffers of one module, by name."""

Number = int | float

NUMBER_BYTES = 8


@dataclass(frozen=True)
class Action:
    """What a player played: its predictor's weights, and the version that orders its actions.

    Version 0 is the initial action, which the server drew; it has not been played.
    """

    author: str
    version: int
    weights: Weights

    @property
    def key(self) -> tuple[str, int]:
        return self.author, self.version


@dataclass(frozen=True)
class Ask:
    """A question to one client: the task, the actions it has not seen yet, and a few plain arguments."""

    task: str
    news: tuple[Action, ...] = ()
    arguments: Mapping[str, Number] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What one client returns: tensors and numbers, never samples."""

    tensors: Weights = field(default_factory=dict)
    numbers: Mapping[str, Number] = field(default_factory=dict)


@dataclass(frozen=True)
class Answers:
    """Who answered, and who failed and why."""

    answered: Mapping[str, Answer]
    failed: Mapping[str, str] = field(default_factory=dict)


class Federation(Protocol):
    """Where the clients are. In process, over NVIDIA FLARE or over Flower: the server can't tell."""

    @property
    def clients(self) -> tuple[str, ...]:
        """The clients' names, in the order in which they play."""

    def ask(self, asks: Mapping[str, Ask], timeout: float | None = None) -> Answers:
        """Ask each of these clients its own question; wait at most ``timeout`` seconds."""

    def save(self, round_: int) -> dict[str, Any]:
        """Keep each client's state of this round; return what the server has to keep for them, if anything."""

    def restore(self, round_: int, saved: dict[str, Any]) -> None:
        """Put every client back into the state that :meth:`save` kept for this round."""


def _weights_bytes(weights: Weights) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in weights.values())


def bytes_down(ask: Ask) -> int:
    """Bytes from server to client: tensors as they are, each number as eight bytes."""
    return sum(_weights_bytes(action.weights) for action in ask.news) + NUMBER_BYTES * len(ask.arguments)


def bytes_up(answer: Answer) -> int:
    """Bytes from client to server, counted as :func:`bytes_down` does."""
    return _weights_bytes(answer.tensors) + NUMBER_BYTES * len(answer.numbers)

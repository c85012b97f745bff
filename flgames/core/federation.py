"""The one small interface between a server and its clients.

A server asks some clients for something, each with its own payload, and learns who answered and who failed.
Engines implement :class:`Federation` and move bytes; they know nothing of the game.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from flgames.core.messages import Answers, Ask, Saved
from flgames.core.state import State


class Federation(Protocol):
    """Where the clients are. In process, over NVIDIA FLARE or over Flower: the server can't tell."""

    @property
    def clients(self) -> tuple[str, ...]:
        """The clients' names, in the order in which they play."""

    def ask(self, asks: Mapping[str, Ask], timeout: float | None = None) -> Answers:
        """Ask each of these clients its own question; wait at most ``timeout`` seconds."""

    def refuse(self, name: str, task: str, why: str) -> str:
        """A client's answer can't be taken, because it "``why``"; what is said of it."""

    def blame(self, name: str, why: str, others: Collection[str]) -> None:
        """Ask a client no more; that these others failed was its doing."""

    def save(self, round_: int, keep: Collection[int] = ()) -> Saved:
        """Keep each client's state of this round, and of the rounds in ``keep``; others may be forgotten."""

    def rounds(self) -> set[int] | None:
        """The rounds to which every client that is there can go back; None: to any that was saved."""

    def restore(self, round_: int, states: Mapping[str, State]) -> dict[str, str]:
        """Put every client back into the state that :meth:`save` kept for this round; who can't, and why."""

    def close(self) -> None:
        """The match has ended: nothing of it needs to be kept."""

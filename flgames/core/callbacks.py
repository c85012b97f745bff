"""Who hears of a game as it is played: one contract for the command line, for Python and for trackers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flgames.core.records import GameResult, RoundRecord


@dataclass(frozen=True)
class GameInfo:
    """Which game it is that is heard of."""

    name: str
    title: str
    seed: int
    rounds: int
    """At most."""
    ends: str = "plays all rounds"
    """When its rule stops it, in a few words."""
    folder: Path | None = None
    """Where its files are, if it has any."""


class Callback:
    """What follows a game. Subclass it and write what you need; nothing that it does can reach training or stopping.

    Examples
    --------
    >>> from flgames import Callback
    >>> class Printer(Callback):
    ...     def on_round(self, record):
    ...         print(record.round, record.accuracy)
    ...     def on_end(self, result):
    ...         print("chose round", result.chosen_round + 1)
    """

    def on_start(self, game: GameInfo) -> None:
        """A game begins, or goes on."""

    def on_round(self, record: RoundRecord) -> None:
        """A round has been played."""

    def on_end(self, result: GameResult) -> None:
        """The game has ended."""

    def on_report(self, folder: Path) -> None:
        """All games of a run have ended, and its figures and its page are in this folder; of `flgames play` only."""

"""Who follows a fit: its history, and a bar for those who wait."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from rich.console import Console

from flgames.core.callbacks import Callback, GameInfo
from flgames.core.records import RoundRecord
from flgames.waiting.bar import WorkBar, shown
from flgames.waiting.forecast import Forecast


class History(Callback):
    """Every round, to look at afterwards."""

    def __init__(self) -> None:
        self.records: list[RoundRecord] = []

    def on_round(self, record: RoundRecord) -> None:
        self.records.append(record)


class Bar(Callback):
    """A progress bar with the rounds done and the time left, if one is wanted. Use as a context manager."""

    def __init__(self, show: bool) -> None:
        self._bar = WorkBar(_console(), Forecast({"game": 1.0})) if show else None

    def __enter__(self) -> Bar:
        if self._bar:
            self._bar.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.__exit__()

    def on_start(self, game: GameInfo) -> None:
        self._rounds = game.rounds

    def on_round(self, record: RoundRecord) -> None:
        if self._bar:
            played = record.round + 1
            words = f"round {played}/{self._rounds}, train {record.accuracy:.3f}, spread {record.spread:.3f}"
            self._bar("game", played / self._rounds, words)


def shown_if(show: bool) -> AbstractContextManager[None]:
    """A bar for what is looked at after a game, if one is wanted."""
    return shown(_console()) if show else nullcontext()


def _console() -> Console:
    return Console(highlight=False, markup=False)

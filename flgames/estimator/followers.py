"""Who follows a fit: its history, and a bar for those who wait."""

from __future__ import annotations

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from flgames.core.callbacks import Callback, GameInfo
from flgames.core.records import RoundRecord


class History(Callback):
    """Every round, to look at afterwards."""

    def __init__(self) -> None:
        self.records: list[RoundRecord] = []

    def on_round(self, record: RoundRecord) -> None:
        self.records.append(record)


class Bar(Callback):
    """A progress bar, if one is wanted. Use as a context manager."""

    def __init__(self, show: bool) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns, disable=not show, transient=True)

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def on_start(self, game: GameInfo) -> None:
        self._rounds = game.rounds
        self._task = self._bar.add_task("round 0", total=game.rounds)

    def on_round(self, record: RoundRecord) -> None:
        played = record.round + 1
        words = f"round {played}/{self._rounds}, train {record.accuracy:.3f}, spread {record.spread:.3f}"
        self._bar.update(self._task, completed=played, description=words)

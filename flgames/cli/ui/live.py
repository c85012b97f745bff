"""The live line: what a game is doing, without scrolling; in a log, a line now and then."""

from __future__ import annotations

import time

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from flgames.cli.ui.turns import Turns
from flgames.core.callbacks import Callback, GameInfo
from flgames.core.records import GameResult, RoundRecord
from flgames.runs.folder import RunFolder
from flgames.waiting.forecast import duration

LOG_SECONDS = 5.0


class LiveLine(Callback):
    """What is played, how it stands, how far the run is and how long the rest takes. Use as a context manager."""

    def __init__(self, console: Console, run: RunFolder | None = None) -> None:
        self.console = console
        self.run = run
        self._began = self._printed_at = time.monotonic()
        self._reported: dict[str, str] = {}
        self._turns: Turns | None = None
        self._held_out: str | None = None
        engine = run.settings.engine if run else "local"
        self._doing = "getting ready" if engine == "local" else f"starting {engine}"
        self._line: Text | None = None
        self._live = (
            Live(get_renderable=self._shown, console=console, refresh_per_second=8, transient=True)
            if console.is_terminal
            else None
        )

    def __enter__(self) -> LiveLine:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def told(self, what: str, done: int, total: int) -> None:
        """What is done before a game, such as reading data."""
        self._doing, self._line = f"{what}: {done} of {total}", None
        if not self._live and self._is_due():
            self.console.print(self._doing, soft_wrap=True)

    def on_start(self, game: GameInfo) -> None:
        self._game = game
        if self.run:
            self._turns = self._turns or Turns(self.run)  # over an engine it is planned after it has begun
            self._turns.on_start(game)
            self._say_whose(self._turns)

    def _say_whose(self, turns: Turns) -> None:
        """In a log, whose turn it is, once a client."""
        if not self._live and turns.client != self._held_out:
            self.console.print(str(turns), soft_wrap=True)
        self._held_out = turns.client

    def on_end(self, result: GameResult) -> None:
        if self._turns:
            self._turns.on_end(result)

    def on_round(self, record: RoundRecord) -> None:
        if self._turns:
            self._turns.on_round(record)
        for client, why in record.failures.items():
            if self._reported.get(client) != why:
                self.console.print(f"round {record.round + 1}, {client}: {why}", style="yellow", soft_wrap=True)
        self._reported = record.failures
        if self._live:
            self._line = _line(self._game, record)
        elif self._is_due():
            self.console.print(_line(self._game, record, self._turns), soft_wrap=True)

    def _is_due(self) -> bool:
        """In a log, whether the last line is old enough."""
        is_due = time.monotonic() - self._printed_at >= LOG_SECONDS
        if is_due:
            self._printed_at = time.monotonic()
        return is_due

    def _shown(self) -> RenderableType:
        """As it is now: it is asked some times a second."""
        if self._line is None:
            return Text(f"{self._doing} ... {duration(time.monotonic() - self._began)}", style="dim")
        if self._turns is None:
            return self._line
        whole = Table.grid(padding=(0, 1))
        whole.add_row(ProgressBar(1.0, self._turns.fraction, width=20), Text(str(self._turns), no_wrap=True))
        return Group(whole, self._line)


MOST_NAMED = 2
"""Clients whose accuracies fit into a line by name; of more, the lowest and the highest are shown."""


def _line(game: GameInfo, record: RoundRecord, turns: Turns | None = None) -> Text:
    """Two lines of at most 80 characters: what is played, and how it stands; before them, how far the run is."""
    accuracies = record.accuracy_of
    if len(accuracies) <= MOST_NAMED:
        train = " ".join(f"{name} {accuracy:.3f}" for name, accuracy in accuracies.items())
    else:
        train = f"train {min(accuracies.values()):.3f} to {max(accuracies.values()):.3f}, {len(accuracies)} clients"
    line = Text(f"{turns}\n" if turns else "", no_wrap=True, overflow="ellipsis")
    line.append(game.title, style="bold").append(f", seed {game.seed}\n")
    line.append(f"round {record.round + 1}/{game.rounds}  ")
    line.append(train, style="cyan")
    line.append(f"  {game.ends}", style="yellow")
    line.append(f"  {record.seconds:.1f} s", style="dim")
    return line

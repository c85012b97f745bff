"""The live line: what a game is doing, without scrolling; in a log, a line now and then."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from flgames.entry import Entry

LOG_SECONDS = 5.0


class LiveLine:
    """Use as a context manager and call it after every round."""

    def __init__(self, console: Console) -> None:
        self.console = console
        first = Text("getting ready ...", style="dim")
        self._live = Live(first, console=console, refresh_per_second=8, transient=True) if console.is_terminal else None
        self._printed_at = time.monotonic()
        self._reported: dict[str, str] = {}

    def __enter__(self) -> LiveLine:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def __call__(self, entry: Entry, seed: int, line: dict[str, Any]) -> None:
        for client, why in line["failures"].items():
            if self._reported.get(client) != why:
                self.console.print(f"round {line['round'] + 1}, {client}: {why}", style="yellow", soft_wrap=True)
        self._reported = line["failures"]
        if self._live:
            self._live.update(_line(entry, seed, line))
        elif time.monotonic() - self._printed_at >= LOG_SECONDS:
            self._printed_at = time.monotonic()
            self.console.print(_line(entry, seed, line), soft_wrap=True)


MOST_NAMED = 2
"""Clients whose accuracies fit into a line by name; of more, the lowest and the highest are shown."""


def _end(entry: Entry) -> str:
    if entry.stop_below:
        return f"stops below {entry.stop_below:.2f}"
    return f"stops {entry.patience} after the best" if entry.patience else "plays all rounds"


def _line(entry: Entry, seed: int, round_: dict[str, Any]) -> Text:
    """Two lines of at most 80 characters: what is played, and how it stands."""
    accuracies = round_["accuracy_of"]
    if len(accuracies) <= MOST_NAMED:
        train = " ".join(f"{name} {accuracy:.3f}" for name, accuracy in accuracies.items())
    else:
        train = f"train {min(accuracies.values()):.3f} to {max(accuracies.values()):.3f}, {len(accuracies)} clients"
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(entry.title, style="bold").append(f", seed {seed}\n")
    line.append(f"round {round_['round'] + 1}/{entry.rounds}  ")
    line.append(train, style="cyan")
    line.append(f"  {_end(entry)}", style="yellow")
    line.append(f"  {round_['seconds']:.1f} s", style="dim")
    return line

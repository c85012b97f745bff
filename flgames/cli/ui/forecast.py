"""How long the rest of a long work takes, and the bar that shows it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from flgames.core.callbacks import Callback
from flgames.core.records import RoundRecord

LOG_SECONDS = 30.0


class Forecast:
    """Parts of a work with the seconds that each is expected to take; what was seen corrects them.

    Only ratios between parts matter once something is done: this machine's speed is measured as it goes.
    """

    def __init__(self, expected: Mapping[str, float], budget: float = math.inf) -> None:
        self.expected = dict(expected)
        self.budget = budget
        """Seconds that the whole work may take."""
        self.fractions = dict.fromkeys(expected, 0.0)
        self.before: dict[str, float] = {}

    def found(self, part: str, fraction: float) -> None:
        """A part was done to this fraction before this work began: it takes no time, and tells nothing of the pace."""
        self.fractions[part] = self.before[part] = fraction

    def reached(self, part: str, fraction: float) -> None:
        """A part is done to this fraction."""
        self.fractions[part] = min(fraction, 1.0)

    def learnt(self, parts: Iterable[str], seconds: float) -> None:
        """One of these parts has taken so long, and so will the others."""
        self.expected |= dict.fromkeys(parts, seconds)

    def fits(self, part: str, elapsed: float) -> bool:
        """Whether a part that begins now ends within the budget, as far as one can tell."""
        return elapsed + self._pace(elapsed) * self.expected[part] * (1 - self.fractions[part]) <= self.budget

    @property
    def total(self) -> float:
        return sum(self.expected.values())

    @property
    def done(self) -> float:
        return self._seconds(self.fractions)

    def _seconds(self, fractions: Mapping[str, float]) -> float:
        return sum(self.expected[part] * fraction for part, fraction in fractions.items())

    def left(self, elapsed: float) -> float:
        """Seconds that the rest takes, after ``elapsed`` seconds of work."""
        return min(self._pace(elapsed) * (self.total - self.done), max(self.budget - elapsed, 0.0))

    def _pace(self, elapsed: float) -> float:
        """How many times as long as expected the work takes here."""
        done = self.done - self._seconds(self.before)
        return elapsed / done if done > 0 else 1.0


def duration(seconds: float) -> str:
    """As people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


class Part(Callback):
    """A game as one part of a work: its rounds move the bar."""

    def __init__(self, bar: WorkBar, part: str, what: str, rounds: int, usual: int | None = None) -> None:
        self.bar = bar
        self.part = part
        self.what = what
        self.rounds = rounds
        self.usual = usual or rounds
        """After how many rounds it ends, as far as one can tell."""

    def on_round(self, record: RoundRecord) -> None:
        played = record.round + 1
        how = f"round {played}/{self.rounds}, train {record.accuracy:.3f}"
        self.bar(self.part, min(played / self.usual, 0.99), f"{self.what}: {how}")


class WorkBar:
    """A progress bar with the time left; in a log, a line now and then. Use as a context manager."""

    def __init__(self, console: Console, forecast: Forecast) -> None:
        self.console = console
        self.forecast = forecast
        columns = (BarColumn(bar_width=20), TextColumn("{task.fields[left]}  {task.description}"))
        self._bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task("getting ready ...", total=forecast.total or 1.0, left="")
        self._printed_at = self._began = time.monotonic()

    def __enter__(self) -> WorkBar:
        self._began = time.monotonic()
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    @property
    def elapsed(self) -> float:
        """Seconds of work so far."""
        return time.monotonic() - self._began

    def __call__(self, part: str, fraction: float, what: str) -> None:
        """A part is done to this fraction; ``what`` describes where it stands."""
        now = time.monotonic()
        self.forecast.reached(part, fraction)
        left = f"{duration(self.forecast.left(self.elapsed))} left"
        self._bar.update(self._task, completed=self.forecast.done, description=what, left=left)
        if not self.console.is_terminal and now - self._printed_at >= LOG_SECONDS:
            self._printed_at = now
            self.console.print(f"{left}: {what}", soft_wrap=True)

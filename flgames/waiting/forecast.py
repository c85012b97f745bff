"""How long the rest of a long work takes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping


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

    @property
    def is_measured(self) -> bool:
        """Whether something was done, so that this machine's pace is known."""
        return self.done > self._seconds(self.before)

    def _pace(self, elapsed: float) -> float:
        """How many times as long as expected the work takes here."""
        done = self.done - self._seconds(self.before)
        return elapsed / done if done > 0 else 1.0


def duration(seconds: float) -> str:
    """As people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"

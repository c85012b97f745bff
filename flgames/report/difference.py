"""How far one method is ahead of another where both were played, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

STUDENT = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26, 11: 2.23, 12: 2.20}
"""Of a 95% interval, by the number of draws; more draws come near to 2."""


def half_interval(values: Sequence[float]) -> float:
    """Half of the 95% interval of a mean, by Student's t; of one value nobody knows."""
    n = len(values)
    if n < 2 or any(map(math.isnan, values)):
        return math.nan
    return STUDENT.get(n, 1.96 + 2.4 / n) * stdev(values) / math.sqrt(n)


@dataclass(frozen=True)
class Difference:
    """Between two methods, draw by draw."""

    values: Sequence[float]

    @property
    def mean(self) -> float:
        return fmean(self.values)

    @property
    def half(self) -> float:
        """Of the 95% interval of the mean, by Student's t; of one draw nobody knows."""
        return half_interval(self.values)

    @property
    def is_ahead(self) -> bool:
        """Whether the whole interval lies above zero."""
        return self.mean - self.half > 0

    @property
    def wins(self) -> int:
        return sum(value > 0 for value in self.values)

    @property
    def losses(self) -> int:
        return sum(value < 0 for value in self.values)

    def __str__(self) -> str:
        return f"{self.mean:+.1f}" + (f" ± {self.half:.1f}" if len(self.values) > 1 else "")

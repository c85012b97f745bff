"""Numbers as cells of tables: what is read, with its interval, and what is sorted by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from flgames.core.figures import Interval
from flgames.report.difference import Difference, half_interval
from flgames.report.html.page import Cell

NOTHING = Cell("")


def number(value: float | None, form: str = ".1f") -> Cell:
    """One number; nothing where it is not known."""
    return NOTHING if value is None or math.isnan(value) else Cell(format(value, form), value)


def share(values: Sequence[float]) -> Cell:
    """The mean of shares in %, with its 95% interval if there are several: it ends where shares end."""
    if not values:
        return NOTHING
    found = inside(values)
    return Cell(f"{fmean(values):.1f}", fmean(values), "" if found is None else f"{found[0]:.1f} to {found[1]:.1f}")


def inside(values: Sequence[float]) -> Interval | None:
    """The 95% interval of a mean of shares in %; of one nobody knows."""
    middle, half = fmean(values), half_interval(values)
    return None if math.isnan(half) else (max(0.0, middle - half), min(100.0, middle + half))


def percent(value: float | None, interval: Interval | None = None) -> Cell:
    """A share in %, with the ends of its interval."""
    if value is None or math.isnan(value):
        return NOTHING
    return Cell(f"{100 * value:.1f}", 100 * value, "" if interval is None else ends(interval))


def ends(interval: Interval) -> str:
    """Of an interval, in %."""
    return f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f}"


def difference(found: Difference) -> Cell:
    """With its interval; coloured where the whole of it lies on one side of zero."""
    half = found.half
    more = "" if math.isnan(half) else f"± {half:.1f}"
    good = None if math.isnan(half) or abs(found.mean) <= half else found.mean > 0
    return Cell(f"{found.mean:+.1f}", found.mean, more, good)

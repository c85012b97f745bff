"""The table of a run: every method beside the floor and the ceiling."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from flgames.measures import InvarianceProfile

COLUMNS = (
    "method",
    "train",
    "unseen client",
    "agree",
    "conflict",
    "mean",
    "flip rate",
    "rounds",
    "MB moved",
    "seconds",
    "stopped by",
)


@dataclass(frozen=True)
class Row:
    """One method of a run: the results of its seeds."""

    title: str
    results: Sequence[dict[str, Any]]

    @property
    def profiles(self) -> list[InvarianceProfile]:
        names = InvarianceProfile.__dataclass_fields__
        return [InvarianceProfile(**{name: result["profile"][name] for name in names}) for result in self.results]

    def cells(self) -> tuple[str, ...]:
        profiles = self.profiles
        reversed_ = sum(profile.reversed for profile in profiles)
        mark = "" if not reversed_ else " reversed" if reversed_ == len(profiles) else f" reversed in {reversed_}"
        ends = {
            f"train < {result['stop_below']:.2f}" if result["end"] == "rule" else "all rounds"
            for result in self.results
        }
        return (
            self.title,
            _percent([result["train"] for result in self.results]),
            _percent([profile.unseen for profile in profiles]) + mark,
            _percent([profile.agree for profile in profiles]),
            _percent([profile.conflict for profile in profiles]),
            _percent([profile.mean for profile in profiles]),
            _percent([profile.flip_rate for profile in profiles]),
            _number([result["rounds"] for result in self.results]),
            _number([(result["bytes_down"] + result["bytes_up"]) / 1e6 for result in self.results]),
            _number([result["seconds"] for result in self.results], ".1f"),
            " / ".join(sorted(ends)),
        )


def reference_cells(ceiling: float, constant_train: float, constant: float) -> list[tuple[str, ...]]:
    """The rows that make others readable: the majority class, and a perfect invariant model."""
    blank = ("", "", "", "")
    flat = _percent([constant])
    return [
        ("constant", _percent([constant_train]), flat, flat, flat, flat, _percent([0.0]), *blank),
        ("optimal invariant", *(_percent([ceiling]),) * 5, _percent([0.0]), *blank),
    ]


def rich_table(cells: Sequence[tuple[str, ...]], title: str) -> Table:
    """For a terminal: a column a method, so that it fits into 80 characters."""
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for row in cells:
        table.add_column(row[0], justify="right")
    for place, column in enumerate(COLUMNS[1:], start=1):
        table.add_row(column, *(row[place] for row in cells))
    return table


def markdown_table(cells: Sequence[tuple[str, ...]]) -> str:
    lines = [COLUMNS, tuple("---" for _ in COLUMNS), *cells]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _spread(values: Sequence[float], show: Callable[[float], str]) -> str:
    mean = show(statistics.fmean(values))
    return f"{mean} ± {show(statistics.stdev(values))}" if len(values) > 1 else mean


def _percent(values: Sequence[float]) -> str:
    return _spread([100 * value for value in values], lambda value: f"{value:.1f}")


def _number(values: Sequence[float], form: str = ".0f") -> str:
    return _spread(values, lambda value: format(value, form))

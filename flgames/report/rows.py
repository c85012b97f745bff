"""The table of a run or a comparison: every method beside the floor and the ceiling."""

from __future__ import annotations

import csv
import io
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.table import Table

from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.evaluation.profile import InvarianceProfile
from flgames.paper import printed
from flgames.runs.entries import is_declared
from flgames.runs.entry import Entry
from flgames.runs.result import Result

ACCURACY = ("train", "unseen client", "paper", "agree", "conflict", "mean", "flip rate")
COST = ("rounds", "MB up", "MB down", "seconds", "stopped by")
COLUMNS = ("method", *ACCURACY, *COST)

ACCURACIES: dict[str, Callable[[InvarianceProfile], float]] = {
    "unseen": lambda profile: profile.unseen,
    "agree": lambda profile: profile.agree,
    "conflict": lambda profile: profile.conflict,
    "mean": lambda profile: profile.mean,
    "flip_rate": lambda profile: profile.flip_rate,
}

COSTS: dict[str, Callable[[Result], float]] = {
    "rounds": lambda result: result.rounds,
    "megabytes_up": lambda result: result.bytes_up / 1e6,
    "megabytes_down": lambda result: result.bytes_down / 1e6,
    "seconds": lambda result: result.seconds,
}

MEASURES = ("train", *ACCURACIES, *COSTS)
"""What is measured of a result, as a CSV file names it; accuracies in %."""


@dataclass(frozen=True)
class Reference:
    """What nobody played: a constant, an optimum."""

    train: float
    profile: InvarianceProfile


@dataclass(frozen=True)
class Row:
    """One method: the results of its seeds, and the paper's figure for the unseen client if it has one."""

    title: str
    results: Sequence[Result | Reference]
    paper: printed.Figure | None = None
    slug: str = ""
    is_federated: bool = True

    @property
    def played(self) -> list[Result]:
        """The results that somebody played for."""
        return [result for result in self.results if isinstance(result, Result)]

    @property
    def is_reference(self) -> bool:
        """Whether nobody played: a constant, an optimum."""
        return not self.played

    @property
    def profiles(self) -> list[InvarianceProfile]:
        return [result.profile for result in self.results if result.profile is not None]

    def values(self, measure: str) -> list[float]:
        """Of every seed; nothing where there is nothing to measure."""
        if measure.startswith("megabytes") and not self.is_federated:
            return []
        if measure == "train":
            return [100 * result.train for result in self.results]
        if measure in ACCURACIES:
            return [100 * ACCURACIES[measure](profile) for profile in self.profiles]
        return [COSTS[measure](result) for result in self.played]

    @property
    def reversed(self) -> int:
        """Seeds that use the spurious feature the wrong way round."""
        return sum(profile.reversed for profile in self.profiles)

    @property
    def ends(self) -> str:
        """What ended its games, in the rules' own words."""
        return " / ".join(sorted({result.stopped_by or "all rounds" for result in self.played}))

    def cells(self) -> dict[str, str]:
        """What a person reads, by column."""
        mark = f" reversed in {self.reversed}" if self.reversed else ""
        if self.reversed == len(self.results):
            mark = " reversed"
        return {
            "method": self.title,
            "train": mean_and_sd(self.values("train")),
            "unseen client": mean_and_sd(self.values("unseen")) + mark,
            "paper": str(self.paper or ""),
            "agree": mean_and_sd(self.values("agree")),
            "conflict": mean_and_sd(self.values("conflict")),
            "mean": mean_and_sd(self.values("mean")),
            "flip rate": mean_and_sd(self.values("flip_rate")),
            "rounds": mean_and_sd(self.values("rounds"), ".0f"),
            "MB up": mean_and_sd(self.values("megabytes_up"), ".0f"),
            "MB down": mean_and_sd(self.values("megabytes_down"), ".0f"),
            "seconds": f"{statistics.median(seconds):.0f}" if (seconds := self.values("seconds")) else "",
            "stopped by": self.ends,
        }

    def record(self) -> dict[str, str | int | float]:
        """What a program reads: a mean and a standard deviation for every measure."""
        record: dict[str, str | int | float] = {"method": self.slug, "title": self.title, "seeds": len(self.results)}
        for measure in MEASURES:
            values = self.values(measure)
            record[measure] = round(statistics.fmean(values), 4) if values else ""
            record[f"{measure}_sd"] = round(statistics.stdev(values), 4) if len(values) > 1 else ""
        seconds = self.values("seconds")
        record["seconds_median"] = round(statistics.median(seconds), 1) if seconds else ""
        record["paper_unseen"] = self.paper.mean if self.paper else ""
        record["paper_unseen_sd"] = self.paper.deviation if self.paper else ""
        return record | {"reversed": self.reversed, "stopped_by": self.ends}


def row_of(entry: Entry, options: BenchmarkOptions, results: Sequence[Result]) -> Row:
    """The row of an entry, with the paper's figure for it if it was played as the paper plays it."""
    figure = printed.unseen(options, entry.title) if is_declared(entry, options) else None
    return Row(entry.title, results, figure, entry.slug, entry.is_federated)


def reference_rows(like: InvarianceProfile, constants: Sequence[tuple[float, float]]) -> list[Row]:
    """The rows that make others readable: the majority class, seed by seed, and a perfect invariant model."""
    ceiling = like.ceiling

    def result(train: float, held_out: float) -> Reference:
        flat = InvarianceProfile(
            agree=held_out,
            conflict=held_out,
            flip_rate=0.0,
            unseen=held_out,
            unseen_p=like.unseen_p,
            ceiling=ceiling,
        )
        return Reference(train, flat)

    constant = [result(train, held_out) for train, held_out in constants]
    optimal = Row("optimal invariant", [result(ceiling, ceiling)], slug="optimal")
    return [Row("constant", constant, slug="constant"), optimal] if constant else [optimal]


def transposed_table(rows: Sequence[Row], title: str) -> Table:
    """For a terminal: a column a method, so that a few methods fit into 80 characters."""
    table = Table(title=title, title_justify="left")
    table.add_column("")
    cells = [row.cells() for row in rows]
    for each in cells:
        table.add_column(each["method"], justify="right")
    for column in COLUMNS[1:]:
        if any(each[column] for each in cells):
            table.add_row(column, *(each[column] for each in cells))
    return table


def long_table(rows: Sequence[Row], title: str, columns: Sequence[str]) -> Table:
    """For a terminal of 80 characters: a line a method, some of the columns, deviations where they matter most.

    A star stands for *reversed*, which is too long a word.
    """
    cells = [row.cells() for row in rows]
    shown = [column for column in columns if any(each[column] for each in cells)]
    table = Table(title=title, title_justify="left", padding=(0, 0), collapse_padding=True)
    table.add_column("", min_width=16)
    for column in shown:
        table.add_column(column.removesuffix(" client"), justify="right", no_wrap=True)
    for each in cells:
        brief = {name: each[name] if name == "paper" else each[name].split(" ±")[0] for name in shown}
        if "unseen client" in brief:
            brief["unseen client"] = re.sub(" reversed.*", "*", each["unseen client"])
        table.add_row(each["method"], *brief.values())
    return table


def markdown_table(rows: Sequence[Row]) -> str:
    lines = [COLUMNS, tuple("---" for _ in COLUMNS), *(tuple(row.cells().values()) for row in rows)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def csv_table(rows: Sequence[Row]) -> str:
    records = [row.record() for row in rows]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def mean_and_sd(values: Sequence[float], form: str = ".1f") -> str:
    """Mean and standard deviation, as people read them."""
    if not values:
        return ""
    mean = format(statistics.fmean(values), form)
    return f"{mean} ± {format(statistics.stdev(values), form)}" if len(set(values)) > 1 else mean

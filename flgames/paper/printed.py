"""The paper's printed figures, to stand beside ours: its tables as data, in the CSV files of this folder."""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

from flgames.data.benchmarks.options import BenchmarkOptions

SCHEDULES = {"": "", "sequential": "Sequential ", "parallel": "Parallel "}

TWO_CLASSES = 2
"""The rows of the class tables that were pasted from other data sets: the main table has the real ones."""


@dataclass(frozen=True)
class Figure:
    """A mean and a standard deviation in %, as printed."""

    mean: float
    deviation: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.deviation:.1f}"


def unseen(options: BenchmarkOptions, title: str) -> Figure | None:
    """What the main table prints for a method's unseen client, if these are the main table's clients."""
    fields = set(BenchmarkOptions.model_fields) - {"benchmark", "sprites"}
    changed = options.model_dump(include=fields, exclude_defaults=True)
    return None if changed else _main_table().get((options.benchmark, title))


def training(benchmark: str, title: str) -> Figure | None:
    """What the main table prints for a method's training clients."""
    return _main_table("train").get((benchmark, title))


def rounds(benchmark: str, title: str) -> float | None:
    """How many rounds a method took to its equilibrium; not printed for Colored MNIST."""
    for row in _rows("rounds"):
        if (row["dataset"], _title(row)) == (benchmark, title):
            return float(row["rounds"])
    return None


def with_classes(benchmark: str, schedule: str, classes: int) -> Figure | None:
    """F-FL Games with more classes; with two, the main table's figure."""
    if classes == TWO_CLASSES:
        return _main_table().get((benchmark, f"{SCHEDULES[schedule]}F-FL Games"))
    return _cell("classes", dataset=benchmark, schedule=schedule, classes=str(classes))


def with_clients(benchmark: str, schedule: str, clients: str) -> Figure | None:
    """F-FL Games with more clients: "2", "3", "5", "5-uneven" or "10". Colored MNIST's are only drawn."""
    return _cell("clients", dataset=benchmark, schedule=schedule, clients=clients)


@functools.cache
def _main_table(of: str = "test") -> dict[tuple[str, str], Figure]:
    return {(row["dataset"], _title(row)): _figure(row, of) for row in _rows("accuracy")}


def _cell(table: str, **where: str) -> Figure | None:
    for row in _rows(table):
        if where.items() <= row.items():
            return _figure(row)
    return None


def _title(row: dict[str, str]) -> str:
    return SCHEDULES[row["schedule"]] + row["algorithm"].replace("Smooth+Fast", "Smooth + Fast")


def _figure(row: dict[str, str], of: str = "test") -> Figure:
    return Figure(float(row[f"{of}_mean"]), float(row[f"{of}_std"]))


def _rows(table: str) -> Iterator[dict[str, str]]:
    yield from csv.DictReader(resources.files(__package__).joinpath(f"{table}.csv").read_text().splitlines())

"""The paper's printed figures, to stand beside ours."""

from __future__ import annotations

import csv
import functools
from dataclasses import dataclass
from importlib import resources

from flgames.data.catalogue import BenchmarkOptions

SCHEDULES = {"": "", "sequential": "Sequential ", "parallel": "Parallel "}


@dataclass(frozen=True)
class Figure:
    """A mean and a standard deviation in %, as printed."""

    mean: float
    deviation: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.deviation:.1f}"


def unseen(options: BenchmarkOptions, title: str) -> Figure | None:
    """What the main table prints for a method's unseen client, if these are the main table's clients."""
    fields = set(BenchmarkOptions.model_fields) - {"benchmark"}
    changed = options.model_dump(include=fields, exclude_defaults=True)
    return None if changed else _main_table().get((options.benchmark, title))


@functools.cache
def _main_table() -> dict[tuple[str, str], Figure]:
    text = resources.files("flgames").joinpath("paper-accuracy.csv").read_text()
    return {
        (row["dataset"], SCHEDULES[row["schedule"]] + row["algorithm"].replace("Smooth+Fast", "Smooth + Fast")): Figure(
            float(row["test_mean"]), float(row["test_std"])
        )
        for row in csv.DictReader(text.splitlines())
    }

"""The paper's printed figures, to stand beside ours."""

from __future__ import annotations

import csv
import functools
from dataclasses import dataclass
from importlib import resources

SCHEDULES = {"": "", "sequential": "Sequential ", "parallel": "Parallel "}


@dataclass(frozen=True)
class Figure:
    """A mean and a standard deviation in %, as printed."""

    mean: float
    deviation: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.deviation:.1f}"


@functools.cache
def accuracies() -> dict[tuple[str, str], tuple[Figure, Figure]]:
    """Training clients and unseen client of the main table, by benchmark and title."""
    text = resources.files("flgames").joinpath("paper-accuracy.csv").read_text()
    return {
        (row["dataset"], SCHEDULES[row["schedule"]] + row["algorithm"].replace("Smooth+Fast", "Smooth + Fast")): (
            Figure(float(row["train_mean"]), float(row["train_std"])),
            Figure(float(row["test_mean"]), float(row["test_std"])),
        )
        for row in csv.DictReader(text.splitlines())
    }

"""What a table or a figure of the paper is made of: cases, and how far they are played."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from flgames import paper
from flgames.data.catalogue import BenchmarkOptions
from flgames.entry import Entry
from flgames.lineup import SCHEDULES, entry
from flgames.match import Match

BENCHMARKS = ("colored-mnist", "colored-fashion-mnist", "spurious-cifar10", "colored-dsprites")
"""The paper's, the two smaller ones first."""

SMALL, LARGE = BENCHMARKS[:2], BENCHMARKS[2:]

EMBEDDED = "colored-digits"
"""What a quick version is played on: it needs no download, and a game takes seconds."""


@dataclass(frozen=True)
class Scope:
    """How much is asked for: the budget's seeds on the paper's benchmarks, or something else."""

    seeds: int | None = None
    """So many for every case; None: as many as the budget has for it."""
    benchmarks: tuple[str, ...] = BENCHMARKS
    quick: bool = False
    """One seed on the embedded benchmark, whatever benchmarks a table is about."""

    def of(self, benchmarks: Sequence[str]) -> tuple[str, ...]:
        """Those of a table's benchmarks that are asked for."""
        return (EMBEDDED,) if self.quick else tuple(name for name in benchmarks if name in self.benchmarks)

    def first(self, budget: int) -> range:
        """The seeds of a case."""
        return range(1 if self.quick else budget if self.seeds is None else self.seeds)


@dataclass(frozen=True)
class Case:
    """One line of a table: what is played, with which seeds, and what the paper printed for it."""

    labels: Mapping[str, str]
    """Where it stands, by column: a method, a number of clients, ..."""
    options: BenchmarkOptions
    entry: Entry
    seeds: range
    paper: paper.Figure | None = None
    paper_rounds: float | None = None

    def shortened(self, rounds: int) -> Case:
        """The same, played for so many rounds at most."""
        return replace(self, entry=self.entry.model_copy(update={"rounds": min(rounds, self.entry.rounds)}))

    def matches(self) -> list[Match]:
        return [Match(self.options, self.entry, seed) for seed in self.seeds]


def on(benchmark: str, **options: object) -> BenchmarkOptions:
    """A benchmark with these options."""
    return BenchmarkOptions.model_validate({"benchmark": benchmark} | options)


def games(options: BenchmarkOptions, *variants: str) -> Iterator[tuple[str, Entry]]:
    """Variants in both of the paper's schedules, each with the schedule's name."""
    for variant in variants:
        for schedule in SCHEDULES:
            yield schedule, entry(f"{schedule}-{variant}", options)

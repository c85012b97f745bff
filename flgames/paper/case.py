"""What a table or a figure of the paper is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.paper import printed
from flgames.runs.compare import drawn
from flgames.runs.entries import entry
from flgames.runs.entry import Entry
from flgames.runs.match import Match
from flgames.runs.names import SCHEDULES


@dataclass(frozen=True)
class Case:
    """One line of a table: what is played, with which seeds, and what the paper printed for it."""

    labels: Mapping[str, str]
    """Where it stands, by column: a method, a number of clients, ..."""
    options: BenchmarkOptions
    entry: Entry
    seeds: range
    paper: printed.Figure | None = None
    paper_rounds: float | None = None
    states: int | None = None
    """Of real sites: so many train, drawn anew with each seed; None: those that are named, or each unseen in turn."""

    def shortened(self, rounds: int) -> Case:
        """The same, played for so many rounds at most."""
        return replace(self, entry=self.entry.model_copy(update={"rounds": min(rounds, self.entry.rounds)}))

    def matches(self) -> list[Match]:
        return [
            Match(options=options, entry=self.entry, seed=seed)
            for seed in self.seeds
            for options in drawn(self.options, seed, self.states)
        ]


def on(benchmark: str, **options: object) -> BenchmarkOptions:
    """A benchmark with these options."""
    return BenchmarkOptions.model_validate({"benchmark": benchmark} | options)


def games(options: BenchmarkOptions, *variants: str) -> Iterator[tuple[str, Entry]]:
    """Variants in both of the paper's schedules, each with the schedule's name."""
    for variant in variants:
        for schedule in SCHEDULES:
            yield schedule, entry(f"{schedule}-{variant}", options)

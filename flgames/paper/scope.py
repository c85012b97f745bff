"""How far a table or figure is played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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

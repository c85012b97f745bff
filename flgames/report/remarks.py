"""What must be said beside a table, so that nobody reads a figure for more than it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from flgames.data.benchmarks.benchmark import Benchmark
from flgames.report.rows import Row

SHORTCUT_WARNING = "stopped by --rounds; this may be a shortcut state"


def remarks(rows: Sequence[Row], constant: float) -> Iterator[str]:
    """Rules that did not fire, models that learnt nothing, features used the wrong way round."""
    for row in rows:
        seeds = len(row.results)
        unruly = sum(1 for result in row.played if result.rule and result.end == "rounds")
        if unruly:
            yield f"{row.title}: {unruly} of {seeds} {SHORTCUT_WARNING}."
        untaught = sum(1 for result in row.results if result.train <= constant)
        if untaught:
            yield (
                f"{row.title}: {untaught} of {seeds} no better on the training clients than a constant: "
                "flat, but nothing was learnt."
            )
        if row.reversed:
            ceiling = row.profiles[0].ceiling
            yield (
                f"{row.title}: above {ceiling:.0%} on the unseen client the spurious feature is used the wrong way "
                "round (reversed); that is not a better model."
            )


def majority_shares(source: Benchmark, seeds: Iterable[int]) -> list[tuple[float, float]]:
    """How a constant does with every seed, the training clients' most frequent label: there, and held out."""
    shares = []
    for seed in seeds:
        data = source.data(seed)
        labels = np.concatenate([portion.labels for portion in data.training_portions().values()])
        counts = np.bincount(labels)
        held_out = data.held_out_portion().labels
        shares.append((float(counts.max() / len(labels)), float(np.mean(held_out == counts.argmax()))))
    return shares

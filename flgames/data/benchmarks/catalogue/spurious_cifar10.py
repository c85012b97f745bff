"""Spurious CIFAR10: vehicles or animals; a black patch in a corner predicts the label at the training clients."""

from __future__ import annotations

from flgames.data.benchmarks.benchmark import Benchmark
from flgames.data.benchmarks.compose import flips_of, refuse, stride_of
from flgames.data.benchmarks.image_sets import CIFAR10
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import GamePreset, NamedBenchmark
from flgames.data.benchmarks.spurious import Patch

LABELS = {
    "airplane": 0, "automobile": 0, "bird": 1, "cat": 1, "deer": 1, "dog": 1, "frog": None, "horse": 1,
    "ship": 0, "truck": 0,
}  # fmt: skip


def build(options: BenchmarkOptions) -> Benchmark:
    refuse(options, "classes", "pixels")
    return Benchmark(
        name=options.benchmark,
        title="Spurious CIFAR10",
        images=CIFAR10,
        labels=LABELS,
        feature=Patch(5),
        stride=stride_of(options, 32),
        available=(45_000, 9_000),
        flips=flips_of(options),
        sizes=options.sizes,
    )


BENCHMARK = NamedBenchmark(
    build,
    GamePreset(
        learning_rates=(1e-4, 1e-4, 9e-4),
        stop_below={2: (0.60, 0.65)},
        # An epoch of the paper's clients: before anything is learnt, training accuracy crosses the threshold.
        least_warm_start=88,
    ),
)

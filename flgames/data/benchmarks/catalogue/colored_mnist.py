"""Colored MNIST: digits below five or not; colour predicts the label at the training clients."""

from __future__ import annotations

from flgames.data.benchmarks.benchmark import Benchmark
from flgames.data.benchmarks.compose import DIGITS, flips_of, grouped, stride_of, titled
from flgames.data.benchmarks.image_sets import MNIST
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import GamePreset, NamedBenchmark
from flgames.data.benchmarks.spurious import Colour


def build(options: BenchmarkOptions) -> Benchmark:
    return Benchmark(
        name=options.benchmark,
        title=titled("Colored MNIST", options),
        images=MNIST,
        labels=grouped(DIGITS, options.classes),
        feature=Colour(options.classes, binary=options.pixels == "binary"),
        stride=stride_of(options, 28, 14),
        available=(60_000, 10_000),
        flips=flips_of(options),
        sizes=options.sizes,
    )


BENCHMARK = NamedBenchmark(build, GamePreset(stop_below={2: (0.60, 0.70), 5: (0.80, 0.80), 10: (0.83, 0.83)}))

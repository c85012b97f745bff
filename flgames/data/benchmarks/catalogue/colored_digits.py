"""Colored Digits: Colored MNIST in small, on scikit-learn's embedded digits. Nothing is fetched."""

from __future__ import annotations

from flgames.data.benchmarks.benchmark import Benchmark
from flgames.data.benchmarks.compose import DIGITS, flips_of, grouped, stride_of, titled
from flgames.data.benchmarks.digits import WHITE, digits
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import GamePreset, NamedBenchmark
from flgames.data.benchmarks.spurious import Colour


def build(options: BenchmarkOptions) -> Benchmark:
    return Benchmark(
        name=options.benchmark,
        title=titled("Colored Digits", options),
        images=digits,
        labels=grouped(DIGITS, options.classes),
        feature=Colour(options.classes, white=WHITE, binary=options.pixels == "binary"),
        stride=stride_of(options, 8),
        available=(1_300, 497),
        origin="embedded in scikit-learn",
        flips=flips_of(options),
        sizes=options.sizes,
    )


BENCHMARK = NamedBenchmark(build, GamePreset(stop_below={2: (0.60, 0.70), 5: (0.80, 0.80), 10: (0.83, 0.83)}))

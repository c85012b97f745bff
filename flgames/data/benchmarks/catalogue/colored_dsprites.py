"""Colored dSprites: squares or ellipses; colour predicts the label at the training clients."""

from __future__ import annotations

import functools

from flgames.data.benchmarks.benchmark import Benchmark
from flgames.data.benchmarks.compose import flips_of, refuse, stride_of
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import GamePreset, NamedBenchmark
from flgames.data.benchmarks.sprites import TEST, TRAIN, PublishedSprites, RenderedSprites, sprites
from flgames.data.benchmarks.spurious import Colour
from flgames.data.benchmarks.variables import own_folder


def build(options: BenchmarkOptions) -> Benchmark:
    refuse(options, "classes", "pixels")
    is_rendered, published = options.sprites == "rendered", PublishedSprites(own_folder)
    return Benchmark(
        name=options.benchmark,
        title="Colored dSprites",
        images=functools.partial(sprites, source=RenderedSprites() if is_rendered else published),
        labels={"square": 1, "ellipse": 0},
        feature=Colour(white=1),
        check=lambda: is_rendered or published.path,
        stride=stride_of(options, 64),
        available=(TRAIN, TEST),
        origin="rendered here" if is_rendered else "the published file",
        flips=flips_of(options),
        sizes=options.sizes,
    )


BENCHMARK = NamedBenchmark(
    build,
    GamePreset(
        learning_rates=(9.5e-4, 9e-4, 2.5e-4),
        stop_below={2: (0.60, 0.60)},
        # An epoch of the paper's clients: before anything is learnt, training accuracy crosses the threshold.
        least_warm_start=59,
    ),
)

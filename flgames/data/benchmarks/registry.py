"""The benchmarks by name. Each is a file in catalogue/, called as the benchmark, and nothing else names it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from flgames.errors import UserError, unknown

if TYPE_CHECKING:
    from flgames.data.benchmarks.benchmark import Benchmark
    from flgames.data.benchmarks.options import BenchmarkOptions
    from flgames.data.benchmarks.sites import Sites

_CATALOGUE = Path(__file__).parent / "catalogue"

NAMES = tuple(sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules([str(_CATALOGUE)])))
"""Every file of the catalogue; none of them is loaded for this."""


@dataclass(frozen=True)
class GamePreset:
    """What the paper, or we, fix for games on a benchmark. docs/decisions.md (9) says where thresholds come from."""

    learning_rates: tuple[float, float, float] = (2.5e-4, 2.5e-4, 2.5e-5)
    """Of the predictors with a fixed phi, of the predictors with a variable phi, and of that phi."""
    stop_below: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    """By the number of classes: the training accuracy below which a game ends, without memory and with it."""
    stop_below_other_flips: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    """The same, where clients are not those of the paper's main table."""
    least_warm_start: int = 0
    """Rounds in which it can't stop, at least."""


@dataclass(frozen=True)
class NamedBenchmark:
    """What a file of the catalogue declares as BENCHMARK."""

    build: Callable[[BenchmarkOptions], Benchmark | Sites]
    preset: GamePreset = GamePreset()


def find(name: str) -> NamedBenchmark:
    """What is declared under this name."""
    if name not in NAMES:
        raise unknown("benchmark", name, NAMES)
    module = importlib.import_module(f"flgames.data.benchmarks.catalogue.{name.replace('-', '_')}")
    declared: NamedBenchmark = module.BENCHMARK
    return declared


def benchmark(options: BenchmarkOptions) -> Benchmark | Sites:
    """The benchmark that these options ask for, or one sentence that says what can't be had."""
    from flgames.data.benchmarks.compose import refuse_others

    declared = find(options.benchmark).build(options)
    refuse_others(options, declared)
    return declared


def is_planted(options: BenchmarkOptions) -> bool:
    """Whether the spurious feature of a benchmark was planted."""
    from flgames.data.benchmarks.benchmark import Benchmark

    return isinstance(benchmark(options), Benchmark)


def planted(options: BenchmarkOptions) -> Benchmark:
    """A benchmark whose spurious feature was planted, and so is known."""
    from flgames.data.benchmarks.benchmark import Benchmark

    declared = benchmark(options)
    if not isinstance(declared, Benchmark):
        raise UserError(f"{options.benchmark} has real sites and no planted feature: this is for benchmarks with one.")
    return declared


def by_name(name: str, **options: object) -> Benchmark:
    """A benchmark with a planted feature, for example ``by_name("colored-mnist", classes=10)``."""
    from flgames.data.benchmarks.options import BenchmarkOptions

    return planted(BenchmarkOptions.model_validate({"benchmark": name} | options))


def sites_by_name(name: str, **options: object) -> Sites:
    """A benchmark of real sites, for example ``sites_by_name("fars", train=("CA", "TX", "FL"))``."""
    from flgames.data.benchmarks.options import BenchmarkOptions
    from flgames.data.benchmarks.sites import Sites

    declared = benchmark(BenchmarkOptions.model_validate({"benchmark": name} | options))
    if not isinstance(declared, Sites):
        raise UserError(f"{name} has a planted feature and no real sites.")
    return declared

"""Benchmarks for tests: those whose images can't be had are skipped, and the summary says so."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from typing import Any

import pytest

from flgames.data.benchmarks.benchmark import Benchmark
from flgames.data.benchmarks.images import ImageSet
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import NAMES, NamedBenchmark, benchmark, by_name, find, sites_by_name
from flgames.data.benchmarks.sites import Sites
from flgames.errors import UserError

OF_SITES = tuple(name for name in NAMES if isinstance(benchmark(BenchmarkOptions(benchmark=name)), Sites))
"""Benchmarks of real sites."""

PLANTED = tuple(name for name in NAMES if name not in OF_SITES)
"""Benchmarks with a planted feature."""

RENDERED = {"colored-dsprites": {"sprites": "rendered"}}
"""Sprites are drawn: the published file is read through for seconds."""

MISSING: dict[str, str] = {}
"""Benchmarks that could not be tested, and why."""


@functools.cache
def loaded(name: str, seed: int = 0) -> ImageSet:
    """A benchmark's images, loaded once a process: nobody may change them."""
    return by_name(name, **RENDERED.get(name, {})).images(seed)


def at_hand(name: str, **options: Any) -> Benchmark:
    """A benchmark with its images, fetched if they can be."""
    source = by_name(name, **RENDERED.get(name, {}) | options)
    if name not in MISSING:
        try:
            loaded(name)
        except UserError as error:
            MISSING[name] = str(error)
    if name in MISSING:
        pytest.skip(f"{name} can't be had here")
    return dataclasses.replace(source, images=functools.partial(loaded, name))


def sites_at_hand(name: str, **options: Any) -> Sites:
    """A benchmark of real sites, whose data are fetched if they can be."""
    source = sites_by_name(name, **options)
    if name not in MISSING:
        try:
            for wanted in source.published:
                wanted.fetch()
        except UserError as error:
            MISSING[name] = str(error)
    if name in MISSING:
        pytest.skip(f"{name} can't be had here")
    return source


def make_small(name: str, patch: pytest.MonkeyPatch, train: int = 1000, test: int = 300) -> None:
    """Leave a benchmark its first images only, for whoever asks for it by name, until ``patch`` is undone."""
    declared, images = find(name), at_hand(name).images(0)
    few = ImageSet(
        images.train_images[:train], images.train_kinds[:train], images.test_images[:test], images.test_kinds[:test]
    )

    def build(options: BenchmarkOptions) -> Benchmark:
        whole = declared.build(options)
        assert isinstance(whole, Benchmark)
        return dataclasses.replace(whole, images=lambda seed: few, needs=())

    catalogue = importlib.import_module(f"flgames.data.benchmarks.catalogue.{name.replace('-', '_')}")
    patch.setattr(catalogue, "BENCHMARK", NamedBenchmark(build, declared.preset))

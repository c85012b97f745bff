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
from flgames.data.benchmarks.registry import NamedBenchmark, by_name, find
from flgames.errors import UserError

MISSING: dict[str, str] = {}
"""Benchmarks that could not be tested, and why."""


@functools.cache
def loaded(name: str, seed: int = 0) -> ImageSet:
    """A benchmark's images, loaded once a process: nobody may change them."""
    return by_name(name).images(seed)


def at_hand(name: str, **options: Any) -> Benchmark:
    """A benchmark with its images, fetched if they can be."""
    source = by_name(name, **options)
    if name not in MISSING:
        try:
            loaded(name)
        except UserError as error:
            MISSING[name] = str(error)
    if name in MISSING:
        pytest.skip(f"{name} can't be had here")
    return dataclasses.replace(source, images=functools.partial(loaded, name))


def make_small(name: str, patch: pytest.MonkeyPatch, train: int = 1000, test: int = 300) -> None:
    """Leave a benchmark its first images only, for whoever asks for it by name, until ``patch`` is undone."""
    declared, images = find(name), at_hand(name).images(0)
    few = ImageSet(
        images.train_images[:train], images.train_kinds[:train], images.test_images[:test], images.test_kinds[:test]
    )

    def build(options: BenchmarkOptions) -> Benchmark:
        return dataclasses.replace(declared.build(options), images=lambda seed: few)

    catalogue = importlib.import_module(f"flgames.data.benchmarks.catalogue.{name.replace('-', '_')}")
    patch.setattr(catalogue, "BENCHMARK", NamedBenchmark(build, declared.preset))

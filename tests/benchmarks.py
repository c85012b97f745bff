"""Benchmarks for tests: those whose images can't be had are skipped, and the summary says so."""

from __future__ import annotations

from typing import Any

import pytest

from flgames.data.benchmarks.benchmark import Benchmark
from flgames.data.benchmarks.registry import by_name
from flgames.errors import UserError

MISSING: dict[str, str] = {}
"""Benchmarks that could not be tested, and why."""

EMBEDDED = ("colored-digits", "colored-dsprites")


def at_hand(name: str, **options: Any) -> Benchmark:
    """A benchmark with its images, fetched if they can be."""
    source = by_name(name, **options)
    if name not in MISSING:
        try:
            source.prepared(0)
            return source
        except UserError as error:
            MISSING[name] = str(error)
    pytest.skip(f"{name} can't be had here")

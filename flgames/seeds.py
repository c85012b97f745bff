"""Every random draw is a pure function of (seed, purpose, ...): nothing global, nothing to save.

One seed drives data, initialisation, batches and schedules, each through its own generator, so that changing one
of them leaves the others as they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


def _digest(seed: int, purpose: tuple[str | int, ...]) -> int:
    text = "/".join([str(seed), *map(str, purpose)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def generator(seed: int, *purpose: str | int) -> np.random.Generator:
    """A numpy generator for one purpose, for example ``generator(seed, "batches", client, epoch)``."""
    return np.random.Generator(np.random.PCG64(_digest(seed, purpose)))


@contextmanager
def torch_seed(seed: int, *purpose: str | int) -> Iterator[None]:
    """Inside, torch's generators are seeded for one purpose; outside, they are as they were.

    The same as ``torch.random.fork_rng`` and ``torch.manual_seed``, which take half a millisecond: a move has few.
    """
    generators = (torch.default_generator, *torch.cuda.default_generators)
    before = [each.get_state() for each in generators]
    try:
        for each in generators:
            each.manual_seed(_digest(seed, purpose) >> 1)
        yield
    finally:
        for each, state in zip(generators, before, strict=True):
            each.set_state(state)

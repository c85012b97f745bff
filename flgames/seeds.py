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
    """Inside, torch's generator is seeded for one purpose; outside, it is as it was."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(_digest(seed, purpose) >> 1)
        yield

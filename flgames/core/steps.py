"""How many steps a client takes, and by which optimiser."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable

import torch
from torch import nn

from flgames.core.knobs import STEP_RANGE, OptimiserName
from flgames.seeds import generator


def batches_in(share: int | str, samples: int, batch_size: int) -> int:
    """How many mini-batches a :data:`~flgames.core.knobs.Share` means for a client with so many samples."""
    if isinstance(share, int):
        return share
    every = math.ceil(samples / batch_size)
    return every if share == "all" else max(1, round(every * float(share[:-1]) / 100))


def steps_of(steps: int | str, samples: int, batch_size: int, seed: int, client: str) -> int:
    """How many steps a client takes a move."""
    match = STEP_RANGE.fullmatch(steps) if isinstance(steps, str) else None
    if match is None:
        return batches_in(steps, samples, batch_size)
    return int(generator(seed, "local steps", client).integers(int(match[1]), int(match[2]), endpoint=True))


class _Adam(torch.optim.Adam):
    """torch's, with its own step: what torch wraps around that tells a compiler about every step, and loads it first,
    which takes as long as loading torch."""

    step = torch.no_grad()(inspect.unwrap(torch.optim.Adam.step))


def make_optimiser(
    name: OptimiserName, parameters: Iterable[nn.Parameter], learning_rate: float
) -> torch.optim.Optimizer:
    """Adam in its fused form, or plain gradient descent."""
    if name == "adam":
        return _Adam(parameters, lr=learning_rate, fused=True)
    return torch.optim.SGD(parameters, lr=learning_rate)

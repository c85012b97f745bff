"""Calibrated probabilities: one temperature that all logits are divided by, fitted on samples that were held back.

Guo et al., On Calibration of Modern Neural Networks, 2017, https://arxiv.org/abs/1706.04599. Every client tells the sum
of its losses at some temperatures; the server adds them up and looks for the least, first roughly and then closely. No
answer changes by it, only how sure it sounds.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

LOWEST, HIGHEST = 0.02, 50.0
"""Between which the first look is."""

STEPS = 41


def temperatures(lowest: float, highest: float) -> Tensor:
    """Those that are tried: evenly spaced as logarithms."""
    return torch.logspace(math.log10(lowest), math.log10(highest), STEPS, dtype=torch.float64)


def losses_at(logits: Tensor, targets: Tensor, lowest: float, highest: float) -> Tensor:
    """The sum of losses over these samples, at every temperature."""
    exact = logits.double()
    tried = [functional.cross_entropy(exact / each, targets, reduction="sum") for each in temperatures(lowest, highest)]
    return torch.stack(tried).cpu()


def narrowed(losses: Tensor, lowest: float, highest: float) -> tuple[float, float]:
    """The neighbours of the best temperature, for the sum of all clients' losses: it lies between them.

    The square of its logarithm is added. Where a model is right about all of a few samples, they would have it say so
    ever more surely.
    """
    tried = temperatures(lowest, highest)
    best = int((losses + tried.log().square()).argmin())
    return float(tried[max(best - 1, 0)]), float(tried[min(best + 1, STEPS - 1)])

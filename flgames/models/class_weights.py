"""Classes that count alike in the loss, however rare they are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from flgames.models.architecture import Loss


def balanced_weights(counts: Sequence[int]) -> tuple[float, ...]:
    """The weight of every class by how many samples it has: N / (classes x count), as scikit-learn has it.

    Examples
    --------
    >>> from flgames.models.class_weights import balanced_weights
    >>> balanced_weights([30, 10])
    (0.6666666865348816, 2.0)
    """
    found = torch.tensor(counts)
    weights = found.sum() / (len(found) * found.clamp(min=1))
    return tuple(weights.tolist())


def weighted_loss(weights: Sequence[float]) -> Loss:
    """Cross-entropy where every class counts by its weight."""
    return partial(_weighted, torch.tensor(weights))


def _weighted(weights: Tensor, logits: Tensor, targets: Tensor) -> Tensor:
    return functional.cross_entropy(logits, targets, weights.to(logits))

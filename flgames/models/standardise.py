"""Values with mean 0 and deviation 1, from counts and sums that clients tell: nobody's samples leave home for it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

SMALLEST = 1e-30
"""And one that is smaller than this is none in any unit."""

ROUNDING = 1e-6
"""A deviation that is smaller than this, beside its mean, is none."""


def moments(count: int | Tensor, sums: Sequence[Tensor], squares: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Mean and deviation of every feature, from the clients' sums over so many values in all, or of each feature.

    A feature that never changes has the deviation 1: it is left at 0 rather than blown up.
    """
    mean, square = _added(sums) / count, _added(squares) / count
    deviation = (square - mean**2).clamp(min=0).sqrt()
    return mean, torch.where(deviation > ROUNDING * mean.abs() + SMALLEST, deviation, 1.0)


class Standardise(nn.Module):
    """Raw values in, values with mean 0 and deviation 1 out; the identity until it is :meth:`fit`.

    ``shape`` is that of one input: of images every channel is standardised, of all else every value.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, shape: Sequence[int]) -> None:
        super().__init__()
        one_each = (shape[0], 1, 1) if len(shape) == 3 else tuple(shape)
        self.register_buffer("mean", torch.zeros(one_each))
        self.register_buffer("scale", torch.ones(one_each))

    def fit(self, mean: Tensor, deviation: Tensor) -> Standardise:
        self.mean.copy_(mean.reshape(self.mean.shape))
        self.scale.copy_((1 / deviation).reshape(self.scale.shape))
        return self

    def forward(self, inputs: Tensor) -> Tensor:
        return (inputs.float() - self.mean) * self.scale


class FeatureScale(Standardise):
    """The last layer of a phi whose features shall have mean 0 and deviation 1 over the samples of all clients.

    When a game starts, every client tells the sums and the sums of squares of its features, and the server fits it.
    """

    def __init__(self, features: int) -> None:
        super().__init__((features,))


def _added(parts: Sequence[Tensor]) -> Tensor:
    """In the clients' order, so that it is the same bits everywhere."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total

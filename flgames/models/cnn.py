"""Small convolutional networks, for images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from torch import nn

from flgames.models.architecture import Architecture
from flgames.models.networks import CNN, PooledCNN
from flgames.models.standardise import FeatureScale

GROUPS = 4
"""Of channels that are normalised together."""


def convolutions(network: CNN, input_shape: tuple[int, ...], classes: int) -> Architecture:
    """A declared convolutional network for images of this shape.

    What the convolutions give is standardised, so that linear players learn all features equally fast.
    """
    channels = network.channels
    features = channels[-1] * math.prod(-(-side // 2 ** len(channels)) for side in input_shape[1:])

    def representation() -> nn.Module:
        return nn.Sequential(*_halving(input_shape[0], channels), nn.Flatten(), FeatureScale(features))

    return Architecture(lambda: nn.Linear(features, classes), representation)


def pooled_convolutions(network: PooledCNN, input_shape: tuple[int, ...], classes: int) -> Architecture:
    """Without the places of what it sees: the linear layer is given the mean of every map. The last convolution does
    not halve the image, so that the mean is of many places."""
    *before, last = network.channels

    def representation() -> nn.Module:
        layers = _halving(input_shape[0], before, network.group_norm)
        layers += _convolution(before[-1], last, 1, network.group_norm)
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())

    return Architecture(lambda: nn.Linear(last, classes), representation)


def _halving(first: int, channels: Sequence[int], group_norm: bool = False) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for before, after in pairwise((first, *channels)):
        layers += _convolution(before, after, 2, group_norm)
    return layers


def _convolution(before: int, after: int, stride: int, group_norm: bool) -> list[nn.Module]:
    norm = [nn.GroupNorm(GROUPS, after)] if group_norm else []
    return [nn.Conv2d(before, after, 3, stride=stride, padding=1), *norm, nn.ReLU()]

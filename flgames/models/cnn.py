"""A small convolutional network, for images of one's own."""

from __future__ import annotations

import math
from itertools import pairwise

from torch import nn

from flgames.models.architecture import Architecture
from flgames.models.networks import CNN
from flgames.models.standardise import FeatureScale


def convolutions(network: CNN, input_shape: tuple[int, ...], classes: int) -> Architecture:
    """A declared convolutional network for images of this shape.

    What the convolutions give is standardised, so that linear players learn all features equally fast.
    """
    channels = network.channels
    features = channels[-1] * math.prod(-(-side // 2 ** len(channels)) for side in input_shape[1:])

    def representation() -> nn.Module:
        layers: list[nn.Module] = []
        for before, after in pairwise((input_shape[0], *channels)):
            layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.ReLU()]
        return nn.Sequential(*layers, nn.Flatten(), FeatureScale(features))

    return Architecture(lambda: nn.Linear(features, classes), representation)

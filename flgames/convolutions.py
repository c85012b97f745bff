"""A small convolutional network, for images of one's own."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Literal

from pydantic import BaseModel, ConfigDict
from torch import nn

from flgames.features import FeatureScale
from flgames.models import Architecture


class ConvNetwork(BaseModel):
    """Convolutions that halve the image each as phi, and one linear layer as a predictor.

    What the convolutions give is standardised, so that linear players learn all features equally fast.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["cnn"] = "cnn"
    channels: tuple[int, ...] = (16, 32, 64)

    def architecture(self, input_shape: tuple[int, ...], classes: int) -> Architecture:
        """This network for images of this shape."""
        features = self.channels[-1] * math.prod(-(-side // 2 ** len(self.channels)) for side in input_shape[1:])

        def representation() -> nn.Module:
            layers: list[nn.Module] = []
            for before, after in pairwise((input_shape[0], *self.channels)):
                layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.ReLU()]
            return nn.Sequential(*layers, nn.Flatten(), FeatureScale(features))

        return Architecture(lambda: nn.Linear(features, classes), representation)

"""Predictors that are linear: the mean of several of them is one of them, with the mean of their weights."""

from __future__ import annotations

import math
from functools import partial

from torch import nn

from flgames.models.architecture import Architecture


def is_linear(predictor: nn.Module) -> bool:
    """Whether a predictor is one linear layer, with nothing before it that has weights or bends."""
    if isinstance(predictor, nn.Sequential) and len(predictor):
        *before, last = predictor
        return type(last) is nn.Linear and all(isinstance(layer, nn.Flatten | nn.Identity) for layer in before)
    return type(predictor) is nn.Linear


def linear_layer(predictor: nn.Module) -> nn.Linear:
    """The layer of a predictor that :func:`is_linear`."""
    last = predictor[-1] if isinstance(predictor, nn.Sequential) else predictor
    assert isinstance(last, nn.Linear)
    return last


def linear_predictor(features: int, classes: int, from_zero: bool = True) -> nn.Module:
    """One linear layer on flattened inputs. It starts at zero: a column that has taught it nothing yet has no say."""
    layer = nn.Linear(features, classes)
    if from_zero:
        nn.init.zeros_(layer.weight)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(nn.Flatten(), layer)


def linear_architecture(input_shape: tuple[int, ...], classes: int) -> Architecture:
    """Linear players on the inputs themselves: phi is the identity."""
    return Architecture(partial(linear_predictor, math.prod(input_shape), classes))

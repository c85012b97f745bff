"""The paper's multi-layer perceptrons."""

from __future__ import annotations

import math

from torch import nn

from flgames.models.architecture import Architecture
from flgames.models.channels import ChannelLinear
from flgames.models.networks import MLP, Initialisation


def perceptrons(network: MLP, input_shape: tuple[int, ...], classes: int) -> Architecture:
    """A declared perceptron for inputs of this shape."""
    channels = input_shape[0] if len(input_shape) > 1 else 1

    def hidden(linear: nn.Linear) -> list[nn.Module]:
        normalisation = [nn.BatchNorm1d(network.width)] if network.batch_norm else []
        return [linear, *normalisation, nn.ELU() if network.activation == "elu" else nn.ReLU()]

    def on_inputs() -> list[nn.Module]:
        return hidden(ChannelLinear(channels, math.prod(input_shape), network.width))

    def on_features() -> list[nn.Module]:
        return hidden(nn.Linear(network.width, network.width))

    def representation() -> nn.Module:
        return _initialised(nn.Sequential(nn.Flatten(), *on_inputs()), network.initialisation)

    def predictor() -> nn.Module:
        first = on_features() if network.variable else on_inputs()
        layers = [nn.Flatten(), *first, *on_features(), nn.Linear(network.width, classes)]
        return _initialised(nn.Sequential(*layers), network.initialisation)

    return Architecture(predictor, representation if network.variable else nn.Identity)


def paper_architecture(input_shape: tuple[int, ...], classes: int, variable: bool) -> Architecture:
    """The MLPs of the paper's appendix: 390 ELU units a layer, three layers a predictor, one for a variable phi.

    Examples
    --------
    >>> from flgames.models.mlp import paper_architecture
    >>> sum(p.numel() for p in paper_architecture((2, 28, 28), classes=2, variable=False).predictor().parameters())
    765182
    """
    return MLP(variable=variable).architecture(input_shape, classes)


def _initialised(module: nn.Module, initialisation: Initialisation) -> nn.Module:
    if initialisation == "glorot":
        for layer in module.modules():
            if isinstance(layer, nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)
    return module

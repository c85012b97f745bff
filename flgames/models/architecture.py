"""What players have in common: how phi and a predictor are made, and their weights as plain values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from flgames.seeds import torch_seed

Weights = dict[str, Tensor]
"""The parameters and buffers of one module, by name."""

Loss = Callable[[Tensor, Tensor], Tensor]
"""From logits and targets to the mean loss of the batch, as ``torch.nn.functional.cross_entropy``."""

MakesOptimiser = Callable[..., torch.optim.Optimizer]
"""From parameters to their optimiser."""


@dataclass(frozen=True)
class Architecture:
    """How to make phi, how to make a predictor, and the loss.

    Any two module factories will do. ``nn.Identity`` as the representation is the paper's phi = I; a fixed
    representation may be any module, it is frozen.

    Examples
    --------
    >>> from torch import nn
    >>> from flgames.models.architecture import Architecture
    >>> linear = Architecture(predictor=lambda: nn.Linear(8, 2), representation=lambda: nn.Linear(20, 8))
    >>> linear.predictor()
    Linear(in_features=8, out_features=2, bias=True)
    """

    predictor: Callable[[], nn.Module]
    representation: Callable[[], nn.Module] = nn.Identity
    loss: Loss = functional.cross_entropy
    optimiser: MakesOptimiser | None = None
    phi_optimiser: MakesOptimiser | None = None
    """Of a player and of phi, for those who want others than the configuration names."""
    linear: bool | None = None
    """Whether players are told of each other by their mean only, which is enough where predictors are one linear layer;
    None: wherever they are."""

    def joined(self) -> Architecture:
        """The same network as one predictor on the raw input, for methods that know no players."""
        if self.representation is nn.Identity:
            return self
        return Architecture(lambda: nn.Sequential(self.representation(), self.predictor()), loss=self.loss)


def phi_of(joined: Weights) -> Weights:
    """The representation's part of the weights of :meth:`Architecture.joined`."""
    return {name.removeprefix("0."): tensor for name, tensor in joined.items() if name.startswith("0.")}


def snapshot(module: nn.Module) -> Weights:
    """A copy of a module's parameters and buffers, free of the module."""
    return {
        name: tensor.detach().clone(memory_format=torch.contiguous_format)
        for name, tensor in module.state_dict().items()
    }


def initial_weights(factory: Callable[[], nn.Module], seed: int, who: str) -> Weights:
    """The weights with which a module starts, a pure function of (seed, who)."""
    with torch_seed(seed, "initialisation", who):
        return snapshot(factory())

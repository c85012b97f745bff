"""The paper's multi-layer perceptrons, and the ensemble as one module."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn
from torch.nn import functional

from flgames.federation import Weights
from flgames.game import Loss, average
from flgames.layers import ChannelLinear
from flgames.memory import PHI, InformationSet
from flgames.seeds import torch_seed

Initialisation = Literal["torch", "glorot"]

MakesOptimiser = Callable[..., torch.optim.Optimizer]
"""From parameters to their optimiser."""

WIDTH = 390

PLAYER = "player/"


@dataclass(frozen=True)
class Architecture:
    """What the players have in common: how to make phi, how to make a predictor, and the loss.

    Any two module factories will do. ``nn.Identity`` as the representation is the paper's phi = I; a fixed
    representation may be any module, it is frozen.

    Examples
    --------
    >>> from torch import nn
    >>> from flgames import Architecture
    >>> linear = Architecture(predictor=lambda: nn.Linear(8, 2), representation=lambda: nn.Linear(20, 8))
    >>> linear.predictor()
    Linear(in_features=8, out_features=2, bias=True)
    """

    predictor: Callable[[], nn.Module]
    representation: Callable[[], nn.Module] = nn.Identity
    loss: Loss = functional.cross_entropy
    optimiser: MakesOptimiser | None = None
    phi_optimiser: MakesOptimiser | None = None
    """Of a player and of phi, for those who want others than the rules name."""

    def joined(self) -> Architecture:
        """The same network as one predictor on the raw input, for methods that know no players."""
        if self.representation is nn.Identity:
            return self
        return Architecture(lambda: nn.Sequential(self.representation(), self.predictor()), loss=self.loss)


def phi_of(joined: Weights) -> Weights:
    """The representation's part of the weights of :meth:`Architecture.joined`."""
    return {name.removeprefix("0."): tensor for name, tensor in joined.items() if name.startswith("0.")}


class Network(BaseModel):
    """The paper's multi-layer perceptron by default, and what other methods' authors changed in it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    variable: bool = False
    """Whether the first layer is a representation that players share."""
    width: int = Field(default=WIDTH, ge=1)
    activation: Literal["elu", "relu"] = "elu"
    batch_norm: bool = False
    """Batch normalisation after both hidden layers of a predictor, for FedBN."""
    initialisation: Initialisation = "torch"

    def architecture(self, input_shape: tuple[int, ...], classes: int) -> Architecture:
        """This network for inputs of this shape."""
        channels = input_shape[0] if len(input_shape) > 1 else 1

        def hidden(linear: nn.Linear) -> list[nn.Module]:
            normalisation = [nn.BatchNorm1d(self.width)] if self.batch_norm else []
            return [linear, *normalisation, nn.ELU() if self.activation == "elu" else nn.ReLU()]

        def on_inputs() -> list[nn.Module]:
            return hidden(ChannelLinear(channels, math.prod(input_shape), self.width))

        def on_features() -> list[nn.Module]:
            return hidden(nn.Linear(self.width, self.width))

        def representation() -> nn.Module:
            return _initialised(nn.Sequential(nn.Flatten(), *on_inputs()), self.initialisation)

        def predictor() -> nn.Module:
            first = on_features() if self.variable else on_inputs()
            layers = [nn.Flatten(), *first, *on_features(), nn.Linear(self.width, classes)]
            return _initialised(nn.Sequential(*layers), self.initialisation)

        return Architecture(predictor, representation if self.variable else nn.Identity)


def paper_architecture(input_shape: tuple[int, ...], classes: int, variable: bool) -> Architecture:
    """The MLPs of the paper's appendix: 390 ELU units a layer, three layers a predictor, one for a variable phi.

    Examples
    --------
    >>> from flgames import paper_architecture
    >>> sum(p.numel() for p in paper_architecture((2, 28, 28), classes=2, variable=False).predictor().parameters())
    765182
    """
    return Network(variable=variable).architecture(input_shape, classes)


def _initialised(module: nn.Module, initialisation: Initialisation) -> nn.Module:
    if initialisation == "glorot":
        for layer in module.modules():
            if isinstance(layer, nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)
    return module


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


class Ensemble(nn.Module):
    """w_av o phi: the mean of the players' logits on a shared representation.

    Examples
    --------
    >>> import torch
    >>> from flgames import Ensemble, paper_architecture
    >>> from flgames.models import snapshot
    >>> architecture = paper_architecture((4,), classes=2, variable=False)
    >>> players = {name: snapshot(architecture.predictor()) for name in ("north", "south")}
    >>> Ensemble(architecture, players)(torch.zeros(3, 4)).shape
    torch.Size([3, 2])
    """

    def __init__(self, architecture: Architecture, players: Mapping[str, Weights], phi: Weights | None = None) -> None:
        super().__init__()
        self.names = tuple(players)
        with torch_seed(0, "discarded"):
            self.representation = architecture.representation()
            self.players = nn.ModuleList([architecture.predictor() for _ in players])
        if phi is not None:
            self.representation.load_state_dict(phi)
        for module, weights in zip(self.players, players.values(), strict=True):
            module.load_state_dict(weights)
        self.eval()

    @classmethod
    def of(cls, architecture: Architecture, known: InformationSet) -> Ensemble:
        """What the players of this information set play now."""
        players = {action.author: action.weights for action in known.current}
        return cls(architecture, players, known.phi.weights if known.phi else None)

    @classmethod
    def from_tensors(cls, architecture: Architecture, tensors: Weights) -> Ensemble:
        """The inverse of :meth:`tensors`."""
        phi: Weights = {}
        players: dict[str, Weights] = {}
        for key, tensor in tensors.items():
            owner, _, name = key.rpartition("/")
            own = phi if owner == PHI else players.setdefault(owner.removeprefix(PLAYER), {})
            own[name] = tensor
        return cls(architecture, players, phi or None)

    def tensors(self) -> Weights:
        """All weights by ``player/NAME/parameter`` and ``phi/parameter``, as they are stored in a run folder."""
        named = {f"{PHI}/{name}": tensor for name, tensor in snapshot(self.representation).items()}
        for player, module in zip(self.names, self.players, strict=True):
            named |= {f"{PLAYER}{player}/{name}": tensor for name, tensor in snapshot(module).items()}
        return named

    def forward(self, inputs: Tensor) -> Tensor:
        features = self.representation(inputs)
        return average([predictor(features) for predictor in self.players])

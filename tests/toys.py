"""Small games whose every number can be worked out by hand."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from flgames.core.callbacks import Callback
from flgames.core.local import LocalFederation
from flgames.core.loop import Play
from flgames.core.method import Method
from flgames.core.records import RoundRecord
from flgames.core.server import Server
from flgames.core.stopping.rule import StoppingRule
from flgames.data.samples import ArraySamples, Samples
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.server import Game
from flgames.models.architecture import Architecture
from flgames.models.linear import linear_architecture


class Slope(nn.Linear):
    """y = w x, starting at w = 1."""

    def __init__(self) -> None:
        super().__init__(1, 1, bias=False)
        nn.init.ones_(self.weight)


SQUARED = Architecture(Slope, loss=functional.mse_loss)


def squared_config(**knobs: Any) -> FLGamesConfig:
    """Plain gradient descent with a step of 1/2, so that two players' numbers stay short binary fractions."""
    return FLGamesConfig(optimiser="sgd", learning_rate=0.5, batch_size=1, **knobs)


def seat(method: Method, clients: dict[str, Samples], seed: int = 0) -> Server:
    """A server with its clients in this process, ready for the first round."""
    server = Server(LocalFederation.of(method, clients, seed), method.memory, heard_by=method.heard_by)
    server.introduce()
    method.start(server, seed)
    return server


def one_sample_each(*targets: float) -> dict[str, Samples]:
    """Clients a, b, ... with the single sample x = 1 and these targets."""
    return {
        name: ArraySamples(torch.ones(1, 1), torch.tensor([[target]]))
        for name, target in zip("abcdefghij", targets, strict=False)
    }


def slopes(server: Server) -> list[float]:
    """Every player's current w."""
    return [action.weights["weight"].item() for action in server.known.current]


def play_slopes(config: FLGamesConfig, rounds: int, *targets: float, seed: int = 0) -> list[list[float]]:
    """The players' w after each round of a squared game."""
    method = Game(SQUARED, config)
    server = seat(method, one_sample_each(*(targets or (4.0, 2.0))), seed)
    history = []
    for round_ in range(rounds):
        method.round(server, round_, seed)
        history.append(slopes(server))
    return history


def perceptrons(inputs: int = 6, width: int = 5, classes: int = 2, variable: bool = False) -> Architecture:
    def predictor() -> nn.Module:
        return nn.Sequential(nn.Linear(width if variable else inputs, width), nn.ELU(), nn.Linear(width, classes))

    if not variable:
        return Architecture(predictor)
    return Architecture(predictor, lambda: nn.Sequential(nn.Linear(inputs, width), nn.Tanh()))


def suited(name: str, inputs: int = 6, classes: int = 2) -> Architecture:
    """Perceptrons; one linear layer for the method that can have nothing else."""
    return linear_architecture((inputs,), classes) if name == "logistic" else perceptrons(inputs, classes=classes)


def random_clients(*sizes: int, inputs: int = 6, classes: int = 2) -> dict[str, Samples]:
    draw = torch.Generator().manual_seed(1)
    return {
        name: ArraySamples(
            torch.randn(size, inputs, generator=draw), torch.randint(0, classes, (size,), generator=draw)
        )
        for name, size in zip("abcdefghij", sizes, strict=False)
    }


def set_up(
    method: Method,
    clients: dict[str, Samples],
    rounds: int,
    rule: StoppingRule | None = None,
    validation: float = 0.0,
    **more: Any,
) -> Play:
    federation = LocalFederation.of(method, clients, seed=0, validation=validation)
    return Play(method, federation, seed=0, rounds=rounds, rule=rule, **more)


class Records(Callback):
    """Keeps the record of every round."""

    def __init__(self) -> None:
        self.heard: list[RoundRecord] = []

    def on_round(self, record: RoundRecord) -> None:
        self.heard.append(record)


def flat(server: Server) -> Tensor:
    """All current weights as one vector, to compare games bit for bit."""
    actions = [*server.known.current, *([server.known.phi] if server.known.phi else [])]
    return torch.cat([tensor.flatten() for action in actions for _, tensor in sorted(action.weights.items())])

"""The work that all frameworks do: the same samples, network and steps. It needs torch and nothing else."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

SHAPES = {"MLP": (2, 28, 28), "linear": (73,)}
CLASSES, WIDTH = 2, 390
SAMPLES, BATCH, RATE = 1024, 256, 2.5e-4
"""Of a client. A round of FedAvg is one epoch of four steps of Adam at each, one of a game a batch."""

MEMORY, COUNTED = 5, 2048
"""Of a game: an opponent's actions that are answered, and samples in all on which the ensemble is counted."""


class Network(nn.Sequential):
    """The paper's perceptron, or one linear layer."""

    def __init__(self, kind: str) -> None:
        inputs = math.prod(SHAPES[kind])
        hidden = [] if kind == "linear" else [nn.Linear(inputs, WIDTH), nn.ELU(), nn.Linear(WIDTH, WIDTH), nn.ELU()]
        super().__init__(nn.Flatten(), *hidden, nn.Linear(WIDTH if hidden else inputs, CLASSES))


def samples(kind: str, client: int) -> tuple[Tensor, Tensor]:
    """A client's inputs and targets."""
    draw = torch.Generator().manual_seed(client)
    return torch.rand(SAMPLES, *SHAPES[kind], generator=draw), torch.arange(SAMPLES) % CLASSES


def train(model: nn.Module, inputs: Tensor, targets: Tensor) -> None:
    """One epoch of mini-batches in a new order, with a new optimiser."""
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE, fused=True)
    for rows in torch.split(torch.randperm(len(targets)), BATCH):
        loss = functional.cross_entropy(model(inputs.index_select(0, rows)), targets.index_select(0, rows))
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()


def report(clock: Sequence[float]) -> None:
    """Print the seconds between these moments."""
    print(json.dumps([after - before for before, after in pairwise(clock)]))


def main(seconds: Callable[[str, int, int], Sequence[float]]) -> None:
    """Run a program: what it is given is a kind, clients and rounds; it returns the moments at which rounds ended."""
    torch.set_num_threads(1)
    report(seconds(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))

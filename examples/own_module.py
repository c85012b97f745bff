"""Your own modules: a convolutional backbone that the players share and learn, on Spurious CIFAR10.

flgames data fetch spurious-cifar10 && python examples/own_module.py
"""

from __future__ import annotations

import sys
import warnings

import torch
from torch import nn
from torch.utils.data import Dataset

from flgames import FLGames
from flgames.data.benchmarks.registry import by_name
from flgames.data.samples import Samples
from flgames.evaluation.profile import invariance_profile


class Painted(Dataset[tuple[torch.Tensor, int]]):
    """A client of a benchmark as a dataset."""

    def __init__(self, samples: Samples) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, number: int) -> tuple[torch.Tensor, int]:
        inputs, targets = self.samples.batch(torch.tensor([number]))
        return inputs[0], int(targets[0])


def backbone() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 5, stride=2, padding=2), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.AdaptiveAvgPool2d(4), nn.Flatten(),
    )  # fmt: skip


def main(samples: str = "2000", rounds: str = "60") -> None:
    cifar = by_name("spurious-cifar10", sizes=(int(samples), int(samples)))
    clients = {name: Painted(part) for name, part in cifar.training_clients(0).items()}
    model = FLGames(
        representation=backbone,
        predictor=lambda features: nn.Linear(features, 2),
        memory=5,
        rounds=int(rounds),
        optimiser=lambda parameters: torch.optim.Adam(parameters, lr=1e-3),
        phi_optimiser=lambda parameters: torch.optim.Adam(parameters, lr=1e-4),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # so few rounds end before the rule does
        model.fit(clients, progress=True)
    profile = invariance_profile(model.model_, cifar.held_out_client(0), torch.device("cpu"))
    print(f"patch agrees: {profile.agree:.3f}, conflicts: {profile.conflict:.3f}, flips: {profile.flip_rate:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])

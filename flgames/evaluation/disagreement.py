"""What the players of a settled game disagree about, on samples: for people to look at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from flgames.core.messages import CONTESTED
from flgames.data.samples import EVALUATED, in_chunks
from flgames.methods.settled.disagreement import along, centred
from flgames.models.architecture import Architecture, Weights
from flgames.models.ensemble import Ensemble


@dataclass(frozen=True)
class Disagreement:
    """The players that found a shortcut, and the direction in which they disagree."""

    players: Ensemble
    direction: Tensor

    @classmethod
    def of(cls, architecture: Architecture, evidence: Weights) -> Disagreement:
        """From what a run folder keeps of a settled game."""
        told = {name: tensor for name, tensor in evidence.items() if name.startswith(f"{CONTESTED}/")}
        players = {name: tensor for name, tensor in evidence.items() if name not in told}
        return cls(Ensemble.from_tensors(architecture, players), told[f"{CONTESTED}/direction"])

    def __call__(self, inputs: Tensor) -> Tensor:
        """u: one number with two classes, one a class with more."""
        features = self.players.representation(inputs)
        logits = torch.stack([player(features) for player in self.players.players], 1)
        return along(centred(logits), self.direction)

    def on(self, size: int, batch: Callable[[Tensor], tuple[Tensor, Tensor]]) -> Tensor:
        """u of all samples of a client."""
        with torch.inference_mode():
            return torch.cat([self(batch(index)[0]) for index in in_chunks(torch.arange(size), EVALUATED)])

    def where(self, inputs: Tensor) -> Tensor:
        """Where in these images it sits: how much each pixel moves it, over all channels and images, from 0 to 1."""
        inputs = inputs.clone().requires_grad_()
        (slope,) = torch.autograd.grad(strength(self(inputs)).sum(), inputs)
        moved = (slope * inputs).detach().abs().sum(1).mean(0)
        return moved / moved.max().clamp(min=1e-12)


def strength(u: Tensor) -> Tensor:
    """One number a sample: u itself, or with more classes the largest of them."""
    return u[:, 0] if u.shape[1] == 1 else u.max(1).values


def agreement(u: Tensor, codes: Tensor) -> float:
    """How often u tells the true code of a planted feature, by its best cut or by the class that it speaks for: for
    eyes only."""
    if u.shape[1] > 1:
        return float((u.argmax(1) == codes).double().mean())
    sorted_codes = codes[u[:, 0].argsort()].double()
    ones = torch.cat([torch.zeros(1, dtype=torch.float64), sorted_codes.cumsum(0)])
    place = torch.arange(len(ones), dtype=torch.float64)
    # Below a cut zeros are right and above it ones, or the other way round.
    right = (place - ones) + (ones[-1] - ones)
    share = float(right.max() / len(codes)), float(1 - right.min() / len(codes))
    return max(share)

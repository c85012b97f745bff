"""What is measured of training: confusion counts and loss sums, as clients return them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import torch
from torch import Tensor

from flgames.models.architecture import Loss

INNER = 4
"""Clients that must be there for the two at the ends to be left out."""


@dataclass(frozen=True)
class Counts:
    """How one client's samples were predicted: ``confusion[y, prediction]``, and the sum of their losses."""

    confusion: Tensor
    loss_sum: float

    @classmethod
    def of(cls, logits: Tensor, targets: Tensor, loss: Loss) -> Counts:
        classes = logits.shape[1]
        pairs = targets * classes + logits.argmax(1)
        confusion = torch.bincount(pairs, minlength=classes * classes).reshape(classes, classes)
        return cls(confusion.cpu(), float(loss(logits, targets)) * len(targets))

    @property
    def samples(self) -> int:
        return int(self.confusion.sum())

    @property
    def correct(self) -> int:
        return int(self.confusion.diagonal().sum())

    @property
    def wrong(self) -> int:
        return self.samples - self.correct

    @property
    def accuracy(self) -> float:
        return self.correct / self.samples


@dataclass(frozen=True)
class TrainingMeasure:
    """The counts of every training client that answered, on a fixed part of its samples or on all."""

    clients: Mapping[str, Counts]
    sizes: Mapping[str, int]
    """N_k of those clients."""
    effective: float = 1.0
    """The share of samples that is left, where they count by weights."""
    shares: Mapping[str, float] | None = None
    """What each client stands for, where it is not N_k/N."""

    def among(self, clients: Collection[str]) -> TrainingMeasure:
        """The same without others than these."""
        return replace(self, clients={name: each for name, each in self.clients.items() if name in clients})

    @property
    def samples(self) -> int:
        return sum(counts.samples for counts in self.clients.values())

    @property
    def exact(self) -> bool:
        """Whether every training sample was counted."""
        return all(counts.samples == self.sizes[name] for name, counts in self.clients.items())

    @property
    def accuracy(self) -> float:
        """Pooled over clients: each stands for its N_k, however many of its samples were counted."""
        return sum(share * counts.accuracy for share, counts in self._shares())

    @property
    def spread(self) -> float:
        """Between the best and the worst client."""
        accuracies = [counts.accuracy for counts in self.clients.values()]
        return max(accuracies) - min(accuracies)

    @property
    def bias(self) -> float:
        """The share of all predictions that would have to change for every label to be said as often as it occurs."""
        shares = [(share / counts.samples, counts.confusion) for share, counts in self._shares()]
        off = torch.stack([share * (confusion.sum(0) - confusion.sum(1)) for share, confusion in shares]).sum(0)
        return float(off.abs().sum() / 2)

    @property
    def median_accuracy(self) -> float:
        """Of the client in the middle: one that lies can't move it past its neighbours."""
        return median(counts.accuracy for counts in self.clients.values())

    @property
    def inner_spread(self) -> float:
        """Between the best and the worst client when the two at the ends are left out, if there are four at least."""
        accuracies = sorted(counts.accuracy for counts in self.clients.values())
        inner = accuracies[1:-1] if len(accuracies) >= INNER else accuracies
        return inner[-1] - inner[0]

    @property
    def median_bias(self) -> float:
        """The bias of the client in the middle."""
        return median(TrainingMeasure({name: each}, self.sizes).bias for name, each in self.clients.items())

    @property
    def standard_error(self) -> float:
        """Of the pooled accuracy, as an estimate for all training samples: 0 when they were all counted."""
        variances = zip(self._shares(), self._variances(), strict=True)
        return math.sqrt(sum(share**2 * variance for (share, _), variance in variances))

    def spread_margin(self, confidence: float) -> float:
        """How far the spread may be from that of all training samples, at so many standard errors.

        Any two clients may turn out to be the best and the worst, so the more pairs there are, the more is allowed for.
        """
        variances = sorted(self._variances())[-2:]
        pairs = max(math.comb(len(self.clients), 2), 1)
        return math.sqrt((confidence**2 + 2 * math.log(pairs)) * sum(variances))

    def bias_margin(self, confidence: float) -> float:
        """The same for the bias: it is moved by wrong predictions only, each of which counts for two labels."""
        variance = 0.0
        for (share, counts), left in zip(self._shares(), self._uncounted(), strict=True):
            variance += share**2 * (counts.wrong + 1) / (counts.samples + 2) / counts.samples * left
        classes = max(len(counts.confusion) for counts in self.clients.values())
        return confidence * math.sqrt(classes / 2 * variance)

    def _variances(self) -> list[float]:
        variances = []
        for counts, left in zip(self.clients.values(), self._uncounted(), strict=True):
            # Never judge the spread of a coin from a sample in which it always fell on the same side.
            p = (counts.correct + 1) / (counts.samples + 2)
            variances.append(p * (1 - p) / counts.samples * left)
        return variances

    def _uncounted(self) -> list[float]:
        """The share of each client's samples that was not counted: what was counted is no estimate."""
        return [1 - counts.samples / self.sizes[name] for name, counts in self.clients.items()]

    def _shares(self) -> list[tuple[float, Counts]]:
        if self.shares is not None:
            return [(self.shares[name], counts) for name, counts in self.clients.items()]
        total = sum(self.sizes[name] for name in self.clients)
        return [(self.sizes[name] / total, counts) for name, counts in self.clients.items()]


def oscillation(accuracies: Sequence[float]) -> float:
    """The mean absolute change from round to round."""
    changes = [abs(after - before) for before, after in itertools.pairwise(accuracies)]
    return sum(changes) / len(changes) if changes else 0.0

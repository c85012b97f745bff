"""What a clinician asks of a model at one client: how often it is right, how well it ranks, how far to trust its
probabilities, and how sure all of that is with so many samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Self

import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor

from flgames.core.rates import Rates

Z = 1.96
"""Standard errors either way of a 95% interval."""

BINS = 10
"""Of confidence, for the calibration error."""

SMALLEST = 1e-12
"""No probability is taken to be smaller: a logarithm follows."""

Interval = tuple[float, float]


class Figures(BaseModel):
    """One client's figures. They are made where the samples are; what leaves is this.

    Examples
    --------
    >>> import torch
    >>> from flgames.core.figures import Figures
    >>> said = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]])
    >>> found = Figures.of(said, torch.tensor([0, 1, 1, 0]))
    >>> found.n, found.accuracy, found.auc
    (4, 0.75, 1.0)
    """

    model_config = ConfigDict(frozen=True)

    confusion: list[list[int]]
    """``[label][prediction]``."""
    auc: float | None
    """The probability that a sample of the class is ranked above one of another; with more than two classes the mean
    over them. None: there is one class only."""
    auc_error: float | None
    log_loss: float | None
    log_loss_error: float | None
    calibration_error: float | None
    """The mean distance between confidence and accuracy, over ten bins of confidence."""

    @classmethod
    def of(cls, probabilities: Tensor, targets: Tensor) -> Self:
        """Those of what a model says of a client's samples."""
        probabilities, targets = probabilities.detach().cpu().double(), targets.cpu()
        classes = probabilities.shape[1]
        confidence, said = probabilities.max(1)
        pairs = torch.bincount(targets * classes + said, minlength=classes * classes)
        losses = -probabilities.gather(1, targets[:, None])[:, 0].clamp(min=SMALLEST).log()
        auc = _auc(probabilities, targets)
        return cls(
            confusion=pairs.reshape(classes, classes).tolist(),
            auc=auc[0] if auc else None,
            auc_error=auc[1] if auc else None,
            log_loss=float(losses.mean()),
            log_loss_error=float(losses.std() / math.sqrt(len(losses))) if len(losses) > 1 else 0.0,
            calibration_error=_calibration_error(confidence, said == targets),
        )

    @property
    def n(self) -> int:
        return sum(map(sum, self.confusion))

    @classmethod
    def of_counts(cls, confusion: list[list[int]]) -> Self:
        """As far as counts alone can tell."""
        return cls(
            confusion=confusion, auc=None, auc_error=None, log_loss=None, log_loss_error=None, calibration_error=None
        )

    @property
    def rates(self) -> Rates:
        return Rates.of(torch.tensor(self.confusion))

    @property
    def accuracy(self) -> float:
        return sum(row[label] for label, row in enumerate(self.confusion)) / self.n

    @property
    def accuracy_interval(self) -> Interval:
        return wilson(self.accuracy, self.n)

    @property
    def auc_interval(self) -> Interval | None:
        if self.auc is None or not self.auc_error:  # where all pairs are in order, the formula knows no error
            return None
        return max(0.0, self.auc - Z * self.auc_error), min(1.0, self.auc + Z * self.auc_error)

    def constant(self, label: int) -> float:
        """The accuracy of the answer that is always this one."""
        return sum(self.confusion[label]) / self.n


class Spread(BaseModel):
    """Several clients' values in three numbers: their mean, their 10th percentile, and the worst."""

    model_config = ConfigDict(frozen=True)

    mean: float
    tenth: float
    worst: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        ordered = torch.tensor(sorted(values), dtype=torch.float64)
        return cls(mean=fmean(values), tenth=float(torch.quantile(ordered, 0.1)), worst=float(ordered[0]))


def wilson(share: float, n: int) -> Interval:
    """Wilson's 95% interval of a share: it stays between 0 and 1, and holds for few samples too.

    Examples
    --------
    >>> from flgames.core.figures import wilson
    >>> [round(end, 3) for end in wilson(0.5, 100)]
    [0.404, 0.596]
    """
    middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * math.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def _auc(probabilities: Tensor, targets: Tensor) -> tuple[float, float] | None:
    """The area under the curve and its standard error (Hanley and McNeil, 1982)."""
    classes = probabilities.shape[1]
    found = []
    for label in [1] if classes == 2 else range(classes):
        is_it = targets == label
        positive, negative = int(is_it.sum()), int((~is_it).sum())
        if positive and negative:
            auc = float(_ranks(probabilities[:, label])[is_it].sum() - positive * (positive + 1) / 2)
            auc /= positive * negative
            found.append((auc, _auc_variance(auc, positive, negative)))
    if not found:
        return None
    # The curves of several classes are of the same samples: their errors don't cancel.
    return fmean(auc for auc, _ in found), fmean(math.sqrt(variance) for _, variance in found)


def _auc_variance(auc: float, positive: int, negative: int) -> float:
    both_above, both_below = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    more = (positive - 1) * (both_above - auc**2) + (negative - 1) * (both_below - auc**2)
    return max(0.0, (auc * (1 - auc) + more) / (positive * negative))


def _ranks(values: Tensor) -> Tensor:
    """From 1 on; equal values share the mean of theirs."""
    _, place, counts = torch.unique(values, return_inverse=True, return_counts=True)
    shared: Tensor = counts.cumsum(0).double() - (counts - 1) / 2
    return shared[place]


def _calibration_error(confidence: Tensor, right: Tensor) -> float:
    bins = (confidence * BINS).long().clamp(max=BINS - 1)
    off = torch.zeros(BINS, dtype=torch.float64).index_add_(0, bins, confidence - right.double())
    return float(off.abs().sum() / len(confidence))

"""What is measured: counts of training predictions per client, and the invariance profile of a model.

A training measure is made of what clients return, confusion counts and loss sums. The invariance profile is made
from a held-out client and is read by people only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm

from flgames.data.clients import HeldOut
from flgames.data.own.source import Unseen
from flgames.game import Loss


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
    def accuracy(self) -> float:
        return self.correct / self.samples


@dataclass(frozen=True)
class TrainingMeasure:
    """The counts of every training client that answered, on a fixed part of its samples or on all."""

    clients: Mapping[str, Counts]
    sizes: Mapping[str, int]
    """N_k of those clients."""

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
    def standard_error(self) -> float:
        """Of the pooled accuracy, as an estimate for all training samples: 0 when they were all counted."""
        variances = zip(self._shares(), self._variances(), strict=True)
        return math.sqrt(sum(share**2 * variance for (share, _), variance in variances))

    @property
    def worst_error(self) -> float:
        """The largest standard error of one client's accuracy."""
        return math.sqrt(max(self._variances()))

    def _variances(self) -> list[float]:
        variances = []
        for name, counts in self.clients.items():
            # Never judge the spread of a coin from a sample in which it always fell on the same side.
            p = (counts.correct + 1) / (counts.samples + 2)
            variances.append(p * (1 - p) / counts.samples * (1 - counts.samples / self.sizes[name]))
        return variances

    def _shares(self) -> list[tuple[float, Counts]]:
        total = sum(self.sizes[name] for name in self.clients)
        return [(self.sizes[name] / total, counts) for name, counts in self.clients.items()]


def oscillation(accuracies: Sequence[float]) -> float:
    """The mean absolute change from round to round."""
    changes = [abs(after - before) for before, after in itertools.pairwise(accuracies)]
    return sum(changes) / len(changes) if changes else 0.0


@dataclass(frozen=True)
class InvarianceProfile:
    """How a model does on held-out images when the spurious feature agrees with the label and when it conflicts.

    Accuracy at any flip rate p is the straight line ``(1 - p) agree + p conflict``. A shortcut learner is steep; an
    invariant model is flat, at ``ceiling`` at best; a constant one is flat at chance: read mean and flip rate together.

    Examples
    --------
    >>> from flgames import InvarianceProfile
    >>> shortcut = InvarianceProfile(agree=1.0, conflict=0.0, flip_rate=1.0, unseen=0.1, unseen_p=0.9, ceiling=0.75)
    >>> shortcut.mean, shortcut.at(0.25)
    (0.5, 0.75)
    """

    agree: float
    conflict: float
    flip_rate: float
    """The share of predictions that change when only the spurious feature changes."""
    unseen: float
    """Accuracy on the held-out client as it is, with its own flip probability."""
    unseen_p: float
    ceiling: float
    """What a perfect invariant model reaches: label noise leaves no more."""

    @classmethod
    def mean_of(cls, profiles: Sequence[InvarianceProfile]) -> InvarianceProfile:
        """The mean over seeds."""
        names = cls.__dataclass_fields__
        return cls(*(sum(getattr(each, name) for each in profiles) / len(profiles) for name in names))

    @property
    def mean(self) -> float:
        return (self.agree + self.conflict) / 2

    @property
    def worst(self) -> float:
        return min(self.agree, self.conflict)

    @property
    def slope(self) -> float:
        return self.conflict - self.agree

    @property
    def reversed(self) -> bool:
        """Above the ceiling, and better where the spurious feature conflicts: it is used the wrong way round, which is
        not a better model. A model that does not see the feature can be above by chance: labels are drawn."""
        return self.unseen > self.ceiling and self.conflict > self.agree

    def at(self, p: float) -> float:
        """Accuracy on a client whose spurious feature is flipped with probability p."""
        return (1 - p) * self.agree + p * self.conflict

    def as_dict(self) -> dict[str, Any]:
        derived = {"mean": self.mean, "worst": self.worst, "slope": self.slope, "reversed": self.reversed}
        return asdict(self) | derived


@torch.inference_mode()
def confusion_on(model: nn.Module, unseen: Unseen, device: torch.device, chunk: int = 1024) -> Tensor:
    """How a model does on a client that it was not trained on."""
    model = model.to(device).eval()
    total = torch.zeros(0)
    for inputs, targets in unseen.chunks(chunk):
        counts = Counts.of(model(inputs.to(device)), targets.to(device), functional.cross_entropy).confusion
        total = counts if not len(total) else total + counts
    return total


@torch.inference_mode()
def invariance_profile(
    model: nn.Module, held_out: HeldOut, device: torch.device, chunk: int = 2048
) -> InvarianceProfile:
    """Evaluate each held-out image exactly twice, with the spurious feature agreeing and conflicting.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> from flgames import invariance_profile
    >>> from flgames.data.catalogue import by_name
    >>> constant = nn.Sequential(nn.Flatten(), nn.Linear(2 * 8 * 8, 2))
    >>> _ = nn.init.zeros_(constant[1].weight)
    >>> invariance_profile(constant, by_name("colored-digits").held_out_client(0), torch.device("cpu")).flip_rate
    0.0
    """
    model = model.to(device).eval()
    by_batch = any(isinstance(layer, _BatchNorm) and layer.running_mean is None for layer in model.modules())
    agree = conflict = flips = unseen = total = 0
    for inputs_agree, inputs_conflict, labels, agrees in held_out.pairs(chunk):
        labels, agrees = labels.to(device), agrees.to(device)
        when_agree = model(inputs_agree.to(device)).argmax(1)
        when_conflict = model(inputs_conflict.to(device)).argmax(1)
        agree += int((when_agree == labels).sum())
        conflict += int((when_conflict == labels).sum())
        flips += int((when_agree != when_conflict).sum())
        as_it_is = torch.where(agrees, when_agree, when_conflict)
        if by_batch:  # then what is said of an image depends on the others, and the client's own mixture counts
            mixed = torch.where(agrees[:, None, None, None].cpu(), inputs_agree, inputs_conflict)
            as_it_is = model(mixed.to(device)).argmax(1)
        unseen += int((as_it_is == labels).sum())
        total += len(labels)
    return InvarianceProfile(
        agree=agree / total,
        conflict=conflict / total,
        flip_rate=flips / total,
        unseen=unseen / total,
        unseen_p=held_out.flip,
        ceiling=held_out.ceiling,
    )

"""The invariance profile of a model: how it does when the spurious feature agrees with the label, and when not.

It is made from a held-out client and is read by people only.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from pydantic import BaseModel, ConfigDict, computed_field
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from flgames.data.benchmarks.clients import HeldOut

PROFILED = 2048
"""Images a forward pass. A model that normalises by batches sees so many at a time, so it decides what comes out."""

BY_CHANCE = 0.01
"""A difference between agree and conflict that even a model has which does not see the feature."""


class InvarianceProfile(BaseModel):
    """How a model does on held-out images when the spurious feature agrees with the label and when it conflicts.

    Accuracy at any flip rate p is the straight line ``(1 - p) agree + p conflict``. A shortcut learner is steep; an
    invariant model is flat, at ``ceiling`` at best; a constant one is flat at chance: read mean and flip rate together.

    Examples
    --------
    >>> from flgames.evaluation.profile import InvarianceProfile
    >>> shortcut = InvarianceProfile(agree=1.0, conflict=0.0, flip_rate=1.0, unseen=0.1, unseen_p=0.9, ceiling=0.75)
    >>> shortcut.mean, shortcut.at(0.25)
    (0.5, 0.75)
    """

    model_config = ConfigDict(frozen=True)

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
        return cls(**{name: sum(getattr(each, name) for each in profiles) / len(profiles) for name in cls.model_fields})

    @computed_field  # type: ignore[prop-decorator]
    @property
    def mean(self) -> float:
        return (self.agree + self.conflict) / 2

    @computed_field  # type: ignore[prop-decorator]
    @property
    def worst(self) -> float:
        return min(self.agree, self.conflict)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def slope(self) -> float:
        return self.conflict - self.agree

    @computed_field  # type: ignore[prop-decorator]
    @property
    def reversed(self) -> bool:
        """Above the ceiling, and better where the spurious feature conflicts: it is used the wrong way round, which is
        not a better model. A model that does not see the feature can be above by chance: labels are drawn."""
        return self.unseen > self.ceiling and self.slope > BY_CHANCE

    def at(self, p: float) -> float:
        """Accuracy on a client whose spurious feature is flipped with probability p."""
        return (1 - p) * self.agree + p * self.conflict


@torch.inference_mode()
def invariance_profile(
    model: nn.Module, held_out: HeldOut, device: torch.device, chunk: int = PROFILED
) -> InvarianceProfile:
    """Evaluate each held-out image exactly twice, with the spurious feature agreeing and conflicting.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> from flgames.evaluation.profile import invariance_profile
    >>> from flgames.data.benchmarks.registry import by_name
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

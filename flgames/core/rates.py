"""What confusion counts say: ``confusion[y, prediction]``, one client's or the sum of several."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from torch import Tensor


@dataclass(frozen=True)
class Rates:
    """Shares of samples that are predicted right: of all, and class by class.

    With two classes the second one is the positive one: sensitivity is its share that is found, specificity the share
    of the first that is left alone; NaN where there is no such sample. With more, both are means over the classes, each
    against the rest.
    """

    accuracy: float
    balanced_accuracy: float
    sensitivity: float
    specificity: float

    @classmethod
    def of(cls, confusion: Tensor) -> Rates:
        """Classes without a sample don't count."""
        counts = confusion.double()
        total, right, said = counts.sum(1), counts.diagonal(), counts.sum(0)
        there = total > 0
        found = (right / total)[there]
        rest = counts.sum() - total
        left_alone = ((rest - (said - right)) / rest)[rest > 0]
        accuracy = float(right.sum() / counts.sum())
        if len(total) == 2:  # of a class without a sample nobody knows
            return cls(accuracy, float(found.mean()), *(float(share) for share in (right / total).flip(0)))
        return cls(accuracy, float(found.mean()), float(found.mean()), float(left_alone.mean()))

    def as_dict(self) -> dict[str, float]:
        return asdict(self)

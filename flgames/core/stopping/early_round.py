"""The rule for models that only get worse elsewhere by being trained further: the earliest that is as good as any."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from flgames.core.knobs import STOP
from flgames.core.stopping.rule import Standing, StoppingRule, Verdict

if TYPE_CHECKING:
    from flgames.core.counts import TrainingMeasure


class EarlyRound(StoppingRule):
    """Return an early model that no later one has beaten by more than ``early_errors`` standard errors, and stop when
    none has done so for ``early`` rounds.

    Breiman's rule of one standard error: of models between which the samples can't decide, the simplest, which here is
    the one that was trained least. It is meant for samples that were held back. Training further fits the training
    clients ever better and helps nobody else.

    Examples
    --------
    >>> from flgames.core.stopping.early_round import EarlyRound
    >>> print(EarlyRound(early=50))
    keeps a round that beats the one kept before by more than 0.5 standard errors, stops 50 rounds later
    """

    name: ClassVar = "early-round"
    chosen_by: ClassVar = "early"
    chooses_round: ClassVar = True

    early: int = Field(
        ge=1,
        description="A rule for samples that are held back: return the earliest model that no later one beats by more "
        "than chance, and stop when none has for so many rounds. Default for tables of your own: 200.",
        json_schema_extra=STOP,
    )
    early_errors: float = Field(
        default=0.5,
        ge=0,
        description="More than chance is so many standard errors of accuracy.",
        json_schema_extra=STOP,
    )

    def is_unsure(self, round_: int, measure: TrainingMeasure, standing: Standing) -> bool:
        return not measure.exact and round_ >= self.warm_start

    def judge(self, round_: int, measure: TrainingMeasure, standing: Standing) -> Verdict:
        if round_ < self.warm_start:
            return Verdict(stop=False, standing=standing)
        best = standing if isinstance(standing, dict) else None
        if measure.exact and (best is None or measure.accuracy > best["accuracy"] + best["margin"]):
            share = measure.accuracy
            left = measure.samples * measure.effective
            margin = self.early_errors * math.sqrt(share * (1 - share) / left)
            return Verdict(stop=False, keep=True, standing={"round": round_, "accuracy": share, "margin": margin})
        return Verdict(stop=best is not None and round_ - best["round"] >= self.early, standing=standing)

    def __str__(self) -> str:
        return (
            f"keeps a round that beats the one kept before by more than {self.early_errors:g} standard errors, stops "
            f"{self.early} rounds later"
        )

    @property
    def brief(self) -> str:
        return f"stops {self.early} after the best"

    @property
    def reason(self) -> str:
        return f"none was clearly better in the next {self.early}"

"""When a game ends: rules that see training measures only."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flgames.measures import TrainingMeasure
from flgames.rules import Rules

CONFIDENCE = 4.0
"""Standard errors between an estimate and the threshold before the estimate is believed."""


@dataclass(frozen=True)
class StopBelow:
    """Stop when pooled training accuracy falls below ``threshold``, after ``warm_start`` rounds.

    The rule is armed: it fires only after accuracy has been at or above the threshold, so that a model that has
    learnt nothing yet does not end the game. A fall is believed only when it was counted exactly; see
    :meth:`is_unsure`.
    """

    threshold: float
    warm_start: int

    def is_unsure(self, round_: int, measure: TrainingMeasure, armed: bool) -> bool:
        """Whether more samples must be counted before this measure can decide.

        An estimate that is safely on one side of the threshold, or that could change nothing, is enough for the game
        to go on. All others are counted further, to the last sample, so that the game ends in the round in which
        exact counting would end it.
        """
        if measure.exact or (armed and round_ < self.warm_start):
            return False
        margin = CONFIDENCE * measure.standard_error
        below = measure.accuracy < self.threshold + margin
        return below and (armed or measure.accuracy > self.threshold - margin)

    def is_above(self, measure: TrainingMeasure) -> bool:
        return measure.accuracy >= self.threshold

    def stops(self, round_: int, measure: TrainingMeasure, armed: bool) -> bool:
        """Whether the game ends after this round; ``armed``: accuracy was above the threshold in an earlier one."""
        return armed and round_ >= self.warm_start and not self.is_above(measure)

    def __str__(self) -> str:
        return f"stops below {self.threshold:.2f} after {self.warm_start} rounds"


def warm_start_rounds(rules: Rules, samples: dict[str, int]) -> int:
    """The paper's warm start: N rounds with a fixed representation, one epoch of rounds with a variable one."""
    if rules.representation == "fixed":
        return len(samples)
    return max(math.ceil(count / rules.batch_size) for count in samples.values())

"""When a game ends: rules that see training measures only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from flgames.measures import TrainingMeasure
from flgames.rules import Rules

CONFIDENCE = 4.0
"""Standard errors between an estimate and the threshold before the estimate is believed."""

GUARDS = ("spread", "bias")


@dataclass(frozen=True)
class StopBelow:
    """Stop when pooled training accuracy falls below ``threshold``, after ``warm_start`` rounds.

    The rule is armed: it fires only after accuracy has been at or above the threshold, so that a model that has
    learnt nothing yet does not end the game. A fall is believed only when it was counted exactly; see
    :meth:`is_unsure`.

    Two guards, which the paper does not have, tell why accuracy is low. While a shortcut is used, clients differ by
    how well it works for them; where it has cancelled, they don't. And a model that says one label only is not
    invariant but biased.
    """

    threshold: float
    warm_start: int
    spread: float = 1.0
    """The most that the best and the worst client may differ by; 1: anything."""
    bias: float = 1.0
    """The most that predictions may be off the labels' frequencies; 1: anything."""

    def is_unsure(self, round_: int, measure: TrainingMeasure, armed: bool) -> bool:
        """Whether more samples must be counted before this measure can decide.

        An estimate that is safely on one side of the threshold, or that could change nothing, is enough for the game
        to go on. All others are counted further, to the last sample, so that the game ends in the round in which
        exact counting would end it.
        """
        if measure.exact or (armed and (round_ < self.warm_start or self._surely_guarded(measure))):
            return False
        margin = CONFIDENCE * measure.standard_error
        below = measure.accuracy < self.threshold + margin
        return below and (armed or measure.accuracy > self.threshold - margin)

    def is_above(self, measure: TrainingMeasure) -> bool:
        return measure.accuracy >= self.threshold

    def stops(self, round_: int, measure: TrainingMeasure, armed: bool) -> bool:
        """Whether the game ends after this round; ``armed``: accuracy was above the threshold in an earlier one."""
        if not armed or round_ < self.warm_start or self.is_above(measure):
            return False
        return measure.spread <= self.spread and measure.bias <= self.bias

    def _surely_guarded(self, measure: TrainingMeasure) -> bool:
        margin = 2 * CONFIDENCE * measure.worst_error
        return measure.spread - margin > self.spread or measure.bias - margin > self.bias

    def __str__(self) -> str:
        guards = [f"{name} at most {limit:g}" for name in GUARDS if (limit := getattr(self, name)) < 1]
        only = f", {' and '.join(guards)}," if guards else ""
        return f"stops below {self.threshold:.2f}{only} after {self.warm_start} rounds"


def warm_start_rounds(rules: Rules, samples: Mapping[str, int]) -> int:
    """The paper's warm start: N rounds with a fixed representation, one epoch of rounds with a variable one."""
    if rules.representation == "fixed":
        return len(samples)
    return max(math.ceil(count / rules.batch_size) for count in samples.values())

"""When a game ends: rules that see training measures only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from flgames.measures import TrainingMeasure
from flgames.rules import Rules

CONFIDENCE = 4.0
"""Standard errors between an estimate and the threshold before the estimate is believed."""

GUARDS = ("spread", "bias")

SPREAD_PENALTY = 6.0
"""What a point of difference between clients costs, in points of accuracy."""

BIAS_PENALTY = 0.5
"""What a point of predictions that are off the labels' frequencies costs."""


@dataclass(frozen=True)
class Verdict:
    """What a rule says after a round."""

    stop: bool
    keep: bool = False
    """Whether this round's model is the one to return, unless a better one follows."""
    standing: Any = None
    """What the rule must remember until the next round, in plain values."""


class Rule(Protocol):
    """What ends a game, and may choose an earlier round's model. It sees training measures only.

    A rule has no state of its own: ``standing`` is what it said last, None before the first round.
    """

    def is_unsure(self, round_: int, measure: TrainingMeasure, standing: Any) -> bool:
        """Whether more samples must be counted before this measure can decide."""

    def judge(self, round_: int, measure: TrainingMeasure, standing: Any) -> Verdict:
        """Whether the game ends after this round, and whether its model is the best so far."""


@dataclass(frozen=True)
class StopBelow:
    """Stop when pooled training accuracy falls below ``threshold``, after ``warm_start`` rounds.

    The rule is armed: it fires only after accuracy has been at or above the threshold, so that a model that has
    learnt nothing yet does not end the game. A fall is believed only when it was counted exactly; see
    :meth:`is_unsure`.

    Two guards, which the paper does not have, tell why accuracy is low. While a shortcut is used, clients differ by
    how well it works for them; where it has cancelled, they don't. And a model that says one label only is not
    invariant but biased.

    Examples
    --------
    >>> from flgames import StopBelow
    >>> print(StopBelow(0.7, warm_start=2))
    stops below 0.70 after 2 rounds
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

    def judge(self, round_: int, measure: TrainingMeasure, standing: Any) -> Verdict:
        armed = bool(standing)
        return Verdict(self.stops(round_, measure, armed), standing=armed or self.is_above(measure))

    def _surely_guarded(self, measure: TrainingMeasure) -> bool:
        margin = 2 * CONFIDENCE * measure.worst_error
        return measure.spread - margin > self.spread or measure.bias - margin > self.bias

    def __str__(self) -> str:
        guards = [f"{name} at most {limit:g}" for name in GUARDS if (limit := getattr(self, name)) < 1]
        only = f", {' and '.join(guards)}," if guards else ""
        return f"stops below {self.threshold:.2f}{only} after {self.warm_start} rounds"


@dataclass(frozen=True)
class BestRound:
    """Return the model of the best round, and stop when none has been better for ``patience`` rounds.

    Best is the highest score: pooled training accuracy, minus ``spread_penalty`` times the difference between the
    best and the worst client, minus ``bias_penalty`` times the share of predictions that are off the labels'
    frequencies. A model that uses a shortcut is better where the shortcut works better, so clients differ. One that
    has learnt nothing is alike everywhere, so accuracy counts; and so is one that says the same of nearly everything,
    so bias counts. All of it is counted on all training samples. Nobody has to know a threshold, which is why this is
    the rule for own data.

    Examples
    --------
    >>> from flgames import BestRound
    >>> print(BestRound(warm_start=2, patience=50))
    returns the round with the highest accuracy - 6 x spread - 0.5 x bias, stops 50 rounds later
    """

    warm_start: int
    patience: int = 100
    spread_penalty: float = SPREAD_PENALTY
    bias_penalty: float = BIAS_PENALTY

    def score(self, measure: TrainingMeasure) -> float:
        return measure.accuracy - self.spread_penalty * measure.spread - self.bias_penalty * measure.bias

    def is_unsure(self, round_: int, measure: TrainingMeasure, standing: Any) -> bool:
        """An estimate is enough for a round that can't be the best one."""
        if measure.exact or round_ < self.warm_start:
            return False
        spread = max(measure.spread - 2 * CONFIDENCE * measure.worst_error, 0.0)
        at_best = measure.accuracy + CONFIDENCE * measure.standard_error - self.spread_penalty * spread
        return standing is None or at_best > standing["score"]

    def judge(self, round_: int, measure: TrainingMeasure, standing: Any) -> Verdict:
        if round_ < self.warm_start:
            return Verdict(stop=False, standing=standing)
        score = self.score(measure)
        if measure.exact and (standing is None or score > standing["score"]):
            return Verdict(stop=False, keep=True, standing={"round": round_, "score": score})
        return Verdict(stop=standing is not None and round_ - standing["round"] >= self.patience, standing=standing)

    def __str__(self) -> str:
        return (
            f"returns the round with the highest accuracy - {self.spread_penalty:g} x spread - "
            f"{self.bias_penalty:g} x bias, stops {self.patience} rounds later"
        )


def warm_start_rounds(rules: Rules, samples: Mapping[str, int]) -> int:
    """The paper's warm start: N rounds with a fixed representation, one epoch of rounds with a variable one."""
    if rules.representation == "fixed":
        return len(samples)
    return max(math.ceil(count / rules.batch_size) for count in samples.values())

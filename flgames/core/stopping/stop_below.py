"""The paper's rule: a game ends when training accuracy falls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import BeforeValidator, Field

from flgames.core.knobs import STOP
from flgames.core.stopping.rule import CONFIDENCE, Standing, StoppingRule, Verdict

if TYPE_CHECKING:
    from flgames.core.counts import TrainingMeasure


def _check(value: object) -> object:
    try:
        number = float(value) if isinstance(value, int | float | str) else None
    except (ValueError, OverflowError):
        number = None
    if number is None or not 0 < number < 1:
        raise ValueError("is a training accuracy between 0 and 1, or never")
    return number


class StopBelow(StoppingRule):
    """Stop when pooled training accuracy falls below ``stop_below``, after ``warm_start`` rounds.

    The rule is armed: it fires only after accuracy has been at or above the threshold, so that a model that has
    learnt nothing yet does not end the game. A fall is believed only when it was counted exactly; see
    :meth:`is_unsure`.

    Two guards, which the paper does not have, tell why accuracy is low. While a shortcut is used, clients differ by
    how well it works for them; where it has cancelled, they don't. And a model that says one label only is not
    invariant but biased.

    Examples
    --------
    >>> from flgames.core.stopping.stop_below import StopBelow
    >>> print(StopBelow(stop_below=0.7, warm_start=2))
    stops below 0.70 after 2 rounds
    """

    name: ClassVar = "stop-below"
    chosen_by: ClassVar = "stop_below"

    stop_below: Annotated[float, BeforeValidator(_check)] = Field(
        description="Stop when training accuracy has been above this and falls below it, or never. Default: the "
        "preset of benchmark and variant.",
        json_schema_extra=STOP,
    )
    stop_spread: float = Field(
        default=1.0,
        ge=0,
        le=1,
        description="A guard that the paper does not have: stop only while the best and the worst client differ by "
        "at most this much, for example 0.01. While a shortcut is used they differ. Default: 1, no guard.",
        json_schema_extra=STOP,
    )
    stop_bias: float = Field(
        default=1.0,
        ge=0,
        le=1,
        description="The other guard: stop only while labels are said nearly as often as they occur, for example "
        "0.1. Default: 1, no guard.",
        json_schema_extra=STOP,
    )

    def is_unsure(self, round_: int, measure: TrainingMeasure, standing: Standing) -> bool:
        """Whether more samples must be counted before this measure can decide.

        An estimate that is safely on one side of the threshold, or that could change nothing, is enough for the game
        to go on. All others are counted further, to the last sample, so that the game ends in the round in which
        exact counting would end it.
        """
        armed = bool(standing)
        if measure.exact or (armed and (round_ < self.warm_start or self._surely_guarded(measure))):
            return False
        margin = CONFIDENCE * measure.standard_error
        below = measure.accuracy < self.stop_below + margin
        return below and (armed or measure.accuracy > self.stop_below - margin)

    def is_above(self, measure: TrainingMeasure) -> bool:
        return measure.accuracy >= self.stop_below

    def stops(self, round_: int, measure: TrainingMeasure, armed: bool) -> bool:
        """Whether the game ends after this round; ``armed``: accuracy was above the threshold in an earlier one."""
        if not armed or round_ < self.warm_start or self.is_above(measure):
            return False
        return measure.spread <= self.stop_spread and measure.bias <= self.stop_bias

    def judge(self, round_: int, measure: TrainingMeasure, standing: Standing) -> Verdict:
        armed = bool(standing)
        return Verdict(self.stops(round_, measure, armed), standing=armed or self.is_above(measure))

    def _surely_guarded(self, measure: TrainingMeasure) -> bool:
        differs = measure.spread - measure.spread_margin(CONFIDENCE) > self.stop_spread
        return differs or measure.bias - measure.bias_margin(CONFIDENCE) > self.stop_bias

    def __str__(self) -> str:
        guards = {"spread": self.stop_spread, "bias": self.stop_bias}
        said = [f"{name} at most {limit:g}" for name, limit in guards.items() if limit < 1]
        only = f", {' and '.join(said)}," if said else ""
        return f"stops below {self.stop_below:.2f}{only} after {self.warm_start} rounds"

    @property
    def brief(self) -> str:
        return f"stops below {self.stop_below:.2f}"

    @property
    def reason(self) -> str:
        return f"train < {self.stop_below:.2f}"

    @property
    def level(self) -> float:
        return self.stop_below

"""The rule for those who know no threshold: the model of the best round is returned."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from flgames.core.knobs import STOP
from flgames.core.stopping.rule import CONFIDENCE, Standing, StoppingRule, Verdict

if TYPE_CHECKING:
    from flgames.core.counts import TrainingMeasure


class BestRound(StoppingRule):
    """Return the model of the best round, and stop when none has been better for ``patience`` rounds.

    Best is the highest score: pooled training accuracy, minus ``spread_penalty`` times the difference between the
    best and the worst client, minus ``bias_penalty`` times the share of predictions that are off the labels'
    frequencies. A model that uses a shortcut is better where the shortcut works better, so clients differ. One that
    has learnt nothing is alike everywhere, so accuracy counts; and so is one that says the same of nearly everything,
    so bias counts. All of it is counted on all training samples. Nobody has to know a threshold, which is why this is
    the rule for own data.

    Examples
    --------
    >>> from flgames.core.stopping.best_round import BestRound
    >>> print(BestRound(patience=50))
    returns the round with the highest accuracy - 6 x spread - 0.5 x bias, stops 50 rounds later
    """

    name: ClassVar = "best-round"
    chosen_by: ClassVar = "patience"
    chooses_round: ClassVar = True

    patience: int = Field(
        ge=1,
        description="Another rule, for those who know no threshold: return the model of the round with the highest "
        "score, and stop when no round has been better for so many. Default for images of your own: 100.",
        json_schema_extra=STOP,
    )
    spread_penalty: float = Field(
        default=6.0,
        ge=0,
        description="That score is training accuracy minus this many times the difference between the best and the "
        "worst client: while a shortcut is used they differ.",
        json_schema_extra=STOP,
    )
    bias_penalty: float = Field(
        default=0.5,
        ge=0,
        description="And minus this many times the share of predictions that are off the labels' frequencies: one "
        "that says the same of everything differs nowhere.",
        json_schema_extra=STOP,
    )

    score_by: Literal["pooled", "median"] = Field(
        default="pooled",
        description="How clients make up that score: pooled, by their samples (default); median, where one may lie: "
        "accuracy and bias of the client in the middle, and the difference without the best and the worst one.",
        json_schema_extra=STOP,
    )

    def score(self, measure: TrainingMeasure) -> float:
        if self.score_by == "median":
            off = self.spread_penalty * measure.inner_spread + self.bias_penalty * measure.median_bias
            return measure.median_accuracy - off
        return measure.accuracy - self.spread_penalty * measure.spread - self.bias_penalty * measure.bias

    def is_unsure(self, round_: int, measure: TrainingMeasure, standing: Standing) -> bool:
        """An estimate is enough for a round that can't be the best one."""
        if measure.exact or round_ < self.warm_start:
            return False
        if self.score_by == "median":
            return True
        return not isinstance(standing, dict) or self._at_best(measure) > standing["score"]

    def _at_best(self, measure: TrainingMeasure) -> float:
        """The pooled score that all samples might have, by those that were counted."""
        spread = max(measure.spread - measure.spread_margin(CONFIDENCE), 0.0)
        bias = max(measure.bias - measure.bias_margin(CONFIDENCE), 0.0)
        accuracy = measure.accuracy + CONFIDENCE * measure.standard_error
        return accuracy - self.spread_penalty * spread - self.bias_penalty * bias

    def judge(self, round_: int, measure: TrainingMeasure, standing: Standing) -> Verdict:
        if round_ < self.warm_start:
            return Verdict(stop=False, standing=standing)
        score = self.score(measure)
        best = standing if isinstance(standing, dict) else None
        if measure.exact and (best is None or score > best["score"]):
            return Verdict(stop=False, keep=True, standing={"round": round_, "score": score})
        return Verdict(stop=best is not None and round_ - best["round"] >= self.patience, standing=standing)

    def can_choose(self, there: int, clients: int) -> bool:
        """The client in the middle of most of them is in the middle of all, but for its neighbours. A pooled score
        needs all: without the worst client every round looks better."""
        return 2 * there > clients if self.score_by == "median" else there == clients

    def restated(self, standing: Standing, measure: TrainingMeasure) -> Standing:
        if self.score_by != "median" or not isinstance(standing, dict) or not measure.clients:
            return standing
        return standing | {"score": self.score(measure)}

    def __str__(self) -> str:
        return f"returns the round with the highest {self.formula}, stops {self.patience} rounds later"

    @property
    def formula(self) -> str:
        """What the score is, in a phrase."""
        middle = ", of the clients in the middle" * (self.score_by == "median")
        return f"accuracy - {self.spread_penalty:g} x spread - {self.bias_penalty:g} x bias{middle}"

    @property
    def brief(self) -> str:
        return f"stops {self.patience} after the best"

    @property
    def reason(self) -> str:
        return f"none was better in the next {self.patience}"

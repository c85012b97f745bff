"""What is written down of a game: a line a round, and how it ended. Files, callbacks and reports have these types."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, computed_field

from flgames.core.figures import Figures

End = Literal["rule", "rounds", "interrupted"]

Kind = Literal["phi", "predictors", "model"]
"""What moved in a round."""


class Decision(BaseModel):
    """What a rule looked at: an accuracy, and how many samples it was counted on."""

    model_config = ConfigDict(frozen=True)

    accuracy: float
    samples: int


class Traffic(BaseModel):
    """Bytes between the server and one client."""

    model_config = ConfigDict(frozen=True)

    down: int
    up: int


class RoundRecord(BaseModel):
    """All that is known of one round. Clients that did not answer are missing in what is told by client."""

    model_config = ConfigDict(frozen=True)

    round: int
    """Counted from 0."""
    kind: Kind
    moved: tuple[str, ...]
    loss_of_move: dict[str, float]
    """Of every client that moved, on what it moved by."""
    accuracy: float
    """Pooled over training clients."""
    spread: float
    """Between the best and the worst client."""
    accuracy_of: dict[str, float]
    loss_of: dict[str, float]
    samples: int
    """That these were counted on."""
    decided_by: Decision
    bytes: dict[str, Traffic]
    failures: dict[str, str]
    """Who failed, and why."""
    seconds: float
    """Since the game began."""


class Contested(BaseModel):
    """A column whose effect differs between the clients' own models."""

    model_config = ConfigDict(frozen=True)

    column: int
    heterogeneity: float
    """Cochran's Q divided by its degrees of freedom: about 1 where only chance differs."""
    p: float
    """Corrected for the number of columns."""


class Differs(BaseModel):
    """Whether clients differ in what the players' disagreement tells of the label."""

    model_config = ConfigDict(frozen=True)

    statistic: float
    """G squared, of the cut between clients that differ most."""
    freedom: int
    p: float
    """Corrected for the number of cuts that were looked at."""


class Finding(BaseModel):
    """What the clients disagree about, and what follows from it.

    Linear players compare the clients' own models, column by column; all others let the players of a game disagree.

    Examples
    --------
    >>> from flgames.core.records import Contested, Finding
    >>> ward = Contested(column=2, heterogeneity=45.0, p=1e-9)
    >>> Finding(contested=(ward,), reliance=0.8, settled=True).contested[0].column
    2
    """

    model_config = ConfigDict(frozen=True)

    contested: tuple[Contested, ...] = ()
    """Columns about which they differ by more than chance, the strongest first."""
    reliance: float | None = None
    """The share of what the clients' own models say that lies in the direction in which they differ most."""
    settled: bool
    """Whether samples are weighted so that this direction tells nothing."""
    effective: dict[str, float] = {}
    """The share of its samples that is left to each client, as weights count them."""
    judged: dict[str, float] = {}
    """The same of the samples that a client is judged by."""
    differs: Differs | None = None
    """Of a game's players: whether clients differ in what their disagreement tells."""
    players: dict[str, float] = {}
    """The direction in which players are furthest apart."""
    told: dict[str, float] = {}
    """How often their disagreement alone is right about the label, at each client, on samples that it is judged by."""
    left: dict[str, float] = {}
    """The same where samples count by weights."""


class Balanced(BaseModel):
    """What players count for so that the model is as good at one client as at another."""

    model_config = ConfigDict(frozen=True)

    weights: dict[str, float]
    bias: tuple[float, ...]
    """Added to the logits, class by class."""
    risks: dict[str, float]
    """The mean loss at each client."""
    gap: float
    """Between the largest and the smallest of them."""
    gap_before: float
    """The same of the players' best ensemble without that condition."""
    error: float
    """The standard error of such a gap, with as many samples as there are."""
    exchanges: int
    """How often clients were asked for it."""


class GameResult(BaseModel):
    """How a game ended, and how the model that it returns does on the training clients."""

    model_config = ConfigDict(frozen=True)

    end: End
    rule: str | None = None
    """What the rule does, in its own words; None: there was none."""
    stopped_by: str | None = None
    """Why the rule ended the game, if it did."""
    rounds: int
    chosen_round: int
    """The round whose model is returned, counted from 0 as ``RoundRecord.round`` is; ``chosen`` counts from 1."""
    train: float
    """Accuracy, pooled over training clients: on samples that were held back, or else on all that they train on."""
    train_of: dict[str, float]
    confusion_of: dict[str, list[list[int]]]
    """``[label][prediction]`` by client."""
    stop_below: float | None = None
    """The training accuracy that the rule watches, if it watches one."""
    bytes_down: int = 0
    bytes_up: int = 0
    seconds: float = 0.0
    temperature: float = 1.0
    """What logits are divided by for probabilities to be honest; 1 where no samples were held back."""
    held_back: dict[str, Figures] = {}
    """Of training clients, on samples that were held back; none where none were."""
    finding: Finding | None = None
    """What the sites disagree about, if that was looked for."""
    balanced: Balanced | None = None
    """What players count for, where it is not the same for all."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def chosen(self) -> str:
        """The round whose model is returned, in the words of what is printed, where the first round is 1."""
        return f"round {self.chosen_round + 1} of {self.rounds}, counted from 1"

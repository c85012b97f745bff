"""What is written down of a game: a line a round, and how it ended. Files, callbacks and reports have these types."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

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
    """The round whose model is returned, counted from 0."""
    train: float
    """Accuracy, pooled over training clients, on all of their samples."""
    train_of: dict[str, float]
    confusion_of: dict[str, list[list[int]]]
    """``[label][prediction]`` by client."""
    stop_below: float | None = None
    """The training accuracy that the rule watches, if it watches one."""
    bytes_down: int = 0
    bytes_up: int = 0
    seconds: float = 0.0

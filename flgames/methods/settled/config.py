"""The knobs of a settled game. Nothing here needs torch."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from flgames.core.knobs import SETTLING
from flgames.methods.fl_games.config import FLGamesConfig, Settle

FoundBy = Literal["game", "local"]
TrainBy = Literal["fedavg", "fedsgd"]


class Training(BaseModel):
    """What follows a game that is settled: when it ends, and how a network is trained on weighted samples."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    settle_after: int = Field(
        default=100,
        ge=1,
        description="Rounds of the game, before what its players disagree about is weighted away; the rounds after it "
        "train the network.",
        json_schema_extra=SETTLING,
    )
    found_by: FoundBy = Field(
        default="game",
        description="Who names the shortcut: game, players that answer each other (default); local, the same networks, "
        "each trained alone: the control that shows what the game adds.",
        json_schema_extra=SETTLING,
    )
    train_by: TrainBy = Field(
        default="fedavg",
        description="How the network is trained on weighted samples: fedavg (default) or fedsgd.",
        json_schema_extra=SETTLING,
    )
    train_steps: int = Field(
        default=10,
        ge=1,
        description="Gradient steps that a client takes in a round of fedavg; fedsgd takes one.",
        json_schema_extra=SETTLING,
    )
    train_rate: float = Field(
        default=1e-3, gt=0, description="The learning rate of that training.", json_schema_extra=SETTLING
    )


class SettledConfig(Training, FLGamesConfig):
    """How a game is played, settled and trained on.

    Examples
    --------
    >>> from flgames.methods.settled.config import SettledConfig
    >>> SettledConfig(memory=5, settle_after=100).settle
    'auto'
    """

    settle: Settle = "auto"
    """auto: samples are weighted where the clients differ by more than chance; always; never: plain training."""

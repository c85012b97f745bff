"""The configuration of a game: every knob of FL Games, declared once. Nothing here needs torch."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from flgames.core.knobs import GAME, LATER, PHI, RESPONSE, SETTLING, LocalSteps, MergedBy, OptimiserName, Share

Representation = Literal["fixed", "variable"]
Schedule = Literal["clockwise", "simultaneous", "random"]
MemoryMode = Literal["history", "paper", "normalised"]
EnsembleKind = Literal["uniform", "balanced"]


def _check_phi_every(value: object) -> object:
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    if number != "sweep" and not (type(number) is int and number >= 1):
        raise ValueError("takes a number of predictor rounds from 1 on, or sweep")
    return number


def _check_settle(value: object) -> object:
    """In Python settling is also simply on or off."""
    return {True: "auto", False: "never"}[value] if isinstance(value, bool) else value


Settle = Annotated[Literal["never", "auto", "always"], BeforeValidator(_check_settle)]
"""Whether samples are weighted: never, where clients differ by more than chance, or always."""

PhiEvery = Annotated[int | Literal["sweep"], BeforeValidator(_check_phi_every)]
"""Predictor rounds between two moves of phi, or "sweep": until all players have moved."""


class FLGamesConfig(BaseModel):
    """How a game is played. The defaults are the paper's for Colored MNIST, in simultaneous play without memory.

    Examples
    --------
    >>> from flgames.methods.fl_games.config import FLGamesConfig
    >>> smooth_and_fast = FLGamesConfig(representation="variable", memory=5, phi_batches="all")
    >>> smooth_and_fast.schedule
    'simultaneous'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    representation: Representation = Field(
        default="fixed", description="fixed or variable. Default: as the variant says.", json_schema_extra=PHI
    )
    schedule: Schedule = Field(
        default="simultaneous",
        description="Best response dynamics: clockwise, one player at a time in a fixed order (the paper's "
        "sequential); simultaneous, all players at once against the round before (the paper's parallel, default); "
        "random, one player drawn at a time.",
        json_schema_extra=GAME,
    )
    participation: float = Field(
        default=1.0,
        gt=0,
        le=1,
        description="Fraction of players that move in a simultaneous round; the others keep their last action.",
        json_schema_extra=GAME,
    )
    memory: int = Field(
        default=0,
        ge=0,
        description="Size of the buffer of each opponent's played actions, first in first out; 0 answers to current "
        "actions only. Smooth means 5. Default: as the variant says.",
        json_schema_extra=GAME,
    )
    memory_mode: MemoryMode = Field(
        default="history",
        description="How memory enters the loss: history, the mean of each opponent's buffer in its place "
        "(default); paper, as printed, on top of the current action; normalised, as printed and divided by its "
        "weights.",
        json_schema_extra=GAME,
    )
    opponents: int = Field(
        default=0,
        ge=0,
        description="Not in the paper, for many players that are not linear: how many opponents a player answers to, "
        "drawn anew for every move, each in the place of several. Cheaper, and where it was tried the shortcut no "
        "longer cancelled (docs/speed.md). 0: all (default).",
        json_schema_extra=GAME | LATER,
    )
    ensemble: EnsembleKind = Field(
        default="uniform",
        description="What players count for in the end: uniform, the paper's mean (default); balanced, which is not in "
        "the paper, so much that the ensemble is equally good at all training clients, whatever round ended the game.",
        json_schema_extra=GAME | LATER,
    )
    player_clip: float = Field(
        default=0.0,
        ge=0,
        description="Not in the paper, where a client may lie: how many times as far from its initial action as the "
        "player in the middle is from its own a player may go. 0: any number of times (default).",
        json_schema_extra=GAME | LATER,
    )
    settle: Settle = Field(
        default="never",
        description="Not in the paper: weight samples so that what the clients disagree about tells nothing. Linear "
        "players are compared before the game, and it is played on weighted samples; other players disagree in a game, "
        "after which a network is trained on weighted samples. auto: only where clients differ by more than chance "
        "(default for data of your own, and what the bare option means); always; never.",
        json_schema_extra=SETTLING | LATER | {"bare": "auto"},
    )
    local_steps: LocalSteps = Field(
        default=1,
        description="Gradient steps a move: a number, a percentage of the client's batches, all, or a range such as "
        "1-10 from which every client draws its own number once. More steps come nearer to an exact best response.",
        json_schema_extra=RESPONSE,
    )
    batched: bool = Field(
        default=False,
        description="Compute what clients in one process do as one operation: the moves of linear players, and what is "
        "counted of all. Many clients are several times as fast, and the weights are the same but for rounding. "
        "Default: one by one, as across machines.",
        json_schema_extra=RESPONSE | LATER | {"otherwise": "one-by-one"},
    )
    look_up: bool = Field(
        default=False,
        description="Evaluate an opponent's action once on all of a client's samples, and look up what it says of a "
        "batch: less work where clients have few samples and players are not linear. The weights are the same but for "
        "rounding. Default: evaluate it on every batch.",
        json_schema_extra=RESPONSE | LATER | {"otherwise": "evaluate"},
    )
    full_batch: bool = Field(
        default=False,
        description="Take each step on all of the client's samples: gradient descent. Default: mini-batch.",
        json_schema_extra=RESPONSE | {"otherwise": "mini-batch"},
    )
    phi_batches: Share = Field(
        default=1,
        description="Batches in a client's gradient of phi: a number, a percentage, or all. Default: as the variant "
        "says.",
        json_schema_extra=PHI,
    )
    phi_every: PhiEvery = Field(
        default=1,
        description="Predictor rounds between two moves of phi: a number, or sweep, once all players have moved, as "
        "IRM Games does.",
        json_schema_extra=PHI,
    )
    batch_size: int = Field(default=256, ge=1, description="Samples a mini-batch.", json_schema_extra=RESPONSE)
    learning_rate: float = Field(
        default=2.5e-4,
        gt=0,
        description="Of the players' optimiser. Default: the paper's for the benchmark; for real data 0.01 if players "
        "are linear, else 0.003; 0.001 where a game is settled.",
        json_schema_extra=RESPONSE,
    )
    phi_learning_rate: float = Field(
        default=2.5e-5,
        gt=0,
        description="Of the server's optimiser. Default: the paper's for the benchmark.",
        json_schema_extra=PHI,
    )
    optimiser: OptimiserName = Field(
        default="adam",
        description="adam, kept by the client across rounds (default), or sgd.",
        json_schema_extra=RESPONSE,
    )
    phi_optimiser: OptimiserName = Field(
        default="adam", description="adam (default) or sgd, plain FedSGD.", json_schema_extra=PHI
    )
    phi_merged_by: MergedBy = Field(
        default="mean",
        description="What the server makes of the clients' gradients of phi: mean (default), or, where a client may "
        "lie, median or trimmed, coordinate by coordinate, every client alike.",
        json_schema_extra=PHI | LATER,
    )
    phi_clip: float = Field(
        default=0.0,
        ge=0,
        description="How many times the median of the clients' norms a gradient of phi may have. 0: any number of "
        "times (default).",
        json_schema_extra=PHI | LATER,
    )

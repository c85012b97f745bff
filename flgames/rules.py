"""The rules of a game: every knob of FL Games in one typed, frozen place."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal

import torch
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from flgames.memory import MemoryMode
from flgames.seeds import generator

Schedule = Literal["clockwise", "simultaneous", "random"]
OptimiserName = Literal["adam", "sgd"]


def _check_share(value: int | str) -> int | str:
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    if isinstance(value, int):
        if value < 1:
            raise ValueError("must be at least 1")
        return value
    match = re.fullmatch(r"(\d+(?:\.\d+)?)%", value)
    if value != "all" and not (match and 0 < float(match[1]) <= 100):
        raise ValueError("takes a number of batches, a percentage such as 10%, or all")
    return "all" if match and float(match[1]) == 100 else value


Share = Annotated[int | str, AfterValidator(_check_share)]
"""How many mini-batches: a number, a percentage of a client's batches ("10%"), or "all"."""


STEP_RANGE = re.compile(r"(\d+)-(\d+)")


def _check_steps(value: int | str) -> int | str:
    match = STEP_RANGE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return _check_share(value)
    if not 1 <= int(match[1]) < int(match[2]):
        raise ValueError("takes a range such as 1-10, from few steps to more")
    return value


LocalSteps = Annotated[int | str, AfterValidator(_check_steps)]
"""A :data:`Share`, or a range such as "1-10": every client has its own number of steps, drawn once: slow and fast
devices."""


def _check_phi_every(value: object) -> object:
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    if number != "sweep" and not (type(number) is int and number >= 1):
        raise ValueError("takes a number of predictor rounds from 1 on, or sweep")
    return number


PhiEvery = Annotated[int | Literal["sweep"], BeforeValidator(_check_phi_every)]
"""Predictor rounds between two moves of phi, or "sweep": until all players have moved."""


def batches_in(share: int | str, samples: int, batch_size: int) -> int:
    """How many mini-batches a :data:`Share` means for a client with so many samples."""
    if isinstance(share, int):
        return share
    every = math.ceil(samples / batch_size)
    return every if share == "all" else max(1, round(every * float(share[:-1]) / 100))


class Rules(BaseModel):
    """How a game is played. The defaults are the paper's for Colored MNIST, in simultaneous play without memory.

    Examples
    --------
    >>> from flgames import Rules
    >>> smooth_and_fast = Rules(representation="variable", memory=5, phi_batches="all")
    >>> smooth_and_fast.schedule
    'simultaneous'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    representation: Literal["fixed", "variable"] = "fixed"
    schedule: Schedule = "simultaneous"
    participation: float = Field(default=1.0, gt=0, le=1)
    memory: int = Field(default=0, ge=0)
    memory_mode: MemoryMode = "history"
    local_steps: LocalSteps = 1
    full_batch: bool = False
    phi_batches: Share = 1
    phi_every: PhiEvery = 1
    batch_size: int = Field(default=256, ge=1)
    learning_rate: float = Field(default=2.5e-4, gt=0)
    phi_learning_rate: float = Field(default=2.5e-5, gt=0)
    optimiser: OptimiserName = "adam"
    phi_optimiser: OptimiserName = "adam"


def steps_of(steps: int | str, samples: int, batch_size: int, seed: int, client: str) -> int:
    """How many steps a client takes a move."""
    match = STEP_RANGE.fullmatch(steps) if isinstance(steps, str) else None
    if match is None:
        return batches_in(steps, samples, batch_size)
    return int(generator(seed, "local steps", client).integers(int(match[1]), int(match[2]), endpoint=True))


def make_optimiser(name: OptimiserName, parameters: Any, learning_rate: float) -> torch.optim.Optimizer:
    """Adam in its fused form, or plain gradient descent."""
    if name == "adam":
        return torch.optim.Adam(parameters, lr=learning_rate, fused=True)
    return torch.optim.SGD(parameters, lr=learning_rate)

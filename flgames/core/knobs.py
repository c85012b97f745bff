"""Values that knobs of several methods take, and the panels of the help that knobs stand in.

A knob is one pydantic field: type, default, range, help text and panel. The command line, configuration files, Flower's
run configuration and the estimator are made from these fields. Nothing here needs torch.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator
from pydantic.config import JsonDict

Plain = bool | int | float | str | None
"""A knob's value where it is written down."""

GAME: JsonDict = {"panel": "The game"}
RESPONSE: JsonDict = {"panel": "A player's response"}
PHI: JsonDict = {"panel": "The representation phi"}
SETTLING: JsonDict = {"panel": "Settling, which is not in the paper"}
STOP: JsonDict = {"panel": "When it ends"}

LATER: JsonDict = {"later": True}
"""Of a knob that came after the first results: where it is as it is by default, keys don't mention it."""

MergedBy = Literal["mean", "median", "trimmed"]
"""What a server makes of what its clients send."""

OptimiserName = Literal["adam", "sgd"]

STEP_RANGE = re.compile(r"(\d+)-(\d+)")


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


def _check_steps(value: int | str) -> int | str:
    match = STEP_RANGE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return _check_share(value)
    if not 1 <= int(match[1]) < int(match[2]):
        raise ValueError("takes a range such as 1-10, from few steps to more")
    return value


Share = Annotated[int | str, AfterValidator(_check_share)]
"""How many mini-batches: a number, a percentage of a client's batches ("10%"), or "all"."""

LocalSteps = Annotated[int | str, AfterValidator(_check_steps)]
"""A :data:`Share`, or a range such as "1-10": every client has its own number of steps, drawn once: slow and fast
devices."""

"""Which benchmark, and what can be changed in it. Every option is declared here once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.config import JsonDict

from flgames.data.benchmarks.registry import NAMES
from flgames.data.benchmarks.variables import FOLDER_VARIABLE

Pixels = Literal["grey", "binary"]
SpriteSource = Literal["rendered", "published"]

FLIPS = {"5-uneven": (0.3, 0.2, 0.19, 0.12, 0.1)}
"""Vectors with a name: Choe et al.'s five clients, whose flip probabilities are not evenly spaced."""

WHAT: JsonDict = {"panel": "What is played"}
DATA: JsonDict = {"panel": "The clients' data"}
"""Where an option stands in the help."""


def _vector(number: Callable[[str], float], what: str) -> Callable[[object], object]:
    def parse(value: object) -> object:
        if not isinstance(value, str):
            return value
        if value in FLIPS and number is float:
            return FLIPS[value]
        try:
            return tuple(number(part) for part in value.split(","))
        except ValueError:
            raise ValueError(f"takes {what}") from None

    return parse


Probability = Annotated[float, Field(ge=0, le=1)]
Flips = Annotated[
    tuple[Probability, ...],
    BeforeValidator(_vector(float, f"probabilities such as 0.3,0.2,0.1, or {', '.join(FLIPS)}")),
    Field(min_length=2),
]
Sizes = Annotated[
    tuple[Annotated[int, Field(ge=1)], ...],
    BeforeValidator(_vector(int, "numbers of samples such as 5000,1000")),
]


class BenchmarkOptions(BaseModel):
    """A benchmark and the options that change its clients."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    benchmark: str = Field(
        default="colored-digits",
        description=f"One of: {', '.join(NAMES)}. Default: colored-digits, which is embedded.",
        json_schema_extra=WHAT,
    )
    clients: int | None = Field(
        default=None,
        ge=2,
        description="So many training clients, with flip probabilities evenly from 0.3 to 0.1. Default: the "
        "benchmark's two, 0.2 and 0.1.",
        json_schema_extra=DATA,
    )
    flips: Flips | None = Field(
        default=None,
        description=f"The flip probability of every training client, for example 0.3,0.2,0.1, or {', '.join(FLIPS)}: "
        f"{','.join(map(str, FLIPS['5-uneven']))}.",
        json_schema_extra=DATA,
    )
    sizes: Sizes | None = Field(
        default=None,
        description="Samples of every training client, for example 20000,5000. Default: all images, dealt evenly.",
        json_schema_extra=DATA,
    )
    classes: Literal[2, 5, 10] = Field(
        default=2,
        description="2, 5 or 10 classes, one colour channel each; for Colored MNIST, Fashion MNIST and Digits.",
        json_schema_extra=DATA,
    )
    pixels: Pixels = Field(
        default="grey",
        description="grey keeps grey levels; binary makes every pixel black or white, as IRM Games does.",
        json_schema_extra=DATA,
    )
    side: int | None = Field(
        default=None,
        description="Pixels a side; 14 halves Colored MNIST and Fashion MNIST, as Arjovsky et al. do.",
        json_schema_extra=DATA,
    )
    sprites: SpriteSource = Field(
        default="rendered",
        description=f"rendered draws dSprites here; published reads its npz file from the folder {FOLDER_VARIABLE}.",
        json_schema_extra=DATA,
    )

"""Which benchmark, and what can be changed in it. Every option is declared here once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.config import JsonDict

from flgames.data.benchmarks.registry import NAMES, benchmark

Pixels = Literal["grey", "binary"]
SpriteSource = Literal["rendered", "published"]

SPRITES_OF = "colored-dsprites"
"""The one benchmark that has sprites."""

RENDERED: SpriteSource = "rendered"
"""What plans of an earlier version say of every benchmark: so those without sprites don't refuse it."""

DRAWN = 3
"""Training sites that a draw has, if nobody says otherwise."""

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


def _names(value: object) -> object:
    if not isinstance(value, str):
        return value
    names = tuple(part.strip() for part in value.split(","))
    if not all(names):
        raise ValueError("takes names of sites such as CA,TX,FL")
    return names


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
TrainingSites = Annotated[tuple[str, ...], BeforeValidator(_names), Field(min_length=2)]


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
        default="published",
        description="published is the file of dSprites; rendered draws its squares and ellipses here.",
        json_schema_extra=DATA,
    )
    train: TrainingSites | None = Field(
        default=None,
        description="The sites that train, for example CA,TX,FL; all others are unseen. For benchmarks of real sites; "
        "of data of your own others are left out, or held out by --holdout rest.",
        json_schema_extra=DATA,
    )
    draw: int | None = Field(
        default=None,
        ge=0,
        description="Draw the sites that train at random, with this seed. For benchmarks of real sites.",
        json_schema_extra=DATA,
    )
    states: int | None = Field(
        default=None,
        ge=2,
        description=f"Training sites a draw has. Default: {DRAWN}.",
        json_schema_extra=DATA,
    )

    def decides(self) -> dict[str, object]:
        """What decides the data, as keys are made of it.

        Defaults are left out, and the words are those of the first keys. These knew rendered sprites only, and did
        not mention them. Sites have the names of their benchmark, however they were spelled.
        """
        written = self.model_dump(mode="json", exclude_defaults=True, exclude={"sprites"})
        if self.benchmark == SPRITES_OF and self.sprites != RENDERED:
            written["sprites"] = self.sprites
        if self.train is not None:
            players, usual = benchmark(self).players, benchmark(self.model_copy(update={"train": None})).players
            written["train"] = list(players)
            if players == usual:
                del written["train"]
        if self.states == DRAWN:
            del written["states"]
        return written

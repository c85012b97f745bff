"""The benchmarks by name, and their options. docs/decisions.md, 11 to 16, says why they are as they are."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from flgames.data.benchmark import Benchmark
from flgames.data.digits import WHITE, digits
from flgames.data.published import CIFAR10, FASHION_MNIST, MNIST, own_folder
from flgames.data.sprites import TEST, TRAIN, PublishedSprites, RenderedSprites, sprites
from flgames.data.spurious import Colour, Patch
from flgames.errors import UserError, unknown

Pixels = Literal["grey", "binary"]
SpriteSource = Literal["rendered", "published"]

FLIPS = {"5-uneven": (0.3, 0.2, 0.19, 0.12, 0.1)}
"""Vectors with a name: Choe et al.'s five clients, whose flip probabilities are not evenly spaced."""


def _vector(number: Callable[[str], Any], what: str) -> Callable[[object], object]:
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

    benchmark: str = "colored-digits"
    clients: int | None = Field(default=None, ge=2)
    flips: Flips | None = None
    sizes: Sizes | None = None
    classes: Literal[2, 5, 10] = 2
    pixels: Pixels = "grey"
    side: int | None = None
    sprites: SpriteSource = "rendered"


def benchmark(options: BenchmarkOptions) -> Benchmark:
    """The benchmark that these options ask for, or one sentence that says what can't be had."""
    if options.benchmark not in CATALOGUE:
        raise unknown("benchmark", options.benchmark, CATALOGUE)
    return CATALOGUE[options.benchmark](options)


def by_name(name: str, **options: Any) -> Benchmark:
    """For example ``by_name("colored-mnist", classes=10)``."""
    return benchmark(BenchmarkOptions(benchmark=name, **options))


def _colored_mnist(options: BenchmarkOptions) -> Benchmark:
    _refuse(options, "sprites")
    return Benchmark(
        name=options.benchmark,
        title=_title("Colored MNIST", options),
        images=MNIST,
        labels=_grouped(_DIGITS, options.classes),
        feature=Colour(options.classes, binary=options.pixels == "binary"),
        stride=_stride(options, 28, 14),
        available=(60_000, 10_000),
        **_clients(options),
    )


def _colored_fashion_mnist(options: BenchmarkOptions) -> Benchmark:
    _refuse(options, "sprites")
    kinds = ("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")
    two = dict.fromkeys(kinds, 0) | {"sandal": 1, "sneaker": 1, "bag": None, "ankle boot": 1}
    is_two = options.classes == 2
    return Benchmark(
        name=options.benchmark,
        title=_title("Colored Fashion MNIST", options),
        images=FASHION_MNIST,
        labels=two if is_two else _grouped(kinds, options.classes),
        feature=Colour(options.classes, binary=options.pixels == "binary"),
        stride=_stride(options, 28, 14),
        available=(54_000, 9_000) if is_two else (60_000, 10_000),
        **_clients(options),
    )


def _spurious_cifar10(options: BenchmarkOptions) -> Benchmark:
    _refuse(options, "classes", "pixels", "sprites")
    labels = {
        "airplane": 0, "automobile": 0, "bird": 1, "cat": 1, "deer": 1, "dog": 1, "frog": None, "horse": 1,
        "ship": 0, "truck": 0,
    }  # fmt: skip
    return Benchmark(
        name=options.benchmark,
        title=_title("Spurious CIFAR10", options),
        images=CIFAR10,
        labels=labels,
        feature=Patch(5),
        stride=_stride(options, 32),
        available=(45_000, 9_000),
        **_clients(options),
    )


def _colored_dsprites(options: BenchmarkOptions) -> Benchmark:
    _refuse(options, "classes", "pixels")
    is_rendered = options.sprites == "rendered"
    return Benchmark(
        name=options.benchmark,
        title=_title("Colored dSprites", options),
        images=functools.partial(sprites, source=RenderedSprites() if is_rendered else PublishedSprites(own_folder)),
        labels={"square": 1, "ellipse": 0},
        feature=Colour(white=1),
        stride=_stride(options, 64),
        available=(TRAIN, TEST),
        origin="rendered here" if is_rendered else "the published file",
        **_clients(options),
    )


def _colored_digits(options: BenchmarkOptions) -> Benchmark:
    _refuse(options, "sprites")
    return Benchmark(
        name=options.benchmark,
        title=_title("Colored Digits", options),
        images=digits,
        labels=_grouped(_DIGITS, options.classes),
        feature=Colour(options.classes, white=WHITE, binary=options.pixels == "binary"),
        stride=_stride(options, 8),
        available=(1_300, 497),
        origin="embedded in scikit-learn",
        **_clients(options),
    )


CATALOGUE: dict[str, Callable[[BenchmarkOptions], Benchmark]] = {
    "colored-digits": _colored_digits,
    "colored-mnist": _colored_mnist,
    "colored-fashion-mnist": _colored_fashion_mnist,
    "spurious-cifar10": _spurious_cifar10,
    "colored-dsprites": _colored_dsprites,
}

NAMES = tuple(CATALOGUE)

_DIGITS = tuple(str(digit) for digit in range(10))


def _grouped(kinds: tuple[str, ...], classes: int) -> dict[str, int | None]:
    """Ten kinds to so many labels, in order: two classes are 0 to 4 and 5 to 9."""
    return {kind: number // (len(kinds) // classes) for number, kind in enumerate(kinds)}


def _clients(options: BenchmarkOptions) -> dict[str, Any]:
    """The flip probability of every client, and how many samples each has."""
    if options.clients and options.flips:
        raise UserError("--clients spaces flip probabilities evenly and --flips names them: give one of the two.")
    flips: tuple[float, ...] = (0.2, 0.1)
    if options.clients:
        flips = tuple(round(float(flip), 6) for flip in np.linspace(0.3, 0.1, options.clients))
    if options.flips:
        flips = options.flips
    return {"flips": {f"client-{k}": flip for k, flip in enumerate(flips, start=1)}, "sizes": options.sizes}


def _title(title: str, options: BenchmarkOptions) -> str:
    return title if options.classes == 2 else f"{title}, {options.classes} classes"


def _stride(options: BenchmarkOptions, whole: int, *halved: int) -> int:
    sides = (whole, *halved)
    if options.side is not None and options.side not in sides:
        allowed = " or ".join(str(side) for side in sides)
        raise UserError(f"{options.benchmark} has a side of {allowed} pixels; --side {options.side} can't be had.")
    return whole // (options.side or whole)


def _refuse(options: BenchmarkOptions, *names: str) -> None:
    """Options that this benchmark does not have."""
    for name in names:
        given, default = getattr(options, name), BenchmarkOptions.model_fields[name].default
        if given != default:
            raise UserError(f"{options.benchmark} has no --{name} {given}: leave it out.")

"""What the files of the catalogue have in common: labels, clients, titles and sizes from options."""

from __future__ import annotations

import numpy as np

from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.errors import UserError

DIGITS = tuple(str(digit) for digit in range(10))

TWO_CLIENTS = (0.2, 0.1)
"""The flip probabilities of the paper's main table."""


def grouped(kinds: tuple[str, ...], classes: int) -> dict[str, int | None]:
    """Ten kinds to so many labels, in order: two classes are 0 to 4 and 5 to 9."""
    return {kind: number // (len(kinds) // classes) for number, kind in enumerate(kinds)}


def flips_of(options: BenchmarkOptions) -> dict[str, float]:
    """The flip probability of every client."""
    if options.clients and options.flips:
        raise UserError("`clients` spaces flip probabilities evenly and `flips` names them: give one of the two.")
    flips: tuple[float, ...] = TWO_CLIENTS
    if options.clients:
        flips = tuple(round(float(flip), 6) for flip in np.linspace(0.3, 0.1, options.clients))
    if options.flips:
        flips = options.flips
    return {f"client-{k}": flip for k, flip in enumerate(flips, start=1)}


def titled(title: str, options: BenchmarkOptions) -> str:
    return title if options.classes == 2 else f"{title}, {options.classes} classes"


def stride_of(options: BenchmarkOptions, whole: int, *halved: int) -> int:
    """Every so manyth pixel is used, for the side that was asked for."""
    sides = (whole, *halved)
    if options.side is not None and options.side not in sides:
        allowed = " or ".join(str(side) for side in sides)
        raise UserError(f"{options.benchmark} has a side of {allowed} pixels; `side` {options.side} can't be had.")
    return whole // (options.side or whole)


def refuse(options: BenchmarkOptions, *names: str) -> None:
    """Options that this benchmark does not have."""
    for name in names:
        given, default = getattr(options, name), BenchmarkOptions.model_fields[name].default
        if given != default:
            raise UserError(f"{options.benchmark} has no `{name}` {given}: leave it out.")

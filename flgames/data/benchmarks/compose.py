"""What the files of the catalogue have in common: labels, clients, training sites, titles and sizes from options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from flgames.data.benchmarks.benchmark import Benchmark
from flgames.data.benchmarks.options import DRAWN, BenchmarkOptions
from flgames.data.benchmarks.sites import Sites
from flgames.errors import UserError, unknown

DIGITS = tuple(str(digit) for digit in range(10))

OF_SITES = ("train", "draw", "states")
OF_PLANTED = ("clients", "flips", "sizes", "classes", "pixels", "side", "sprites")
"""Options that only benchmarks of real sites have, and those that only others have."""

TWO_CLIENTS = (0.2, 0.1)
"""The flip probabilities of the paper's main table."""


def grouped(kinds: tuple[str, ...], classes: int) -> dict[str, int | None]:
    """Ten kinds to so many labels, in order: two classes are 0 to 4 and 5 to 9."""
    return {kind: number // (len(kinds) // classes) for number, kind in enumerate(kinds)}


MOST_CLIENTS = 10_000
"""No benchmark has images for more."""


def flips_of(options: BenchmarkOptions) -> dict[str, float]:
    """The flip probability of every client."""
    if options.clients and options.flips:
        raise UserError("`clients` spaces flip probabilities evenly and `flips` names them: give one of the two.")
    if options.clients and options.clients > MOST_CLIENTS:
        raise UserError(f"`clients` should be at most {MOST_CLIENTS}; {options.clients} was given.")
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


def training_sites(
    options: BenchmarkOptions,
    known: Sequence[str],
    usual: tuple[str, ...],
    eligible: Sequence[str] | None = None,
    short: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """The sites that train: named, drawn, or the usual ones.

    ``eligible`` are those that can be drawn; None: all of them. ``short`` are other names that people know sites by.
    """
    if options.train is not None and options.draw is not None:
        raise UserError("`train` names the sites that train and `draw` draws them: give one of the two.")
    if options.states is not None and options.draw is None:
        raise UserError("`states` says how many sites a draw has: give `draw` too.")
    if options.draw is not None:
        return _drawn(options, sorted(known if eligible is None else eligible))
    if options.train is None:
        return usual
    spelled = {_plain(name): name for name in known} | {_plain(name): site for name, site in (short or {}).items()}
    chosen = []
    for name in options.train:
        if _plain(name) not in spelled:
            raise unknown(f"site of {options.benchmark}:", name, known)
        chosen.append(spelled[_plain(name)])
    if twice := [site for site in dict.fromkeys(chosen) if chosen.count(site) > 1]:
        raise UserError(f"`train` names {twice[0]} twice.")
    return tuple(chosen)


def _drawn(options: BenchmarkOptions, eligible: list[str]) -> tuple[str, ...]:
    assert options.draw is not None
    states = options.states or DRAWN
    if states > len(eligible):
        raise UserError(f"`states` {states}: {options.benchmark} has {len(eligible)} sites that can be drawn.")
    draw = np.random.default_rng([options.draw, states])
    return tuple(sorted(str(site) for site in draw.choice(eligible, states, replace=False)))


def _plain(name: str) -> str:
    return name.casefold().replace(" ", "-").replace("_", "-")


def refuse(options: BenchmarkOptions, *names: str) -> None:
    """Options that this benchmark does not have."""
    for name in names:
        given, default = getattr(options, name), BenchmarkOptions.model_fields[name].default
        if given != default:
            shown = ",".join(map(str, given)) if isinstance(given, tuple) else given
            raise UserError(f"{options.benchmark} has no `{name}` {shown}: leave it out.")


def refuse_others(options: BenchmarkOptions, declared: Benchmark | Sites) -> None:
    """Options of the other kind of benchmark."""
    refuse(options, *(OF_PLANTED if isinstance(declared, Sites) else OF_SITES))

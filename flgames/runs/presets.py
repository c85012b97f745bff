"""What the paper fixes per variant and per benchmark, and where its game is stopped; and what real data get.

A planted benchmark's own values are declared with the benchmark. docs/decisions.md (9) says where thresholds come from.
Real data are own data, and benchmarks that nobody here made: docs/real-data.md says why they get what they get.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from flgames.core.knobs import Plain
from flgames.core.stopping.rule import NEVER
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import GamePreset, find
from flgames.data.own.roles import Kind
from flgames.errors import unknown
from flgames.methods.fl_games.config import FLGamesConfig

VALIDATION = 0.2
"""The share of every training client's samples that is held back, of real tables and in settled games."""


class Variant(NamedTuple):
    """One of the paper's names: what tables call it, and the knobs that it stands for."""

    title: str
    knobs: Mapping[str, Plain]


VARIANTS = {
    "f-fl-games": Variant("F-FL Games", {"representation": "fixed", "memory": 0}),
    "f-fl-games-smooth": Variant("F-FL Games (Smooth)", {"representation": "fixed", "memory": 5}),
    "v-fl-games": Variant("V-FL Games", {"representation": "variable", "memory": 0, "phi_batches": 1}),
    "v-fl-games-smooth": Variant("V-FL Games (Smooth)", {"representation": "variable", "memory": 5, "phi_batches": 1}),
    "v-fl-games-fast": Variant("V-FL Games (Fast)", {"representation": "variable", "memory": 0, "phi_batches": "all"}),
    "v-fl-games-smooth-fast": Variant(
        "V-FL Games (Smooth + Fast)", {"representation": "variable", "memory": 5, "phi_batches": "all"}
    ),
}

SCHEDULE_TITLES = {"clockwise": "Sequential", "simultaneous": "Parallel", "random": "Random"}

ON_REAL_DATA = GamePreset(learning_rates=(3e-3, 3e-3, 2.5e-5))
"""Ours: the paper's rate is too slow there for a shortcut to cancel."""

LINEAR_ON_TABLES: Mapping[str, Plain] = {
    "predictor": "linear",
    "settle": "auto",
    "learning_rate": 1e-2,
    "rounds": 600,
    "early": 200,
}
"""Ours, by the search on fars (``flgames search fars``): linear players, settled where the clients' own heads disagree
about most of what they say, and stopped early."""

SETTLED: Mapping[str, Plain] = {
    "settle": "auto",
    "memory": 0,
    "learning_rate": 1e-3,
    "settle_after": 100,
    "rounds": 400,
    "early": 60,
    "validation": VALIDATION,
}
"""Ours, for all that is not linear: a short game (without memory, which costs much and finds nothing more), then FedAvg
on weighted samples, stopped early by weighted accuracy on samples that were held back. docs/settling.md says how it was
chosen."""

BALANCED_ROUNDS = 150
"""Of a game whose ensemble is balanced, where no rule stops it."""

BALANCED: Mapping[str, Plain] = {"rounds": BALANCED_ROUNDS, "validation": VALIDATION}
"""On real data, whose clients are small: players must be weighed on samples that they have not learnt by heart."""

PATIENCE: Mapping[str, Plain] = {"patience": 100}
"""All other games on real data return their best round, and stop so many rounds after it."""

ROUNDS = {"fixed": 500, "variable": 1000, "fast": 500}
"""A variable phi takes every other round, and the paper's V variants need up to 630, the Fast ones up to 460; a round
of Fast phi takes seconds."""

PHI_ROUNDS = 10
"""Of FedAvg, by which the convolutions that images of one's own are seen through are trained before a game."""


def variant_of(config: FLGamesConfig) -> str:
    """The paper's name for this configuration, whatever name it was asked for by."""
    if config.representation == "fixed":
        return "f-fl-games-smooth" if config.memory else "f-fl-games"
    return "v-fl-games" + ("-smooth" if config.memory else "") + ("-fast" if config.phi_batches == "all" else "")


def title_of(config: FLGamesConfig) -> str:
    """As the paper's tables call it, for example "Parallel F-FL Games (Smooth)"."""
    return f"{SCHEDULE_TITLES[config.schedule]} {VARIANTS[variant_of(config)].title}"


def on_benchmark(
    benchmark: str, variant: str, settled: bool | None = None, balanced: bool = False
) -> dict[str, object]:
    """The settings that a planted benchmark and a variant imply, and those of what is ours, where that is asked for."""
    implied = _defaults(find(benchmark).preset, variant)
    if settled:
        return {**implied, **SETTLED}
    return {**implied, "rounds": BALANCED_ROUNDS} if balanced else implied


def on_real_data(
    kind: Kind, variant: str, predictor: str | None = None, settle: bool | None = None
) -> dict[str, object]:
    """The settings that real data of a kind imply: linear players for tables, unless others are asked for, and settled
    games for images, unless ``settle`` says no."""
    implied = _defaults(ON_REAL_DATA, variant) | {"validation": VALIDATION if kind == "table" else 0.0}
    is_fixed = VARIANTS[variant].knobs["representation"] == "fixed"
    if kind == "table" and is_fixed and predictor in (None, "linear"):
        return {**implied, **LINEAR_ON_TABLES}
    if is_fixed and (settle or (settle is None and kind == "images")):
        return {**implied, **SETTLED}
    return {**implied, **PATIENCE}


def _defaults(preset: GamePreset, variant: str) -> dict[str, object]:
    if variant not in VARIANTS:
        raise unknown("variant", variant, VARIANTS)
    knobs = VARIANTS[variant].knobs
    fixed, predictor, phi = preset.learning_rates
    is_variable = knobs["representation"] == "variable"
    return {
        **knobs,
        "learning_rate": predictor if is_variable else fixed,
        "phi_learning_rate": phi,
        "rounds": ROUNDS["fast" if knobs.get("phi_batches") == "all" else str(knobs["representation"])],
    }


def stop_below(options: BenchmarkOptions, config: FLGamesConfig) -> float | str:
    """The training accuracy below which a game ends; where none is declared, never."""
    from flgames.data.benchmarks.compose import TWO_CLIENTS, flips_of

    preset = find(options.benchmark).preset
    others = {} if tuple(flips_of(options).values()) == TWO_CLIENTS else preset.stop_below_other_flips
    levels = {**preset.stop_below, **others}
    if options.classes not in levels:
        return NEVER
    plain, smooth = levels[options.classes]
    return smooth if config.memory else plain

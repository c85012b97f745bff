"""What the paper fixes per variant and per benchmark, and where its game is stopped, in one place.

The paper prints no thresholds. docs/decisions.md (9) says where ours come from.
"""

from __future__ import annotations

from typing import Any

from flgames.data.benchmark import Benchmark
from flgames.data.own.source import NAME as OWN_DATA
from flgames.errors import unknown
from flgames.rules import Rules

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "f-fl-games": ("F-FL Games", {"representation": "fixed", "memory": 0}),
    "f-fl-games-smooth": ("F-FL Games (Smooth)", {"representation": "fixed", "memory": 5}),
    "v-fl-games": ("V-FL Games", {"representation": "variable", "memory": 0, "phi_batches": 1}),
    "v-fl-games-smooth": ("V-FL Games (Smooth)", {"representation": "variable", "memory": 5, "phi_batches": 1}),
    "v-fl-games-fast": ("V-FL Games (Fast)", {"representation": "variable", "memory": 0, "phi_batches": "all"}),
    "v-fl-games-smooth-fast": (
        "V-FL Games (Smooth + Fast)",
        {"representation": "variable", "memory": 5, "phi_batches": "all"},
    ),
}
"""The paper's names: title, and the knobs that a name stands for."""

SCHEDULE_TITLES = {"clockwise": "Sequential", "simultaneous": "Parallel", "random": "Random"}

LEARNING_RATES = {
    # benchmark: fixed predictor, variable predictor, variable phi (appendix, "Optimizer and other hyperparameters")
    "colored-mnist": (2.5e-4, 2.5e-4, 2.5e-5),
    "colored-fashion-mnist": (2.5e-4, 2.5e-4, 2.5e-5),
    "spurious-cifar10": (1e-4, 1e-4, 9e-4),
    "colored-dsprites": (9.5e-4, 9e-4, 2.5e-4),
    "colored-digits": (2.5e-4, 2.5e-4, 2.5e-5),
    OWN_DATA: (3e-3, 3e-3, 2.5e-5),  # ours: where the paper's is too slow for a shortcut to cancel
}

STOP_BELOW = {
    # benchmark, classes: without memory, with memory (docs/decisions.md says why)
    ("colored-mnist", 2): (0.60, 0.70),
    ("colored-mnist", 5): (0.80, 0.80),
    ("colored-mnist", 10): (0.83, 0.83),
    ("colored-fashion-mnist", 2): (0.76, 0.76),
    ("colored-fashion-mnist", 5): (0.78, 0.78),
    ("colored-fashion-mnist", 10): (0.81, 0.81),
    ("spurious-cifar10", 2): (0.60, 0.65),
    ("colored-dsprites", 2): (0.60, 0.60),
    ("colored-digits", 2): (0.60, 0.70),
    ("colored-digits", 5): (0.80, 0.80),
    ("colored-digits", 10): (0.83, 0.83),
}

STOP_BELOW_OTHER_FLIPS = {("colored-fashion-mnist", 2): (0.60, 0.70)}
"""Where the paper's tables over the number of clients stopped elsewhere than its main table."""

MAIN_TABLE_FLIPS = (0.2, 0.1)

LEAST_WARM_START = {"spurious-cifar10": 88, "colored-dsprites": 59}
"""Where training accuracy crosses the threshold up and down in the first rounds, before anything is learnt: an epoch of
the paper's two clients, whatever clients there are."""

ROUNDS = {"fixed": 500, "variable": 1000, "fast": 500}
"""A variable phi takes every other round, and the paper's V variants need up to 630, the Fast ones up to 460; a round
of Fast phi takes seconds."""


PHI_ROUNDS = 10
"""Of FedAvg, by which the convolutions that images of one's own are seen through are trained before a game."""

PATIENCE = 100
"""Rounds without a better one after which a game on own data ends."""


def variant_of(rules: Rules) -> str:
    """The paper's name for these rules, whatever name they were asked for by."""
    if rules.representation == "fixed":
        return "f-fl-games-smooth" if rules.memory else "f-fl-games"
    return "v-fl-games" + ("-smooth" if rules.memory else "") + ("-fast" if rules.phi_batches == "all" else "")


def title_of(rules: Rules) -> str:
    """As the paper's tables call it, for example "Parallel F-FL Games (Smooth)"."""
    return f"{SCHEDULE_TITLES[rules.schedule]} {VARIANTS[variant_of(rules)][0]}"


def defaults(benchmark: str, variant: str) -> dict[str, Any]:
    """The settings that a benchmark and a variant imply."""
    if variant not in VARIANTS:
        raise unknown("variant", variant, VARIANTS)
    if benchmark not in LEARNING_RATES:
        raise unknown("benchmark", benchmark, LEARNING_RATES)
    knobs = dict(VARIANTS[variant][1])
    fixed, predictor, phi = LEARNING_RATES[benchmark]
    variable = knobs["representation"] == "variable"
    return knobs | {
        "learning_rate": predictor if variable else fixed,
        "phi_learning_rate": phi,
        "rounds": ROUNDS["fast" if knobs.get("phi_batches") == "all" else knobs["representation"]],
    }


def stop_below(benchmark: Benchmark, rules: Rules) -> float:
    """The training accuracy below which a game ends."""
    key = benchmark.name, benchmark.classes
    others = {} if tuple(benchmark.flips.values()) == MAIN_TABLE_FLIPS else STOP_BELOW_OTHER_FLIPS
    plain, smooth = (STOP_BELOW | others)[key]
    return smooth if rules.memory else plain

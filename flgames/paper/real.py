"""Experiments on real sites. The paper has none: these are ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.paper.case import Case, on
from flgames.paper.scope import BENCHMARKS, Scope
from flgames.runs.entries import default_names, entry
from flgames.runs.names import FL_GAMES, LINEAR_GAME, SETTLED_GAME

DRAWS = 12
STATES = (2, 3, 5)
"""Training sites of a draw."""

LARGEST = ("California", "Texas", "Florida")

ON_DIGITS = ("fedavg", FL_GAMES)
"""Convolutions take minutes each."""

GROUP, METHOD = "training sites", "method"


def fars(scope: Scope) -> list[Case]:
    """Random states, so many at a time, and the three largest; FL Games also with each of its two decisions forced."""
    if scope.quick or scope.benchmarks != BENCHMARKS:
        return []
    crashes = on("fars")
    methods = (*default_names(crashes), LINEAR_GAME, SETTLED_GAME)
    draws = range(scope.seeds or DRAWS)
    return [
        *(each for states in STATES for each in _cases(f"{states} drawn", crashes, methods, draws, states)),
        *_cases("CA+TX+FL", on("fars", train=LARGEST), methods, range(1)),
    ]


def rand_health(scope: Scope) -> list[Case]:
    """Every site unseen in turn."""
    options = on("rand-health")
    return _in_turn(scope, options, (*default_names(options), LINEAR_GAME, SETTLED_GAME))


def digits(scope: Scope) -> list[Case]:
    """Every source unseen in turn."""
    return _in_turn(scope, on("digits-across-sources"), ON_DIGITS)


def _in_turn(scope: Scope, options: BenchmarkOptions, methods: Sequence[str]) -> list[Case]:
    if scope.quick or scope.benchmarks != BENCHMARKS:
        return []
    return list(_cases("each unseen in turn", options, methods, range(scope.seeds or 1)))


def _cases(
    group: str, options: BenchmarkOptions, methods: Sequence[str], seeds: range, states: int | None = None
) -> Iterator[Case]:
    for name in methods:
        each = entry(name, options)
        yield Case({GROUP: group, METHOD: each.title}, options, each, seeds, states=states)

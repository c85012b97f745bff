"""The paper's main table, and its table of rounds: four baselines and eight variants on four benchmarks."""

from __future__ import annotations

from flgames import paper
from flgames.experiments.case import BENCHMARKS, SMALL, Case, Scope, games, on
from flgames.lineup import entry

BASELINES = ("fedsgd", "fedavg", "fedbn", "fedprox")
VARIANTS = ("f-fl-games", "f-fl-games-smooth", "v-fl-games", "v-fl-games-smooth-fast")


def accuracy(scope: Scope) -> list[Case]:
    return [case for name in scope.of(BENCHMARKS) for case in (*_baselines(scope, name), *_games(scope, name))]


def rounds(scope: Scope) -> list[Case]:
    return [case for name in scope.of(BENCHMARKS) for case in _games(scope, name)]


def _baselines(scope: Scope, benchmark: str) -> list[Case]:
    options = on(benchmark)
    played = [entry(name, options) for name in BASELINES]
    return [
        Case({"method": each.title}, options, each, _seeds(scope, benchmark), paper.unseen(options, each.title))
        for each in played
    ]


def _games(scope: Scope, benchmark: str) -> list[Case]:
    options = on(benchmark)
    return [
        Case(
            {"method": each.title},
            options,
            each,
            _seeds(scope, benchmark),
            paper.unseen(options, each.title),
            paper.rounds(benchmark, each.title),
        )
        for _, each in games(options, *VARIANTS)
    ]


def _seeds(scope: Scope, benchmark: str) -> range:
    return scope.range(5 if benchmark in SMALL else 2)

"""The paper's main table, and its table of rounds: four baselines and eight variants on four benchmarks.

Beside them what is ours, and a table that the paper does not have: the same games, stopped by a rule that looks twice.
"""

from __future__ import annotations

from flgames.core.stopping.stop_below import StopBelow
from flgames.paper import printed
from flgames.paper.case import Case, games, on
from flgames.paper.scope import BENCHMARKS, EMBEDDED, SMALL, Scope
from flgames.runs.entries import entry
from flgames.runs.names import BALANCED, NO_SHORTCUT, SETTLED

BASELINES = ("fedsgd", "fedavg", "fedbn", "fedprox")
VARIANTS = ("f-fl-games", "f-fl-games-smooth", "v-fl-games", "v-fl-games-smooth-fast")

OURS = {SETTLED: "ours: ", BALANCED: "ours: ", NO_SHORTCUT: "possible: "}
"""What the paper does not have, and how its label begins. The oracle is no method: it shows what can be learnt."""

PERCEPTRONS_ONLY = (BALANCED,)
"""Ours that were made for the players of both MNISTs."""

RULES: dict[str, dict[str, StopBelow]] = {
    "accuracy": {},
    "accuracy, spread and bias": {"rule": StopBelow(stop_below=0.76, stop_spread=0.01, stop_bias=0.1)},
}
"""The preset, and one rule for both MNISTs: just above what an invariant model can reach, where clients do not differ.
Between two clients of 30,000 samples a difference of 0.01 is two to three standard errors."""


def accuracy(scope: Scope) -> list[Case]:
    return [
        case
        for name in scope.of(BENCHMARKS)
        for case in (*baselines(scope, name), *main_games(scope, name), *_ours(scope, name))
    ]


def rounds(scope: Scope) -> list[Case]:
    return [case for name in scope.of(BENCHMARKS) for case in main_games(scope, name)]


def stopping(scope: Scope) -> list[Case]:
    """The games on both MNISTs but for the Fast ones, stopped as in the main table, and then with the guards."""
    return [
        Case({"method": case.entry.title, "rule": name}, case.options, played, scope.first(2), case.paper)
        for benchmark in scope.of(SMALL)
        for case in main_games(scope, benchmark)
        if case.entry.config["phi_batches"] != "all"
        for name, guards in RULES.items()
        for played in [case.entry.model_copy(update=guards)]
    ]


def baselines(scope: Scope, benchmark: str) -> list[Case]:
    options = on(benchmark)
    played = [entry(name, options) for name in BASELINES]
    return [
        Case({"method": each.title}, options, each, _seeds(scope, benchmark), printed.unseen(options, each.title))
        for each in played
    ]


def main_games(scope: Scope, benchmark: str) -> list[Case]:
    """The paper's eight variants, as its main table has them."""
    options = on(benchmark)
    return [
        Case(
            {"method": each.title},
            options,
            each,
            _seeds(scope, benchmark),
            printed.unseen(options, each.title),
            printed.rounds(benchmark, each.title),
        )
        for _, each in games(options, *VARIANTS)
    ]


def _ours(scope: Scope, benchmark: str) -> list[Case]:
    """The very matches of ``settled-games`` and of ``compare``. The embedded digits are too few to settle."""
    options = on(benchmark)
    left_out = (SETTLED,) if benchmark == EMBEDDED else () if benchmark in SMALL else PERCEPTRONS_ONLY
    return [
        Case({"method": f"{said}{each.title}"}, options, each, _seeds(scope, benchmark))
        for name, said in OURS.items()
        if name not in left_out
        for each in [entry(name, options)]
    ]


def _seeds(scope: Scope, benchmark: str) -> range:
    return scope.first(3 if benchmark in SMALL else 2)

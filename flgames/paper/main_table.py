"""The paper's main table, and its table of rounds: four baselines and eight variants on four benchmarks.

And three tables that the paper does not have: the same games, stopped by a rule that looks twice, with weights that
start otherwise, and with a representation that hardly moves.
"""

from __future__ import annotations

from flgames.core.stopping.stop_below import StopBelow
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.paper import printed
from flgames.paper.case import Case, games, on
from flgames.paper.scope import BENCHMARKS, SMALL, Scope
from flgames.runs.entries import entry

BASELINES = ("fedsgd", "fedavg", "fedbn", "fedprox")
VARIANTS = ("f-fl-games", "f-fl-games-smooth", "v-fl-games", "v-fl-games-smooth-fast")

RULES: dict[str, dict[str, StopBelow]] = {
    "accuracy": {},
    "accuracy, spread and bias": {"rule": StopBelow(stop_below=0.76, stop_spread=0.01, stop_bias=0.1)},
}
"""The preset, and one rule for both MNISTs: just above what an invariant model can reach, where clients do not differ.
Between two clients of 30,000 samples a difference of 0.01 is two to three standard errors."""


def accuracy(scope: Scope) -> list[Case]:
    return [case for name in scope.of(BENCHMARKS) for case in (*_baselines(scope, name), *_games(scope, name))]


def rounds(scope: Scope) -> list[Case]:
    return [case for name in scope.of(BENCHMARKS) for case in _games(scope, name)]


def stopping(scope: Scope) -> list[Case]:
    """The games on both MNISTs but for the Fast ones, stopped as in the main table, and then with the guards."""
    return [
        Case({"method": case.entry.title, "rule": name}, case.options, played, case.seeds, case.paper)
        for benchmark in scope.of(SMALL)
        for case in _games(scope, benchmark)
        if case.entry.config["phi_batches"] != "all"
        for name, guards in RULES.items()
        for played in [case.entry.model_copy(update=guards)]
    ]


def initialisation(scope: Scope) -> list[Case]:
    """V-FL Games on both MNISTs with the weights of PyTorch, as in the main table, and of Keras."""
    return [
        Case({"method": case.entry.title, "weights": name}, case.options, played, case.seeds, case.paper)
        for benchmark in scope.of(SMALL)
        for case in _games(scope, benchmark)
        if case.entry.config["representation"] == "variable" and case.entry.config["phi_batches"] != "all"
        for name, start in (("PyTorch's", "torch"), ("Keras's", "glorot"))
        for network in [case.entry.network.model_copy(update={"initialisation": start})]
        for played in [case.entry.model_copy(update={"network": network})]
    ]


def representation(scope: Scope) -> list[Case]:
    """V-FL Games on both MNISTs with the paper's learning rate of phi, and with one at which phi hardly moves."""
    return [
        Case({"method": each.title, "phi": name}, options, played, scope.first(2), printed.unseen(options, each.title))
        for benchmark in scope.of(SMALL)
        for options in [on(benchmark)]
        for _, each in games(options, "v-fl-games", "v-fl-games-smooth")
        for name, slower in (("moves as in the paper", 1), ("moves a hundredth", 100))
        for rate in [FLGamesConfig.model_validate(each.config).phi_learning_rate / slower]
        for played in [each.model_copy(update={"config": each.config | {"phi_learning_rate": rate}})]
    ]


def _baselines(scope: Scope, benchmark: str) -> list[Case]:
    options = on(benchmark)
    played = [entry(name, options) for name in BASELINES]
    return [
        Case({"method": each.title}, options, each, _seeds(scope, benchmark), printed.unseen(options, each.title))
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
            printed.unseen(options, each.title),
            printed.rounds(benchmark, each.title),
        )
        for _, each in games(options, *VARIANTS)
    ]


def _seeds(scope: Scope, benchmark: str) -> range:
    return scope.first(5 if benchmark in SMALL else 2)

"""Why V-FL Games stay in the shortcut: two things that the paper does not tell or that we doubt, and the search for one
setting that serves them all. The paper has none of these tables."""

from __future__ import annotations

from collections.abc import Iterator

from flgames.methods.fl_games.config import FLGamesConfig
from flgames.paper import printed
from flgames.paper.case import Case, games, on
from flgames.paper.main_table import RULES, main_games
from flgames.paper.scope import SMALL, Scope
from flgames.runs.baselines import SEED
from flgames.runs.entry import Entry

WEIGHTS = {"PyTorch's": "torch", "Keras's": "glorot"}
"""How weights start, by whose they are."""

PHI = {"moves as in the paper": 1, "moves a tenth": 10, "moves a hundredth": 100}
"""How fast phi moves, and by how much slower that is."""

CHOSEN = ("Keras's", "moves a hundredth")
"""What training clients choose of all that the search tries: weights and phi."""

SEARCHED = ("v-fl-games", "v-fl-games-smooth")
"""What the search plays: a full-batch phi (Fast) takes hours for a trial."""


def initialisation(scope: Scope) -> list[Case]:
    """V-FL Games on both MNISTs with the weights of PyTorch, as in the main table, and of Keras."""
    return [
        Case({"method": case.entry.title, "weights": name}, case.options, played, scope.first(2), case.paper)
        for benchmark in scope.of(SMALL)
        for case in main_games(scope, benchmark)
        if case.entry.config["representation"] == "variable" and case.entry.config["phi_batches"] != "all"
        for name, start in WEIGHTS.items()
        for played in [_starting(case.entry, start)]
    ]


def representation(scope: Scope) -> list[Case]:
    """V-FL Games on both MNISTs with the paper's learning rate of phi, and with one at which phi hardly moves."""
    return [
        Case({"method": each.title, "phi": name}, options, played, scope.first(2), printed.unseen(options, each.title))
        for benchmark in scope.of(SMALL)
        for options in [on(benchmark)]
        for _, each in games(options, "v-fl-games", "v-fl-games-smooth")
        for name, slower in PHI.items()
        if slower != 10
        for played in [_slower(each, slower)]
    ]


def search(scope: Scope) -> list[Case]:
    """Every start of the weights with every pace of phi, stopped by the guarded rule. No other table shows its seed."""
    guarded = RULES["accuracy, spread and bias"]
    return [
        Case({"method": each.title, "weights": weights, "phi": phi}, options, played, range(SEED, SEED + 1), paper)
        for benchmark in scope.of(SMALL)
        for options in [on(benchmark)]
        for _, each in games(options, *SEARCHED)
        for paper in [printed.unseen(options, each.title)]
        for weights, phi, tried in _settings(each)
        for played in [tried.model_copy(update=guarded)]
    ]


def with_chosen(scope: Scope) -> list[Case]:
    """The main table's V-FL Games, Fast ones too, with the setting that was chosen; stopped by the guarded rule."""
    weights, phi = CHOSEN
    return [
        Case({"method": case.entry.title}, case.options, played, scope.first(1), case.paper, case.paper_rounds)
        for benchmark in scope.of(SMALL)
        for case in main_games(scope, benchmark)
        if case.entry.config["representation"] == "variable"
        for tried in [_slower(_starting(case.entry, WEIGHTS[weights]), PHI[phi])]
        for played in [tried.model_copy(update=RULES["accuracy, spread and bias"])]
    ]


def _settings(each: Entry) -> Iterator[tuple[str, str, Entry]]:
    for weights, start in WEIGHTS.items():
        for phi, slower in PHI.items():
            yield weights, phi, _slower(_starting(each, start), slower)


def _starting(each: Entry, start: str) -> Entry:
    return each.model_copy(update={"network": each.network.model_copy(update={"initialisation": start})})


def _slower(each: Entry, slower: int) -> Entry:
    rate = FLGamesConfig.model_validate(each.config).phi_learning_rate / slower
    return each.model_copy(update={"config": each.config | {"phi_learning_rate": rate}})

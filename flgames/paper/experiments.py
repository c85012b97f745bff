"""Every table and figure of the paper, and ours on real data: of which matches each is made, and what it asks."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flgames.errors import unknown

if TYPE_CHECKING:
    from flgames.paper.case import Case
    from flgames.paper.scope import Scope

QUICK_ROUNDS = 200
"""At most, in a quick version."""


@dataclass(frozen=True)
class Experiment:
    """A table or figure by name. One without cases plays nothing."""

    name: str
    title: str
    asks: str
    declared: str = ""
    """The function that names its cases, as "module:name" of this package: it is loaded when it is needed."""
    explains: bool = False
    """Whether its models are explained: results are not enough, and models stay where they were played."""
    draws_benchmarks: bool = False
    """Whether it is a picture of the benchmarks themselves."""
    draws_settling: bool = False
    """Whether it is a picture of how a game is settled, which is played for it."""
    searches: bool = False
    """Whether it is a search for a setting, which training clients choose."""
    is_apart: bool = False
    """Whether "all" leaves it out: a search and what came of it fill no cell of the paper."""
    is_real: bool = False
    """Whether it is about real sites, and so ours: the paper has none."""

    def cases(self, scope: Scope) -> list[Case]:
        """What is played for it."""
        if not self.declared:
            return []
        module, _, name = self.declared.partition(":")
        cases: list[Case] = getattr(importlib.import_module(f"flgames.paper.{module}"), name)(scope)
        return [case.shortened(QUICK_ROUNDS) for case in cases] if scope.quick else cases


EXPERIMENTS = {
    each.name: each
    for each in (
        Experiment(
            "table-accuracy",
            "Four baselines and eight variants on four benchmarks, and ours",
            "does the game work on an unseen client where baselines fail?",
            "main_table:accuracy",
        ),
        Experiment(
            "table-rounds",
            "Rounds to the equilibrium",
            "do simultaneous play, memory and Fast need fewer?",
            "main_table:rounds",
        ),
        Experiment(
            "table-stopping",
            "The same games, stopped with and without guards",
            "is it the game that misses, or the rule that stops it?",
            "main_table:stopping",
        ),
        Experiment(
            "table-initialisation",
            "V-FL Games with weights that start otherwise",
            "does it matter how weights start, which the paper does not say?",
            "v_games:initialisation",
        ),
        Experiment(
            "table-phi",
            "V-FL Games with a representation that hardly moves",
            "is it phi that keeps the shortcut?",
            "v_games:representation",
        ),
        Experiment(
            "table-v-search",
            "V-FL Games: the search for one setting",
            "is there one that training clients would choose, and that works everywhere?",
            "v_games:search",
            searches=True,
            is_apart=True,
        ),
        Experiment(
            "table-v-chosen",
            "V-FL Games with the setting that training clients choose",
            "does one setting serve all eight?",
            "v_games:with_chosen",
            is_apart=True,
        ),
        Experiment(
            "table-memorised",
            "FedBN and FedProx while they memorise",
            "are the paper's figures memorisation?",
            "controls:memorised",
        ),
        Experiment("table-sprites", "Few sprites and all", "what do more sprites change?", "controls:sprites"),
        Experiment("table-classes", "More classes", "does it work with 5 and 10 classes?", "grids:classes"),
        Experiment("table-clients", "More clients", "does it work with 2 to 10 clients?", "grids:clients"),
        Experiment("figure-clients", "Cost against clients", "what do more clients cost?", "grids:clients"),
        Experiment("figure-memory", "With and without memory", "does memory smooth the curves?", "ablations:memory"),
        Experiment(
            "figure-fast", "Smooth and Fast, apart and together", "which of the two saves rounds?", "ablations:fast"
        ),
        Experiment(
            "figure-exact-response",
            "Towards exact best responses",
            "what happens to accuracy when players answer exactly?",
            "ablations:exact_response",
        ),
        Experiment(
            "figure-participation",
            "Ten clients, some absent or slow",
            "is the game agnostic to the heterogeneity of devices?",
            "ablations:participation",
        ),
        Experiment(
            "figure-lime", "Explained by LIME", "what do the models look at?", "ablations:explained", explains=True
        ),
        Experiment(
            "settled-games",
            "Settled games and balanced ensembles",
            "what is reached without a lucky round?",
            "settling:settled",
        ),
        Experiment(
            "figure-settling",
            "A settled game in three pictures",
            "how does settling work?",
            "settling:pictured",
            draws_settling=True,
        ),
        Experiment("figure-datasets", "The benchmarks", "what do the clients see?", draws_benchmarks=True),
        Experiment(
            "real-fars",
            "US crash records, a client a state",
            "who is right at states that nobody trained on?",
            "real:fars",
            is_real=True,
        ),
        Experiment(
            "real-rand-health",
            "The RAND health insurance experiment, every site unseen in turn",
            "what does it cost where sites hardly differ?",
            "real:rand_health",
            is_real=True,
        ),
        Experiment(
            "real-digits",
            "Digits across sources, every source unseen in turn",
            "what does it do where nothing is planted?",
            "real:digits",
            is_real=True,
        ),
    )
}


def everything() -> list[Experiment]:
    """All but those that are played only when they are asked for by name."""
    return [each for each in EXPERIMENTS.values() if not each.is_apart]


def experiment(name: str) -> Experiment:
    """The experiment of this name."""
    if name not in EXPERIMENTS:
        raise unknown("table or figure", name, (*EXPERIMENTS, "all"))
    return EXPERIMENTS[name]

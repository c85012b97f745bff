"""Two questions about the main table's cells: have the paper's baselines memorised, and would more sprites help?"""

from __future__ import annotations

from flgames.core.stopping.best_round import BestRound
from flgames.data.benchmarks.sprites import DIFFERENT, TEST
from flgames.models.networks import MLP
from flgames.paper import printed
from flgames.paper.case import Case, on
from flgames.paper.main_table import baselines
from flgames.paper.scope import SMALL, Scope
from flgames.runs.entries import entry
from flgames.runs.entry import Entry
from flgames.runs.names import NO_SHORTCUT

MEMORISING = ("fedbn", "fedprox")
"""Baselines that stand at 99% training accuracy in the paper, with a quarter of the labels noise."""

EPOCHS = 300
"""At most."""

PATIENCE = 30
"""Epochs without a higher training accuracy after which there is none to come."""

RATE = 0.001
"""Of learning, on both: what was chosen for Colored MNIST. The quarter of it that was chosen for 300 steps on Fashion
MNIST had 87 to 92% training accuracy after 150 epochs."""

MEASURED = 4096
"""Training samples of a client that tell how much has been memorised."""

PROBE_EVERY = 15

HELD = 0.001
"""How strongly FedProx holds a client: with 0.1, which was chosen for 300 steps, training accuracy stands still."""

SPRITES = {"30,000": None, f"all {DIFFERENT['published'] - TEST:,}": ((DIFFERENT["published"] - TEST) // 2,) * 2}
"""Training sprites, dealt evenly to two clients: as in the main table, and all that are left beside the unseen ones."""


def memorised(scope: Scope) -> list[Case]:
    """FedBN and FedProx as in the main table, and trained for as long as training accuracy rises."""
    return [
        Case({"method": case.entry.title, "trained": trained}, case.options, played, seeds, case.paper)
        for benchmark in scope.of(SMALL)
        for case in baselines(scope, benchmark)
        if case.entry.slug in MEMORISING
        for trained, played, seeds in (
            ("as in the main table", case.entry, case.seeds),
            (f"for up to {EPOCHS} epochs", by_heart(case.entry), scope.first(1)),
        )
    ]


def by_heart(each: Entry) -> Entry:
    """The same method, an epoch a round, for as long as training accuracy rises."""
    longer = {"local_steps": "all", "learning_rate": RATE} | ({"mu": HELD} if "mu" in each.config else {})
    rule = BestRound(patience=PATIENCE, spread_penalty=0.0, bias_penalty=0.0)
    curve = {"measure_samples": MEASURED, "probe_every": PROBE_EVERY}
    return each.model_copy(update=curve | {"config": each.config | longer, "rounds": EPOCHS, "rule": rule})


def sprites(scope: Scope) -> list[Case]:
    """A game, and what the paper's network could learn where colour tells nothing, with few sprites and with all."""
    if scope.quick or "colored-dsprites" not in scope.benchmarks:
        return []
    return [
        Case({"method": each.title, "sprites": number}, options, each, scope.first(1), paper)
        for number, sizes in SPRITES.items()
        for options in [on("colored-dsprites", sizes=sizes)]
        for each in (entry("parallel-f-fl-games-smooth", options), perceptron_oracle(entry(NO_SHORTCUT, options)))
        for paper in [printed.unseen(on("colored-dsprites"), each.title)]
    ]


def perceptron_oracle(oracle: Entry) -> Entry:
    """What the paper's network learns where the oracle has convolutions."""
    return oracle.model_copy(update={"network": MLP(), "title": f"{oracle.title}, the paper's MLP"})

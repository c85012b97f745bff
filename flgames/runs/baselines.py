"""Every baseline in one place: what it is, the values that were tried, and those that were chosen for each benchmark.

The values were chosen by ``flgames search``, which sees training clients only: it plays on four fifths of each and
keeps what does best on the rest. Rows that are called *published* have their authors' values for Colored MNIST, which
were tuned on its test data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from flgames.core.knobs import Plain
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.methods.registry import METHODS
from flgames.models.networks import MLP

POOLED: Mapping[str, Plain] = {"batch_size": 512}
"""One place has the samples of two clients, so a step sees as many as a round of the others."""


class Declared(TypedDict, total=False):
    """What is declared of a baseline: fields of its entry."""

    title: str
    method: str
    config: Mapping[str, Plain]
    network: MLP
    clients: str
    feature: str
    rounds: int
    side: int


BASELINES: dict[str, Declared] = {
    "fedsgd": {"title": "FedSGD", "method": "fedsgd"},
    "fedavg": {"title": "FedAvg", "method": "fedavg"},
    "fedprox": {"title": "FedProx", "method": "fedprox"},
    "fedbn": {"title": "FedBN", "method": "fedbn", "network": MLP(batch_norm=True)},
    "fedgma": {"title": "FedGMA", "method": "fedgma"},
    "group-dro": {"title": "GroupDRO", "method": "group-dro"},
    "irm": {"title": "IRMv1 (train-selected)", "method": "irm"},
    "vrex": {"title": "V-REx (train-selected)", "method": "vrex"},
    "pooled-erm": {"title": "pooled ERM", "method": "fedsgd", "clients": "pooled", "config": POOLED},
    "grey-oracle": {
        "title": "grey oracle",
        "method": "fedsgd",
        "clients": "pooled",
        "feature": "removed",
        "config": POOLED,
    },
}
"""Methods and references whose values are chosen by the search."""

RATES = (2.5e-4, 1e-3)
PENALTIES = (1.0, 100.0, 10_000.0)

GRIDS: dict[str, dict[str, tuple[Plain, ...]]] = {
    "fedsgd": {"learning_rate": RATES},
    "fedavg": {"learning_rate": RATES},
    "fedprox": {"learning_rate": RATES, "mu": (0.1, 1.0)},
    "fedbn": {"learning_rate": RATES},
    "fedgma": {"learning_rate": RATES},
    "group-dro": {"learning_rate": RATES, "eta": (0.01, 0.1)},
    "irm": {"learning_rate": RATES, "penalty": PENALTIES, "anneal": (100,)},
    "vrex": {"learning_rate": RATES, "penalty": PENALTIES, "anneal": (100,)},
    "pooled-erm": {"learning_rate": RATES},
    "grey-oracle": {"learning_rate": RATES},
}
"""What the search tries. With two clients FedGMA's tau makes no difference: they agree on a sign or they don't."""

STEPS = 300
"""Steps that each client takes, in every method, with 256 samples each: 2.6 epochs of Colored MNIST."""

LOCAL_STEPS = 10
"""Of them in a round, where clients train by themselves and the server averages."""

MEASURED = 512
"""Training samples that a baseline's curve is drawn from: no rule depends on it."""

SEARCHED = ("colored-digits", "colored-mnist", "colored-fashion-mnist")
"""Benchmarks whose values were searched."""

CHOSEN: dict[str, dict[str, dict[str, Plain]]] = {
    "colored-digits": {
        "fedsgd": {"learning_rate": 0.001},
        "fedavg": {"learning_rate": 0.00025},
        "fedprox": {"learning_rate": 0.001, "mu": 1.0},
        "fedbn": {"learning_rate": 0.00025},
        "fedgma": {"learning_rate": 0.00025},
        "group-dro": {"learning_rate": 0.00025, "eta": 0.01},
        "irm": {"learning_rate": 0.00025, "penalty": 1.0, "anneal": 100},
        "vrex": {"learning_rate": 0.001, "penalty": 1.0, "anneal": 100},
        "pooled-erm": {"learning_rate": 0.00025},
        "grey-oracle": {"learning_rate": 0.00025},
    },
    "colored-mnist": {
        "fedsgd": {"learning_rate": 0.001},
        "fedavg": {"learning_rate": 0.001},
        "fedprox": {"learning_rate": 0.001, "mu": 0.1},
        "fedbn": {"learning_rate": 0.001},
        "fedgma": {"learning_rate": 0.001},
        "group-dro": {"learning_rate": 0.001, "eta": 0.01},
        "irm": {"learning_rate": 0.001, "penalty": 1.0, "anneal": 100},
        "vrex": {"learning_rate": 0.001, "penalty": 1.0, "anneal": 100},
        "pooled-erm": {"learning_rate": 0.001},
        "grey-oracle": {"learning_rate": 0.001},
    },
    "colored-fashion-mnist": {
        "fedsgd": {"learning_rate": 0.001},
        "fedavg": {"learning_rate": 0.00025},
        "fedprox": {"learning_rate": 0.00025, "mu": 0.1},
        "fedbn": {"learning_rate": 0.00025},
        "fedgma": {"learning_rate": 0.00025},
        "group-dro": {"learning_rate": 0.001, "eta": 0.01},
        "irm": {"learning_rate": 0.00025, "penalty": 1.0, "anneal": 100},
        "vrex": {"learning_rate": 0.00025, "penalty": 1.0, "anneal": 100},
        "pooled-erm": {"learning_rate": 0.00025},
        "grey-oracle": {"learning_rate": 0.00025},
    },
}
"""By benchmark and baseline: the values that the search chose."""

UNSEARCHED = CHOSEN["colored-mnist"]
"""What all other benchmarks and own data have."""

PUBLISHED: dict[str, Declared] = {
    # Arjovsky et al. 2019, the code to section 5.2: 14 x 14 pixels, full batches, Adam.
    "irm-published": {
        "title": "IRMv1 (published: tuned on test data)",
        "method": "irm",
        "config": {
            "batches": "all",
            "learning_rate": 0.0004898536566546834,
            "l2": 0.00110794568,
            "penalty": 91257.18613115903,
            "anneal": 190,
        },
        "network": MLP(width=390, activation="relu", initialisation="glorot"),
        "rounds": 501,
        "side": 14,
    },
    # Krueger et al. 2021, the code's defaults. It has sums over two clients where we have means, and (R_1 - R_2)^2
    # where we have the variance, a quarter of that: halved, its penalty of 10,000 is our 20,000, and its 1 our 2.
    "vrex-published": {
        "title": "V-REx (published: tuned on test data)",
        "method": "vrex",
        "config": {
            "batches": "all",
            "learning_rate": 0.001,
            "l2": 0.0005,
            "penalty": 20_000.0,
            "anneal": 100,
            "annealed": 2.0,
        },
        "network": MLP(width=256, activation="relu", initialisation="glorot"),
        "rounds": 501,
        "side": 14,
    },
}
"""Full batches, so that a round is a step of theirs."""

PUBLISHED_FOR = BenchmarkOptions(benchmark="colored-mnist")
"""With its two clients: V-REx's factor of two is for two."""

UNDECLARED = tuple(name for name in METHODS if name not in (*BASELINES, "fl-games"))
"""Methods that nothing is declared of: they are played with the defaults of their configuration."""

ALL = (*BASELINES, *PUBLISHED, *UNDECLARED)

ON_OWN_DATA = ("fedsgd", "fedavg", "fedprox", "fedgma", "group-dro", "irm", "vrex", "pooled-erm")
"""Baselines that need to know nothing of a shortcut, nor a network of their own."""

SEED = 100
"""The clients of the search; the tables show others."""

JUDGED = 0.2
"""The part of each training client that a trial of the search does not train on."""

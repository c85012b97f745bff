"""Every baseline in one place: what it is, the values that were tried, and those that were chosen for each benchmark.

On real data every method, FL Games included, chooses its values by the same search and stops by the same rule.

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
from flgames.models.networks import MLP, Linear

POOLED: Mapping[str, Plain] = {"batch_size": 512}
"""One place has the samples of two clients, so a step sees as many as a round of the others."""


class Declared(TypedDict, total=False):
    """What is declared of a baseline: fields of its entry."""

    title: str
    method: str
    config: Mapping[str, Plain]
    network: MLP | Linear
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

ON_REAL_TABLES: dict[str, Declared] = {
    "logistic": {"title": "logistic regression", "method": "logistic", "clients": "pooled", "rounds": 1},
    "fedsgd": {"title": "FedSGD", "method": "fedsgd"},
    "fedavg": {"title": "FedAvg", "method": "fedavg"},
    "fedprox": {"title": "FedProx", "method": "fedprox"},
    "fedgma": {"title": "FedGMA", "method": "fedgma"},
    "fedmedian": {"title": "FedMedian", "method": "fedmedian"},
    "local-mean": {"title": "mean of local models", "method": "local-mean"},
    "group-dro": {"title": "GroupDRO", "method": "group-dro"},
    "irm": {"title": "IRMv1", "method": "irm"},
    "vrex": {"title": "V-REx", "method": "vrex"},
    "core-only": {
        "title": "core columns only",
        "method": "logistic",
        "clients": "pooled",
        "feature": "removed",
        "rounds": 1,
    },
}
"""The same for real data: all of them have linear models on tables, stop early by one rule, and hold samples back."""

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

REAL_RATES = (1e-3, 3e-3, 1e-2, 3e-2)
REAL_PENALTIES = (1.0, 10.0, 100.0)
REAL_L2 = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)

REAL_GRIDS: dict[str, dict[str, tuple[Plain, ...]]] = {
    "logistic": {"l2": REAL_L2},
    "fedsgd": {"learning_rate": REAL_RATES},
    "fedavg": {"learning_rate": REAL_RATES},
    "fedprox": {"learning_rate": REAL_RATES, "mu": (0.01, 0.1, 1.0)},
    "fedgma": {"learning_rate": REAL_RATES},
    "fedmedian": {"learning_rate": REAL_RATES},
    "local-mean": {"learning_rate": REAL_RATES},
    "group-dro": {"learning_rate": REAL_RATES, "eta": (0.01, 0.1)},
    "irm": {"learning_rate": REAL_RATES, "penalty": REAL_PENALTIES, "anneal": (100,)},
    "vrex": {"learning_rate": REAL_RATES, "penalty": REAL_PENALTIES, "anneal": (100,)},
    "core-only": {"l2": REAL_L2},
    "fl-games": {"learning_rate": REAL_RATES},
}
"""What the search tries on real data, the gentlest first. Rounds are the rule's to choose."""

ALIKE = 0.5
"""Standard errors of accuracy within which the search on real data takes the gentlest: as the rule does with rounds."""

REAL_STEPS = 600
"""Steps that a client takes at most on real data; the rule chooses among them."""

EARLY = 200
"""Rounds of one step without a better one after which a method on real data stops: as many as FL Games has."""

IMAGE_STEPS, IMAGE_EARLY = 3000, 600
"""The same on images, where convolutions are trained: as many as a settled game takes."""

SEARCHED = ("colored-digits", "colored-mnist", "colored-fashion-mnist", "fars")
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
    "fars": {
        "logistic": {"l2": 0.0001},
        "fedsgd": {"learning_rate": 0.03},
        "fedavg": {"learning_rate": 0.01},
        "fedprox": {"learning_rate": 0.01, "mu": 0.01},
        "fedgma": {"learning_rate": 0.003},
        "fedmedian": {"learning_rate": 0.003},
        "local-mean": {"learning_rate": 0.01},
        "group-dro": {"learning_rate": 0.01, "eta": 0.01},
        "irm": {"learning_rate": 0.01, "penalty": 1.0, "anneal": 100},
        "vrex": {"learning_rate": 0.03, "penalty": 1.0, "anneal": 100},
        "core-only": {"l2": 0.001},
        "fl-games": {"learning_rate": 0.01},
    },
}
"""By benchmark and baseline: the values that the search chose."""

UNSEARCHED = CHOSEN["colored-mnist"]
"""What all other planted benchmarks have."""

CHOSEN_ON_REAL_DATA = CHOSEN["fars"]
"""What all real tables have."""

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

UNDECLARED = tuple(name for name in METHODS if name not in (*BASELINES, *ON_REAL_TABLES, "fl-games", "settled"))
"""Methods that nothing is declared of: they are played with the defaults of their configuration."""

PLANTED = (*BASELINES, *PUBLISHED, *UNDECLARED)
"""Baselines for benchmarks whose shortcut is known."""

REAL = (*ON_REAL_TABLES, *UNDECLARED)
"""Baselines for real data."""

ALL = tuple(dict.fromkeys((*PLANTED, *REAL)))

ON_OWN_DATA = tuple(name for name in ON_REAL_TABLES if name != "core-only")
"""Baselines that need to know nothing of what is a shortcut."""

IMAGE_RATE: dict[str, Plain] = {"learning_rate": 1e-3}
"""Of methods that were not searched there."""

ON_IMAGES = tuple(name for name in ON_OWN_DATA if name != "logistic")
"""Those that can do with convolutions."""

SETTLING_GRIDS: dict[str, dict[str, tuple[Plain, ...]]] = {
    "shortcut": {"memory": (0, 5), "settle_after": (20, 100), "learning_rate": (1e-4, 3e-4, 1e-3)},
    "settled": {"train_rate": RATES},
    "settled-by": {"train_by": ("fedavg", "fedsgd")},
}
"""What the search tries of a settled game, the cheapest first: the game that finds the shortcut, the rate of training
after it, and who trains. FedSGD counts held-back samples after every step, which takes long: one benchmark has it."""

SETTLING_SEARCHED = ("colored-mnist", "colored-fashion-mnist", "spurious-cifar10")
"""Benchmarks that chose them together."""

SEED = 100
"""The clients of the search; the tables show others."""

SEARCH_DRAWS, SEARCH_STATES = range(100, 103), 3
"""Draws of training sites that the search on real data plays on."""

JUDGED = 0.2
"""The part of each training client that a trial of the search does not train on."""

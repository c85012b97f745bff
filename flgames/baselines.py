"""Every baseline in one place: what it is, the values that were tried, and those that were chosen for each benchmark.

The values were chosen by ``flgames search``, which sees training clients only: it plays on four fifths of each and
keeps what does best on the rest. Rows that are called *published* have their authors' values for Colored MNIST, which
were tuned on its test data.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from flgames.convolutions import ConvNetwork
from flgames.data.catalogue import NAMES as BENCHMARKS
from flgames.data.catalogue import BenchmarkOptions
from flgames.data.own.layout import Kind
from flgames.entry import Entry
from flgames.errors import UserError, unknown
from flgames.models import Network

POOLED = {"batch_size": 512}
"""One place has the samples of two clients, so a step sees as many as a round of the others."""

BASELINES: dict[str, dict[str, Any]] = {
    "fedsgd": {"title": "FedSGD", "method": "fedsgd"},
    "fedavg": {"title": "FedAvg", "method": "fedavg"},
    "fedprox": {"title": "FedProx", "method": "fedprox"},
    "fedbn": {"title": "FedBN", "method": "fedbn", "network": Network(batch_norm=True)},
    "fedgma": {"title": "FedGMA", "method": "fedgma"},
    "group-dro": {"title": "GroupDRO", "method": "group-dro"},
    "irm": {"title": "IRMv1 (train-selected)", "method": "irm"},
    "vrex": {"title": "V-REx (train-selected)", "method": "vrex"},
    "pooled-erm": {"title": "pooled ERM", "method": "fedsgd", "clients": "pooled", "rules": POOLED},
    "grey-oracle": {
        "title": "grey oracle",
        "method": "fedsgd",
        "clients": "pooled",
        "feature": "removed",
        "rules": POOLED,
    },
}
"""Methods and references whose values are chosen by the search."""

RATES = (2.5e-4, 1e-3)
PENALTIES = (1.0, 100.0, 10_000.0)

GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {
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

AVERAGING = ("fedavg", "fedprox", "fedbn", "fedgma")
LOCAL_STEPS = 10
"""Of them in a round, where clients train by themselves and the server averages."""

MEASURED = 512
"""Training samples that a baseline's curve is drawn from: no rule depends on it."""

SEARCHED = ("colored-digits", "colored-mnist", "colored-fashion-mnist")
"""The others have Colored MNIST's values."""

CHOSEN: dict[str, dict[str, dict[str, Any]]] = {
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
"""By benchmark and baseline: the rules that the search chose."""

CHOSEN |= {benchmark: CHOSEN["colored-mnist"] for benchmark in BENCHMARKS if benchmark not in SEARCHED}

PUBLISHED: dict[str, dict[str, Any]] = {
    # Arjovsky et al. 2019, the code to section 5.2: 14 x 14 pixels, full batches, Adam.
    "irm-published": {
        "title": "IRMv1 (published: tuned on test data)",
        "method": "irm",
        "rules": {
            "batches": "all",
            "learning_rate": 0.0004898536566546834,
            "l2": 0.00110794568,
            "penalty": 91257.18613115903,
            "anneal": 190,
        },
        "network": Network(width=390, activation="relu", initialisation="glorot"),
        "rounds": 501,
        "side": 14,
    },
    # Krueger et al. 2021, the code's defaults. It has sums over two clients where we have means, and (R_1 - R_2)^2
    # where we have the variance, a quarter of that: halved, its penalty of 10,000 is our 20,000, and its 1 our 2.
    "vrex-published": {
        "title": "V-REx (published: tuned on test data)",
        "method": "vrex",
        "rules": {
            "batches": "all",
            "learning_rate": 0.001,
            "l2": 0.0005,
            "penalty": 20_000.0,
            "anneal": 100,
            "annealed": 2.0,
        },
        "network": Network(width=256, activation="relu", initialisation="glorot"),
        "rounds": 501,
        "side": 14,
    },
}
"""Full batches, so that a round is a step of theirs."""

PUBLISHED_FOR = BenchmarkOptions(benchmark="colored-mnist")
"""With its two clients: V-REx's factor of two is for two."""

ALL = (*BASELINES, *PUBLISHED)


def baseline(name: str, options: BenchmarkOptions) -> Entry:
    """A baseline with the values that are declared for a benchmark."""
    if options.benchmark not in BENCHMARKS:
        raise unknown("benchmark", options.benchmark, BENCHMARKS)
    if name in PUBLISHED:
        if options != PUBLISHED_FOR:
            raise UserError(f"{name} has its authors' values, which are for {PUBLISHED_FOR.benchmark} as it is.")
        return Entry(slug=name, measure_samples=MEASURED, **PUBLISHED[name])
    if name not in BASELINES:
        raise unknown("baseline", name, ALL)
    return _entry(name, CHOSEN[options.benchmark][name])


ON_OWN_DATA = ("fedsgd", "fedavg", "fedprox", "fedgma", "group-dro", "irm", "vrex", "pooled-erm")
"""Baselines that need to know nothing of a shortcut, nor a network of their own."""


def baseline_on_own_data(name: str, kind: Kind) -> Entry:
    """A baseline on data of one's own, with Colored MNIST's values."""
    if name not in ON_OWN_DATA:
        raise unknown("baseline for own data", name, ON_OWN_DATA)
    entry = _entry(name, CHOSEN["colored-mnist"][name])
    return entry.model_copy(update={"network": ConvNetwork()}) if kind == "images" else entry


def is_searched(options: BenchmarkOptions) -> bool:
    """Whether the values were chosen on these very clients."""
    return options == BenchmarkOptions(benchmark=options.benchmark) and options.benchmark in SEARCHED


def trials(name: str) -> Iterator[Entry]:
    """A baseline with each of the values that the search tries."""
    grid = GRIDS[name]
    for values in itertools.product(*grid.values()):
        yield _entry(name, dict(zip(grid, values, strict=True)))


def _entry(name: str, rules: Mapping[str, Any]) -> Entry:
    averaging = name in AVERAGING
    local = {"local_steps": LOCAL_STEPS} if averaging else {}
    declared = BASELINES[name] | {"rules": BASELINES[name].get("rules", {}) | local | dict(rules)}
    rounds = STEPS // LOCAL_STEPS if averaging else STEPS
    return Entry(slug=name, rounds=rounds, measure_samples=MEASURED, **declared)

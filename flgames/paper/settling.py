"""Settled games and balanced ensembles on the paper's benchmarks. The paper has neither: these are ours."""

from __future__ import annotations

from collections.abc import Iterator

from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.paper.case import Case, on
from flgames.paper.controls import perceptron_oracle
from flgames.paper.scope import Scope
from flgames.runs.entries import entry
from flgames.runs.entry import Entry
from flgames.runs.names import BALANCED, NO_SHORTCUT, SETTLED, SETTLED_LOCALLY

SEEDS, FEW_SEEDS = 5, 2
"""Fewer where a game takes many minutes."""

BALANCED_AT = (100, 150, 200)
SETTLED_AFTER = (60, 150)
"""Rounds of the game, beside its usual 100: where it ends should not matter."""

MORE_CLIENTS = (5, 10)

NO_REASON = {"equal shortcuts": (0.1, 0.1), "no shortcut": (0.5, 0.5)}
"""Where nothing should be weighted."""

GROUP, METHOD = "clients", "method"


def settled(scope: Scope) -> list[Case]:
    """All that is claimed of settling and balancing, in one table."""
    return [case for benchmark in scope.of(tuple(CASES)) for case in CASES.get(benchmark, _embedded)(scope)]


def pictured(scope: Scope) -> list[Case]:
    """What the profiles before and after are of."""
    options = on(scope.of(("colored-mnist",))[0]) if scope.of(("colored-mnist",)) else None
    names = ("fedavg", "parallel-f-fl-games-smooth", SETTLED, NO_SHORTCUT)
    entries = [entry(name, options) for name in names] if options else []
    return list(_cases("two", options, entries, scope.first(SEEDS))) if options else []


def _cases(group: str, options: BenchmarkOptions, entries: list[Entry], seeds: range) -> Iterator[Case]:
    for each in entries:
        yield Case({GROUP: group, METHOD: each.title}, options, each, seeds)


def _embedded(scope: Scope) -> Iterator[Case]:
    options = on("colored-digits")
    yield from _cases("two", options, [entry(name, options) for name in (BALANCED, NO_SHORTCUT)], scope.first(SEEDS))


def _mnist(scope: Scope) -> Iterator[Case]:
    options = on("colored-mnist")
    game, balanced = entry(SETTLED, options), entry(BALANCED, options)
    seeds, few = scope.first(SEEDS), scope.first(FEW_SEEDS)
    yield from _cases("two", options, [game], seeds)
    yield from _cases("two", options, [_after(game, rounds) for rounds in SETTLED_AFTER], seeds)
    yield from _cases("two", options, [entry(SETTLED_LOCALLY, options)], seeds)
    yield from _cases("two", options, [_ended(balanced, rounds) for rounds in BALANCED_AT], seeds)
    yield from _cases("two", options, [entry(NO_SHORTCUT, options)], seeds)
    for number in MORE_CLIENTS:
        more = on("colored-mnist", clients=number)
        yield from _cases(str(number), more, [entry(SETTLED, more)], seeds)
    classes = on("colored-mnist", classes=5)
    yield from _cases("two, 5 classes", classes, [entry(SETTLED, classes), entry(NO_SHORTCUT, classes)], few)
    for name, flips in NO_REASON.items():
        alike = on("colored-mnist", flips=flips)
        yield from _cases(f"two, {name}", alike, [entry("fedavg", alike), entry(SETTLED, alike)], few)


def _fashion(scope: Scope) -> Iterator[Case]:
    options = on("colored-fashion-mnist")
    names = (SETTLED, BALANCED, NO_SHORTCUT, SETTLED_LOCALLY)
    yield from _cases("two", options, [entry(name, options) for name in names], scope.first(SEEDS))


def _cifar(scope: Scope) -> Iterator[Case]:
    options = on("spurious-cifar10")
    yield from _cases("two", options, [entry(name, options) for name in (SETTLED, NO_SHORTCUT)], scope.first(FEW_SEEDS))


def _dsprites(scope: Scope) -> Iterator[Case]:
    """With convolutions, and what the paper's perceptron could learn."""
    options = on("colored-dsprites")
    oracle = entry(NO_SHORTCUT, options)
    entries = [entry(SETTLED, options), oracle, perceptron_oracle(oracle)]
    yield from _cases("two", options, entries, scope.first(FEW_SEEDS))


CASES = {
    "colored-mnist": _mnist,
    "colored-fashion-mnist": _fashion,
    "spurious-cifar10": _cifar,
    "colored-dsprites": _dsprites,
}


def _after(each: Entry, rounds: int) -> Entry:
    """A game of so many rounds, and as many of training as before."""
    usual = int(each.config["settle_after"] or 0)
    changed = {"config": each.config | {"settle_after": rounds}, "rounds": each.rounds - usual + rounds}
    return each.model_copy(update=changed | {"title": f"{each.title}, after {rounds}"})


def _ended(each: Entry, rounds: int) -> Entry:
    return each.model_copy(update={"rounds": rounds, "title": f"{each.title}, round {rounds}"})

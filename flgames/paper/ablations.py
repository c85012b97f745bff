"""What one part of the method does: memory, Fast, exact best responses, devices that are slow or absent."""

from __future__ import annotations

import sys

from flgames.core.knobs import Plain
from flgames.core.stopping.stop_below import StopBelow
from flgames.paper.case import Case, games, on
from flgames.paper.scope import BENCHMARKS, LARGE, Scope
from flgames.runs.entries import entry
from flgames.runs.entry import Entry

MNIST = BENCHMARKS[:1]

ROUNDS, FEWER_ROUNDS = 300, 150
"""Of a curve whose game is not stopped by its rule; fewer on the two larger benchmarks."""

PROBE_EVERY = 15

STOP_BELOW = 0.70
"""Where all four combinations of Smooth and Fast are stopped: the preset of those with memory."""

RESPONSES: dict[str, dict[str, Plain]] = {
    "1 step (1%)": {"local_steps": 1},
    "10%": {"local_steps": "10%"},
    "50%": {"local_steps": "50%"},
    "100%": {"local_steps": "all"},
    "full batch": {"full_batch": True},
}
"""Local steps as a share of a client's batches, and one step of descent on all of its samples, which the paper takes
for the same thing as 100%."""

LONG = ("50%", "100%")
LONG_ROUNDS = 100
"""At most, where a round is half an epoch or a whole one."""

DEVICES: dict[str, dict[str, Plain]] = {
    "all of 10": {"participation": 1.0},
    "5 of 10 a round": {"participation": 0.5},
    "2 of 10 a round": {"participation": 0.2},
    "all, with 5 local steps": {"local_steps": 5},
    "all, with 1 to 10 local steps": {"local_steps": "1-10"},
}


def memory(scope: Scope) -> list[Case]:
    """Both F variants in both schedules with the rule off, so that curves can be compared round by round."""
    curve = {"rule": None, "probe_every": PROBE_EVERY}
    return [
        Case({"method": each.title}, options, each.model_copy(update=curve | {"rounds": rounds}), scope.first(2))
        for benchmark in scope.of(BENCHMARKS)
        for rounds in [FEWER_ROUNDS if benchmark in LARGE else ROUNDS]
        for options in [on(benchmark)]
        for _, each in games(options, "f-fl-games", "f-fl-games-smooth")
    ]


def fast(scope: Scope) -> list[Case]:
    """Smooth and Fast apart and together, stopped by the same rule: the paper only has both or neither."""
    names = [f"v-fl-games{ending}" for ending in ("", "-smooth", "-fast", "-smooth-fast")]
    return [
        Case(
            {"method": each.title},
            options,
            each.model_copy(update={"rule": StopBelow(stop_below=STOP_BELOW)}),
            scope.first(2),
        )
        for benchmark in scope.of(MNIST)
        for options in [on(benchmark)]
        for each in [entry(f"parallel-{name}", options) for name in names]
    ]


def exact_response(scope: Scope) -> list[Case]:
    return [
        Case({"method": each.title, "response": name}, options, _with(each, knobs), scope.first(2)).shortened(most)
        for benchmark in scope.of(MNIST)
        for options in [on(benchmark)]
        for name, knobs in RESPONSES.items()
        for most in [LONG_ROUNDS if name in LONG else sys.maxsize]
        for _, each in games(options, "f-fl-games")
    ]


def participation(scope: Scope) -> list[Case]:
    """Ten clients in simultaneous play."""
    return [
        Case({"method": each.title, "devices": name}, options, _with(each, knobs), scope.first(2))
        for benchmark in scope.of(MNIST)
        for options in [on(benchmark, clients=10)]
        for name, knobs in DEVICES.items()
        for each in [entry("parallel-f-fl-games", options)]
    ]


def explained(scope: Scope) -> list[Case]:
    """A shortcut learner and two games, whose predictions are explained."""
    names = ("fedavg", "parallel-f-fl-games-smooth", "parallel-v-fl-games-smooth-fast")
    return [
        Case({"method": each.title}, options, each, range(1))
        for benchmark in scope.of(MNIST)
        for options in [on(benchmark)]
        for each in [entry(name, options) for name in names]
    ]


def _with(each: Entry, knobs: dict[str, Plain]) -> Entry:
    return each.model_copy(update={"config": each.config | knobs})

"""A game's whole state is one value: saved at any round, loaded anywhere, played on bit for bit."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from flgames.core.loop import Play
from flgames.core.method import Method
from flgames.core.records import RoundRecord
from flgames.data.samples import ArraySamples, Samples
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.server import Game
from flgames.methods.registry import METHODS, make
from flgames.models.architecture import Architecture
from flgames.models.linear import linear_architecture
from tests.toys import Records, flat, perceptrons, set_up, suited


def dropped_out() -> Architecture:
    return Architecture(
        lambda: nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2)),
        lambda: nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.2)),
    )


GAMES: dict[str, tuple[Architecture, dict[str, Any]]] = {
    "f": (perceptrons(), {"batch_size": 8, "schedule": "clockwise"}),
    "f smooth, random": (perceptrons(), {"batch_size": 8, "memory": 3, "schedule": "random"}),
    "f, full batch": (perceptrons(), {"full_batch": True, "memory": 2, "local_steps": 2}),
    "v smooth": (perceptrons(variable=True), {"representation": "variable", "memory": 3, "batch_size": 8}),
    "v fast, own modules": (dropped_out(), {"representation": "variable", "phi_batches": "all"}),
    "linear smooth": (linear_architecture((6,), 2), {"batch_size": 8, "memory": 3, "schedule": "random"}),
    "linear, settled": (linear_architecture((6,), 2), {"batch_size": 8, "settle": "always"}),
}
"""FL Games as it is played in several ways."""

KNOBS: dict[str, dict[str, Any]] = {
    "fedavg": {"local_steps": 2, "batch_size": 8},
    "fedprox": {"local_steps": 2, "batch_size": 8},
    "fedbn": {"local_steps": 2, "batch_size": 8},
    "fedgma": {"local_steps": 2, "batch_size": 8},
    "fedmedian": {"local_steps": 2, "batch_size": 8},
    "local-mean": {"batch_size": 8},
    "fedsgd": {"batches": 2, "batch_size": 8},
    "irm": {"batches": "all", "penalty": 3.0, "anneal": 4},
    "vrex": {"batch_size": 8, "penalty": 3.0, "anneal": 4},
    "group-dro": {"batch_size": 8, "eta": 0.5},
}
"""Of methods whose defaults would leave something untried; all others are played as they are."""


def made(name: str) -> Method:
    if name in GAMES:
        architecture, knobs = GAMES[name]
        return Game(architecture, FLGamesConfig(**knobs))
    return make(name, suited(name) if name == "logistic" else dropped_out(), KNOBS.get(name, {}))


def new_play(method: Method, rounds: int = 12, validation: float = 0.0) -> Play:
    return set_up(method, disagreeing_clients(), rounds, validation=validation, measure_samples=64)


def disagreeing_clients() -> dict[str, Samples]:
    """The first column says something else at each of them, so that a game can be settled."""
    draw = torch.Generator().manual_seed(1)
    clients: dict[str, Samples] = {}
    for (name, size), effect in zip({"a": 40, "b": 30, "c": 35}.items(), (2.0, -2.0, 0.0), strict=True):
        inputs = torch.randn(size, 6, generator=draw)
        said = effect * inputs[:, 0] + torch.randn(size, generator=draw)
        clients[name] = ArraySamples(inputs, (said > 0).long())
    return clients


def finish(play: Play) -> tuple[torch.Tensor, list[RoundRecord]]:
    records = Records()
    play.run([records])
    return flat(play.server), [record.model_copy(update={"seconds": 0.0}) for record in records.heard]


@pytest.mark.parametrize("name", [*GAMES, *METHODS])
@pytest.mark.parametrize(("stop", "validation"), [(0, 0.0), (5, 0.0), (5, 0.2)])
def test_goes_on_bit_for_bit(name: str, stop: int, validation: float) -> None:
    whole = new_play(made(name), validation=validation)
    whole.start()
    weights, lines = finish(whole)

    begun = new_play(made(name), stop, validation)
    begun.start()
    begun.run()
    state = begun.state_dict()
    state["end"] = None
    begun.rounds, begun.end = stop + 2, None
    begun.run()  # playing on does not change the state that was taken

    for _ in range(2):  # and loading it does not use it up
        resumed = new_play(made(name), validation=validation)
        resumed.load_state_dict(state)
        again, rest = finish(resumed)
        assert torch.equal(again, weights)
        assert rest == lines[stop:]


@pytest.mark.parametrize("name", [*GAMES, *METHODS])
def test_a_method_can_be_played_twice(name: str) -> None:
    method = made(name)
    results = []
    for _ in range(2):
        play = new_play(method, rounds=6)
        play.start()
        results.append(finish(play))
    assert torch.equal(results[0][0], results[1][0])
    assert results[0][1] == results[1][1]


@pytest.mark.parametrize("validation", [0.0, 0.2])
def test_the_settled_game_above_is_settled(validation: float) -> None:
    play = new_play(made("linear, settled"), validation=validation)
    play.start()
    found = play.method.finding()
    assert found is not None
    assert found.settled
    assert [each.column for each in found.contested] == [0]


def test_what_was_computed_before_is_forgotten() -> None:
    def play(learning_rate: float) -> Play:
        game = new_play(Game(perceptrons(), FLGamesConfig(batch_size=8, learning_rate=learning_rate)), rounds=3)
        game.start()
        game.run()
        return game

    slow, fast = play(1e-3), play(0.5)
    expected = slow.server.measure(105)
    fast.load_state_dict(slow.state_dict())
    measured = fast.server.measure(105)
    assert {k: c.loss_sum for k, c in measured.clients.items()} == {k: c.loss_sum for k, c in expected.clients.items()}

"""A game's whole state is one value: saved at any round, loaded anywhere, played on bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from flgames.core.method import Method
from flgames.methods.fedavg import FedAvg, FedAvgRules
from flgames.methods.fedbn import FedBN, FedBNRules
from flgames.methods.fedgma import FedGMA, FedGMARules
from flgames.methods.fedprox import FedProx, FedProxRules
from flgames.methods.fedsgd import FedSGD
from flgames.methods.fl_games.server import Game
from flgames.methods.group_dro import GroupDRO, GroupDRORules
from flgames.methods.irm import IRM, IRMRules
from flgames.methods.shared_gradient import GradientRules
from flgames.methods.vrex import VREx, VRExRules
from flgames.models.architecture import Architecture
from flgames.core.loop import Observers, Play
from flgames.methods.fl_games.config import Rules
from tests.toys import flat, perceptrons, random_clients, set_up


def dropped_out() -> Architecture:
    return Architecture(
        lambda: nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2)),
        lambda: nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.2)),
    )


METHODS: dict[str, Callable[[], Method]] = {
    "f": lambda: Game(perceptrons(), Rules(batch_size=8, schedule="clockwise")),
    "f smooth, random": lambda: Game(perceptrons(), Rules(batch_size=8, memory=3, schedule="random")),
    "f, full batch": lambda: Game(perceptrons(), Rules(full_batch=True, memory=2, local_steps=2)),
    "v smooth": lambda: Game(perceptrons(variable=True), Rules(representation="variable", memory=3, batch_size=8)),
    "v fast, own modules": lambda: Game(dropped_out(), Rules(representation="variable", phi_batches="all")),
    "fedavg": lambda: FedAvg(dropped_out(), FedAvgRules(local_steps=2, batch_size=8)),
    "fedprox": lambda: FedProx(dropped_out(), FedProxRules(local_steps=2, batch_size=8)),
    "fedbn": lambda: FedBN(dropped_out(), FedBNRules(local_steps=2, batch_size=8)),
    "fedgma": lambda: FedGMA(dropped_out(), FedGMARules(local_steps=2, batch_size=8)),
    "fedsgd": lambda: FedSGD(dropped_out(), GradientRules(batches=2, batch_size=8)),
    "irm": lambda: IRM(dropped_out(), IRMRules(batches="all", penalty=3.0, anneal=4)),
    "vrex": lambda: VREx(dropped_out(), VRExRules(batch_size=8, penalty=3.0, anneal=4)),
    "group dro": lambda: GroupDRO(dropped_out(), GroupDRORules(batch_size=8, eta=0.5)),
}


def new_play(method: Method, rounds: int = 12) -> Play:
    return set_up(method, random_clients(40, 30, 35), rounds, measure_samples=64)


def finish(play: Play) -> tuple[torch.Tensor, list[dict[str, Any]]]:
    lines: list[dict[str, Any]] = []
    play.run(Observers(lambda round_: lines.append(round_.as_dict() | {"seconds": 0})))
    return flat(play.server), lines


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("stop", [0, 5])
def test_goes_on_bit_for_bit(name: str, stop: int) -> None:
    whole = new_play(METHODS[name]())
    whole.start()
    weights, lines = finish(whole)

    begun = new_play(METHODS[name](), rounds=stop)
    begun.start()
    begun.run()
    state = begun.state_dict()
    state["end"] = None
    begun.rounds, begun.end = stop + 2, None
    begun.run()  # playing on does not change the state that was taken

    for _ in range(2):  # and loading it does not use it up
        resumed = new_play(METHODS[name]())
        resumed.load_state_dict(state)
        again, rest = finish(resumed)
        assert torch.equal(again, weights)
        assert rest == lines[stop:]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_can_be_played_twice(name: str) -> None:
    method = METHODS[name]()
    results = []
    for _ in range(2):
        play = new_play(method, rounds=6)
        play.start()
        results.append(finish(play))
    assert torch.equal(results[0][0], results[1][0])
    assert results[0][1] == results[1][1]


def test_what_was_computed_before_is_forgotten() -> None:
    def play(learning_rate: float) -> Play:
        game = new_play(Game(perceptrons(), Rules(batch_size=8, learning_rate=learning_rate)), rounds=3)
        game.start()
        game.run()
        return game

    slow, fast = play(1e-3), play(0.5)
    expected = slow.server.measure(105)
    fast.load_state_dict(slow.state_dict())
    measured = fast.server.measure(105)
    assert {k: c.loss_sum for k, c in measured.clients.items()} == {k: c.loss_sum for k, c in expected.clients.items()}

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch

from flgames.core.local import LocalFederation
from flgames.core.messages import Answers, Ask
from flgames.core.records import Traffic
from flgames.core.server import Server
from flgames.errors import ClientFailure
from flgames.methods.fedavg import FedAvg, FedAvgConfig
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.server import Game
from tests.toys import SQUARED, flat, one_sample_each, perceptrons, random_clients, seat, slopes, squared_config

WEIGHT = 4
"""Bytes of the one weight of a Slope."""
NUMBER = 8


def test_each_action_travels_to_each_client_once() -> None:
    method = Game(SQUARED, squared_config(memory=5))
    server = seat(method, one_sample_each(4.0, 2.0, 1.0))
    server.take_traffic()
    method.round(server, 0, 0)
    # Down: three initial actions and the number t. Up: the own action and the loss.
    assert server.take_traffic() == dict.fromkeys("abc", Traffic(down=3 * WEIGHT + NUMBER, up=WEIGHT + NUMBER))
    method.round(server, 1, 0)
    # Down: the two opponents' actions of round 0; nobody is sent its own.
    assert server.take_traffic() == dict.fromkeys("abc", Traffic(down=2 * WEIGHT + NUMBER, up=WEIGHT + NUMBER))


def test_memory_costs_no_bytes() -> None:
    totals = []
    for memory in (0, 5):
        method = Game(SQUARED, squared_config(memory=memory))
        server = seat(method, one_sample_each(4.0, 2.0))
        for round_ in range(8):
            method.round(server, round_, 0)
        totals.append(server.take_traffic())
    assert totals[0] == totals[1]


class Unreliable(LocalFederation):
    """Some clients don't answer some tasks."""

    failing: tuple[str, ...] = ()

    def ask(self, asks: Mapping[str, Ask], timeout: float | None = None) -> Answers:
        there = super().ask({name: ask for name, ask in asks.items() if name not in self.failing}, timeout)
        return Answers(there.answered, {name: "no answer within 5 s" for name in asks if name in self.failing})


def unreliable(method: Game) -> tuple[Server, Unreliable]:
    clients = one_sample_each(4.0, 2.0)
    federation = Unreliable.of(method, clients, seed=0)
    server = Server(federation, method.memory)
    server.introduce()
    method.start(server, 0)
    return server, federation


def test_a_client_that_fails_keeps_its_last_action_and_catches_up() -> None:
    method = Game(SQUARED, squared_config())
    server, federation = unreliable(method)
    method.round(server, 0, 0)
    federation.failing = ("b",)
    method.round(server, 1, 0)
    assert slopes(server) == [3.5, 1.5]
    assert server.take_failures() == {"b": "no answer within 5 s"}
    federation.failing = ()
    method.round(server, 2, 0)
    # b knows a's action of round 1, which it missed: e = 2.5 for both.
    assert slopes(server) == [4.25, 1.25]


class Forgetful(Unreliable):
    """The question arrives, the answer is lost."""

    def ask(self, asks: Mapping[str, Ask], timeout: float | None = None) -> Answers:
        there = LocalFederation.ask(self, asks, timeout)
        kept = {name: answer for name, answer in there.answered.items() if name not in self.failing}
        return Answers(kept, {name: "lost" for name in asks if name in self.failing})


def test_an_answer_that_is_lost_does_not_stop_the_game() -> None:
    method = Game(SQUARED, squared_config(memory=2))
    federation = Forgetful.of(method, one_sample_each(4.0, 2.0), seed=0)
    server = Server(federation, 2)
    server.introduce()
    method.start(server, 0)
    method.round(server, 0, 0)
    federation.failing = ("b",)
    method.round(server, 1, 0)
    assert slopes(server) == [3.5, 1.5], "the action that was lost was not played"
    federation.failing = ()
    method.round(server, 2, 0)
    assert server.known.buffers["b"].current.version == 3


def test_nobody_answers() -> None:
    method = Game(SQUARED, squared_config())
    server, federation = unreliable(method)
    federation.failing = ("a", "b")
    with pytest.raises(ClientFailure, match="No client answered 'respond'"):
        method.round(server, 0, 0)


def test_simultaneous_players_do_not_see_each_other_move() -> None:
    forwards = seat(Game(perceptrons(), FLGamesConfig()), random_clients(40, 40))
    method = Game(perceptrons(), FLGamesConfig())
    server = seat(method, random_clients(40, 40))
    method.round(server, 0, 0)
    answers = forwards.ask("respond", ("b", "a"), method.predictor_form, t=1)
    for player in ("a", "b"):
        for name, tensor in answers[player].tensors.items():
            assert torch.equal(tensor, server.known.buffers[player].current.weights[name])


def test_fedavg_is_the_mean_by_samples() -> None:
    clients, architecture = random_clients(30, 10), perceptrons()
    method = FedAvg(architecture, FedAvgConfig(local_steps=3, batch_size=8))
    server = seat(method, clients)
    answers = server.ask("train", server.clients, method.predictor_form)
    expected = {
        name: 0.75 * answers["a"].tensors[name] + 0.25 * answers["b"].tensors[name] for name in answers["a"].tensors
    }
    again = FedAvg(architecture, FedAvgConfig(local_steps=3, batch_size=8))
    fresh = seat(again, clients)
    again.round(fresh, 0, 0)
    for name, tensor in expected.items():
        torch.testing.assert_close(fresh.known.current[0].weights[name], tensor)


def test_fedavg_trains_phi_and_predictor_as_one_model() -> None:
    method = FedAvg(perceptrons(variable=True))
    server = seat(method, random_clients(30, 10))
    before = flat(server)
    method.round(server, 0, 0)
    assert server.known.phi is None
    assert len(flat(server)) == len(before)
    assert not torch.equal(flat(server), before)

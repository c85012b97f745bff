"""Many players that are not linear: opponents that are looked up or drawn, and counts of all clients in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from flgames.core.loop import Play
from flgames.core.messages import Action
from flgames.methods.fl_games import client as fl_games_client
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.memory import drawn
from flgames.methods.fl_games.server import Game
from flgames.models.architecture import Architecture
from tests.toys import Records, random_clients, set_up

CLIENTS = random_clients(19, 12, 12, 3, 7)
"""The fourth has less than a batch."""

PERCEPTRON = Architecture(lambda: nn.Sequential(nn.Linear(6, 5), nn.ELU(), nn.Linear(5, 2)))


def game(**knobs: Any) -> Game:
    return Game(PERCEPTRON, FLGamesConfig(learning_rate=0.05, batch_size=4, **knobs))


def played(rounds: int = 10, **knobs: Any) -> tuple[Play, Records]:
    play, records = set_up(game(**knobs), CLIENTS, rounds), Records()
    play.start()
    play.run([records])
    return play, records


@pytest.mark.parametrize(
    "knobs", [{}, {"memory": 3}, {"memory": 2, "memory_mode": "paper", "local_steps": "all"}, {"participation": 0.5}]
)
def test_opponents_that_are_looked_up_say_the_same(knobs: dict[str, Any]) -> None:
    (anew, _), (looked_up, _) = (played(look_up=each, **knobs) for each in (False, True))
    for name, tensor in anew.ensemble().tensors().items():
        torch.testing.assert_close(looked_up.ensemble().tensors()[name], tensor, rtol=0, atol=1e-6)


def test_an_opponent_that_is_looked_up_is_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fl_games_client, "opponents_logits", None)
    played(look_up=True, memory=3)
    with pytest.raises(TypeError):
        played(memory=3)


@pytest.mark.parametrize("knobs", [{}, {"memory": 3}, {"opponents": 2}, {"ensemble": "balanced"}], ids=str)
def test_counts_in_one_pass_are_those_of_each_client(knobs: dict[str, Any]) -> None:
    (apart, heard), (batched, heard_too) = (played(batched=each, **knobs) for each in (False, True))
    for name, tensor in apart.ensemble().tensors().items():
        assert batched.ensemble().tensors()[name].equal(tensor), "counting changes nothing"
    for record, too in zip(heard.heard, heard_too.heard, strict=True):
        assert (too.bytes, too.accuracy_of, too.samples) == (record.bytes, record.accuracy_of, record.samples)
        assert too.loss_of == pytest.approx(record.loss_of, abs=1e-5)


def test_few_samples_a_client_are_counted_where_few_are_asked_for() -> None:
    play = set_up(game(batched=True), CLIENTS, 1)
    play.start()
    play.run()
    assert {name: counts.samples for name, counts in play.server.measure(25).clients.items()} == {
        "a": 5, "b": 5, "c": 5, "d": 3, "e": 5,
    }  # fmt: skip


@pytest.mark.parametrize("count", [1, 2, 3])
def test_drawn_opponents_stand_for_all_of_them(count: int) -> None:
    actions = {name: [Action(name, version, {}) for version in (1, 2)] for name in "abc"}
    terms = [(0.25 * (1 + place), action) for place, own in enumerate(actions.values()) for action in own]
    draw, total = np.random.default_rng(0), dict.fromkeys([action.key for _, action in terms], 0.0)
    for _ in range(6000):
        found = drawn(terms, count, draw)
        assert len({action.author for _, action in found}) == count
        assert len(found) == 2 * count, "an opponent comes with its memory"
        for weight, action in found:
            total[action.key] += weight / 6000
    assert total == pytest.approx({action.key: weight for weight, action in terms}, rel=0.05)


def test_as_many_opponents_as_there_are_is_the_game_itself() -> None:
    (whole, _), (sampled, _), (few, _) = played(memory=2), played(memory=2, opponents=4), played(memory=2, opponents=1)
    tensors, others = sampled.ensemble().tensors(), few.ensemble().tensors()
    assert all(tensors[name].equal(tensor) for name, tensor in whole.ensemble().tensors().items())
    assert any(not others[name].equal(tensor) for name, tensor in tensors.items())


@pytest.mark.parametrize("knobs", [{"opponents": 2, "memory": 2}, {"look_up": True, "memory": 2}, {"batched": True}])
def test_it_goes_on_where_it_was(knobs: dict[str, Any]) -> None:
    whole, _ = played(**knobs)
    half, _ = played(rounds=4, **knobs)
    later = set_up(half.method, CLIENTS, 10)
    later.load_state_dict(half.state_dict() | {"end": None})
    later.run()
    for name, tensor in whole.ensemble().tensors().items():
        assert later.ensemble().tensors()[name].equal(tensor)

"""Linear players: told of each other by their mean, they play the same game, with less traffic."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from flgames.core.loop import Play
from flgames.core.messages import HISTORY, MODEL
from flgames.data.samples import Samples
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.server import Game
from flgames.models.architecture import Architecture
from flgames.models.linear import is_linear
from tests.toys import Records, flat, one_sample_each, play_slopes, random_clients, seat, set_up, squared_config

INPUTS = 6
LINEAR = Architecture(lambda: nn.Linear(INPUTS, 2), linear=True)
WEIGHTS = 4 * (INPUTS * 2 + 2)
"""Bytes of one action."""


def played(sums: bool, clients: dict[str, Samples], rounds: int = 12, **knobs: Any) -> tuple[Play, Records]:
    method = Game(replace(LINEAR, linear=sums), FLGamesConfig(learning_rate=0.05, batch_size=4, **knobs))
    play, records = set_up(method, clients, rounds), Records()
    play.start()
    play.run([records])
    return play, records


@pytest.mark.parametrize(
    "knobs",
    [
        {"memory": memory, "memory_mode": mode, **more}
        for memory, mode in ((0, "history"), (5, "history"), (3, "paper"), (3, "normalised"))
        for more in ({}, {"schedule": "clockwise"}, {"schedule": "random"}, {"participation": 0.5})
    ]
    + [{"memory": 5, "local_steps": 3}, {"memory": 2, "full_batch": True}],
    ids=str,
)
def test_the_weights_are_those_of_the_general_path(knobs: dict[str, Any]) -> None:
    clients = random_clients(9, 12, 7, inputs=INPUTS)
    (general, _), (sums, _) = played(False, clients, **knobs), played(True, clients, **knobs)
    one, other = general.ensemble().tensors(), sums.ensemble().tensors()
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        torch.testing.assert_close(other[name], tensor, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "knobs",
    [
        {"memory": memory, "memory_mode": mode, **more}
        for memory, mode in ((0, "history"), (5, "history"), (3, "paper"), (3, "normalised"))
        for more in ({}, {"schedule": "clockwise"}, {"participation": 0.5}, {"local_steps": 3, "optimiser": "sgd"})
    ],
    ids=str,
)
def test_all_at_once_the_weights_are_those_of_one_by_one(knobs: dict[str, Any]) -> None:
    clients = random_clients(9, 12, 12, 3, 7, inputs=INPUTS)  # the fourth has less than a batch
    (apart, heard), (batched, heard_too) = (played(True, clients, batched=each, **knobs) for each in (False, True))
    one, other = apart.ensemble().tensors(), batched.ensemble().tensors()
    for name, tensor in one.items():
        torch.testing.assert_close(other[name], tensor, rtol=0, atol=1e-6)
    for record, too in zip(heard.heard, heard_too.heard, strict=True):
        assert too.bytes == record.bytes
        assert too.accuracy_of == record.accuracy_of
        assert too.loss_of == pytest.approx(record.loss_of, abs=1e-5)


def test_all_at_once_goes_on_where_it_was() -> None:
    clients = random_clients(9, 12, 7, inputs=INPUTS)
    whole, _ = played(True, clients, memory=2, batched=True)
    half, _ = played(True, clients, rounds=5, memory=2, batched=True)
    state = half.state_dict() | {"end": None}
    later = set_up(half.method, clients, 12)
    later.load_state_dict(state)
    later.run()
    for name, tensor in whole.ensemble().tensors().items():
        assert later.ensemble().tensors()[name].equal(tensor)


@pytest.mark.parametrize("knobs", [{"opponents": 1}, {"look_up": True}], ids=str)
def test_linear_opponents_are_one(knobs: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="answered as one"):
        played(True, random_clients(9, 12, inputs=INPUTS), **knobs)


def test_by_hand() -> None:
    """Two players of y = w x with the targets 4 and 2: the numbers of the general path, which are worked out there."""
    config = squared_config(memory=2)
    assert is_linear(nn.Linear(1, 1, bias=False))
    history = play_slopes(config, 4)
    method = Game(Architecture(_one, loss=nn.functional.mse_loss, linear=True), config)
    server = seat(method, one_sample_each(4.0, 2.0))
    for round_, expected in enumerate(history):
        method.round(server, round_, 0)
        found = [server.known.buffers[name].current.weights["weight"].item() for name in ("a", "b")]
        assert found == pytest.approx(expected, rel=1e-6)
        assert server.known.buffers[MODEL].current.weights["weight"].item() == pytest.approx(sum(expected) / 2)


def _one() -> nn.Linear:
    layer = nn.Linear(1, 1, bias=False)
    nn.init.ones_(layer.weight)
    return layer


@pytest.mark.parametrize("clients", [3, 6])
def test_a_client_is_told_one_predictor_a_round(clients: int) -> None:
    everybody = random_clients(*([8] * clients), inputs=INPUTS)
    play, records = played(True, everybody, rounds=4, memory=5)
    numbers = 8 * 3  # t and players, and how many samples to count
    for record in records.heard[1:]:
        assert {each.down for each in record.bytes.values()} == {WEIGHTS + numbers}
    _, general = played(False, everybody, rounds=4, memory=5)
    assert {each.down for each in general.heard[-1].bytes.values()} == {(clients - 1) * WEIGHTS + numbers - 8}
    assert HISTORY not in play.server.known.buffers, "where all move together, the mean's history is theirs"


def test_nobody_hears_of_another_players_weights() -> None:
    play, _ = played(True, random_clients(8, 8, 8, inputs=INPUTS), rounds=3, memory=5, schedule="clockwise")
    for name, client in play.federation._clients.items():  # type: ignore[attr-defined]
        assert set(client.known.buffers) == {name, MODEL, HISTORY}


def test_it_resumes_bit_for_bit() -> None:
    clients = random_clients(9, 12, 7, inputs=INPUTS)
    config = FLGamesConfig(memory=3, learning_rate=0.05, batch_size=4, participation=0.5)
    plays = [set_up(Game(LINEAR, config), clients, 9) for _ in range(3)]
    whole, first, second = plays
    whole.start()
    whole.run()
    first.start()
    first.run(interrupted=lambda: first.next_round == 4)
    second.load_state_dict(first.state_dict())
    second.run()
    assert torch.equal(flat(whole.server), flat(second.server))


def test_players_that_are_not_linear_have_no_mean() -> None:
    bent = Architecture(lambda: nn.Sequential(nn.Linear(INPUTS, 2), nn.Tanh()), linear=True)
    with pytest.raises(ValueError, match="one linear layer"):
        Game(bent, FLGamesConfig())


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        (nn.Linear(3, 2), True),
        (nn.Sequential(nn.Flatten(), nn.Linear(3, 2)), True),
        (nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2)), False),
        (nn.Sequential(nn.Flatten(), nn.Linear(3, 2), nn.Tanh()), False),
        (nn.Sequential(nn.Tanh(), nn.Linear(3, 2)), False),
        (nn.Sequential(), False),
        (nn.Identity(), False),
    ],
    ids=str,
)
def test_what_is_linear(module: nn.Module, expected: bool) -> None:
    assert is_linear(module) is expected

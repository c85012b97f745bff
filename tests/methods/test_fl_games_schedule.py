from __future__ import annotations

from flgames.core.steps import batches_in
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.schedule import movers, predictor_round, turn

PLAYERS = ("a", "b", "c")


def test_fixed_phi_has_predictor_rounds_only() -> None:
    assert [predictor_round(FLGamesConfig(), r, 3) for r in range(4)] == [1, 2, 3, 4]


def test_variable_phi_moves_in_even_rounds() -> None:
    config = FLGamesConfig(representation="variable")
    assert [predictor_round(config, r, 3) for r in range(6)] == [None, 1, None, 2, None, 3]
    assert turn(config, 0, PLAYERS, 0).movers == PLAYERS


def test_phi_once_a_sweep() -> None:
    config = FLGamesConfig(representation="variable", phi_every="sweep", schedule="clockwise")
    turns = [turn(config, r, PLAYERS, 0) for r in range(8)]
    assert [now.t for now in turns] == [None, 1, 2, 3, None, 4, 5, 6]
    assert [now.movers[0] for now in turns if now.t] == ["a", "b", "c", "a", "b", "c"]
    at_once = FLGamesConfig(representation="variable", phi_every="sweep")
    assert [predictor_round(at_once, r, 3) for r in range(4)] == [None, 1, None, 2], "all players move in one round"
    assert [predictor_round(FLGamesConfig(representation="variable", phi_every=2), r, 3) for r in range(4)] == [
        None,
        1,
        2,
        None,
    ]


def test_clockwise() -> None:
    config = FLGamesConfig(schedule="clockwise")
    assert [movers(config, t, PLAYERS, 0) for t in range(1, 5)] == [("a",), ("b",), ("c",), ("a",)]


def test_simultaneous() -> None:
    assert movers(FLGamesConfig(), 1, PLAYERS, 0) == PLAYERS


def test_random_draws_one_and_reaches_all() -> None:
    drawn = [movers(FLGamesConfig(schedule="random"), t, PLAYERS, 0) for t in range(1, 40)]
    assert {len(moving) for moving in drawn} == {1}
    assert {moving[0] for moving in drawn} == set(PLAYERS)
    assert drawn == [movers(FLGamesConfig(schedule="random"), t, PLAYERS, 0) for t in range(1, 40)]
    assert drawn != [movers(FLGamesConfig(schedule="random"), t, PLAYERS, 1) for t in range(1, 40)]


def test_participation() -> None:
    players = [f"p{i}" for i in range(10)]
    config = FLGamesConfig(participation=0.3)
    drawn = [movers(config, t, players, 0) for t in range(1, 60)]
    assert {len(moving) for moving in drawn} == {3}
    assert {player for moving in drawn for player in moving} == set(players)
    assert all(list(moving) == sorted(moving) for moving in drawn)
    assert len(movers(FLGamesConfig(participation=0.01), 1, players, 0)) == 1


def test_shares_of_batches() -> None:
    assert batches_in(3, 1000, 256) == 3
    assert batches_in("all", 1000, 256) == 4
    assert batches_in("50%", 1000, 256) == 2
    assert batches_in("1%", 1000, 256) == 1
    assert FLGamesConfig(phi_batches="100%").phi_batches == "all"

"""Two linear players with squared loss, by hand.

Client a has (x, y) = (1, 4), client b has (1, 2); both players start at w = 1 and step by 1/2. With e the ensemble's
output a player's gradient is 2 x own weight x (e - y); without memory the own weight is 1/2, so w moves by (y - e)/2.
"""

from __future__ import annotations

import pytest

from flgames.methods.fl_games.schedule import movers
from tests.toys import play_slopes, squared_config


def test_simultaneous() -> None:
    assert play_slopes(squared_config(), 3) == [[2.5, 1.5], [3.5, 1.5], [4.25, 1.25]]


def test_clockwise() -> None:
    config = squared_config(schedule="clockwise")
    assert play_slopes(config, 3) == [[2.5, 1.0], [2.5, 1.125], [3.59375, 1.125]]


def test_random_moves_the_drawn_player_only() -> None:
    config = squared_config(schedule="random")
    state, targets = {"a": 1.0, "b": 1.0}, {"a": 4.0, "b": 2.0}
    expected = []
    for t in range(1, 9):
        (mover,) = movers(config, t, ["a", "b"], seed=3)
        state[mover] += (targets[mover] - (state["a"] + state["b"]) / 2) / 2
        expected.append([state["a"], state["b"]])
    assert len({tuple(row) for row in expected}) == 8
    assert play_slopes(config, 8, seed=3) == expected


def test_history_answers_to_the_mean_of_the_buffer() -> None:
    # From round 2 on b answers to (2.5 + 3.5)/2 = 3; in round 3 the buffer of two has dropped 2.5.
    expected = [[2.5, 1.5], [3.5, 1.5], [4.25, 1.375], [4.828125, 1.0625]]
    assert play_slopes(squared_config(memory=2), 4) == expected


def test_history_in_clockwise_play() -> None:
    # a: 1 -> 2.5; b: e = 1.75; a: e = (2.5 + 1.125)/2; b: a's buffer is (2.5, 3.59375), mean 3.046875.
    b = 1.125 + (2 - (1.125 + 3.046875) / 2) / 2
    expected = [[2.5, 1.0], [2.5, 1.125], [3.59375, 1.125], [3.59375, b]]
    assert play_slopes(squared_config(memory=2, schedule="clockwise"), 4) == expected


def test_paper_counts_an_opponent_twice() -> None:
    # Round 0: e = (1 + 1 + 1)/2, for the opponent that has not played stands in for its own buffer.
    expected = [[2.25, 1.25], [3.0625, 0.8125], [3.8359375, 0.1796875]]
    assert play_slopes(squared_config(memory=2, memory_mode="paper"), 3) == expected


def test_normalised_divides_by_the_weights_present() -> None:
    # Own weight 1/3: round 0 has e = 1, so a moves by (2/3)(4 - 1)/2 = 1 and b by (2/3)(2 - 1)/2 = 1/3.
    played = play_slopes(squared_config(memory=2, memory_mode="normalised"), 2)
    assert played[0] == pytest.approx([2, 4 / 3], abs=1e-6)
    assert played[1] == pytest.approx([76 / 27, 38 / 27], abs=1e-6)


def test_memory_of_one_in_history_mode_is_no_memory() -> None:
    assert play_slopes(squared_config(memory=1), 5) == play_slopes(squared_config(), 5)


def test_local_steps_repeat_against_the_same_opponents() -> None:
    # a alone: e = 1, then (2.5 + 1)/2 = 1.75; b: 1, then (1.5 + 1)/2 = 1.25.
    assert play_slopes(squared_config(local_steps=2), 1) == [[2.5 + 1.125, 1.5 + 0.375]]


def test_local_steps_approach_the_exact_best_response() -> None:
    # Against b = 1 the best response of a makes e = 4: w_a = 7; against a = 1, w_b = 3.
    (after,) = play_slopes(squared_config(local_steps=60), 1)
    assert after == pytest.approx([7, 3], abs=1e-5)


def test_who_sits_out_keeps_its_last_action() -> None:
    config = squared_config(participation=0.5)
    previous = [1.0, 1.0]
    for t, now in enumerate(play_slopes(config, 6), start=1):
        (mover,) = movers(config, t, ["a", "b"], seed=0)
        moved = [before != after for before, after in zip(previous, now, strict=True)]
        assert moved == [mover == "a", mover == "b"]
        previous = now


def test_three_players() -> None:
    # e = 1 and own weight 1/3: each moves by (y - 1)/3.
    (after,) = play_slopes(squared_config(), 1, 4.0, 1.0, -2.0)
    assert after == pytest.approx([2, 1, 0], abs=1e-6)

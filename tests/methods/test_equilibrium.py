"""What a game between linear players computes: where it ends if players are bounded, and how they run apart if not."""

from __future__ import annotations

from statistics import median

import numpy as np
import pytest

from tests.toys import play_slopes, squared_config

BOUND = 20.0


def equilibrium(optima: list[float]) -> float:
    """Players in turn answer exactly: each makes the sum its own optimum, as far as its bound allows."""
    players = [0.0] * len(optima)
    for _ in range(1000):
        for k, wanted in enumerate(optima):
            others = sum(players) - players[k]
            players[k] = float(np.clip(wanted - others, -BOUND, BOUND))
    return sum(players)


@pytest.mark.parametrize("clients", [2, 3, 4, 5, 7])
def test_bounded_players_end_at_the_median_of_the_clients_optima(clients: int) -> None:
    """With 0 among them, if their number is even."""
    draw = np.random.default_rng(clients)
    for _ in range(50):
        optima = (draw.choice(np.arange(-29, 30), clients, replace=False) / 10).tolist()
        assert equilibrium(optima) == pytest.approx(median([*optima, *([0.0] if clients % 2 == 0 else [])]), abs=1e-6)


def test_two_clients_keep_the_weaker_shortcut() -> None:
    """Of two shortcuts with one sign the equilibrium is the weaker one: the paper's result is a state on the way."""
    assert equilibrium([2.2, 1.39]) == pytest.approx(1.39)
    assert equilibrium([1.5, -0.4]) == pytest.approx(0.0), "of opposite signs nothing is left"


def test_players_without_a_bound_run_apart_by_as_much_every_round() -> None:
    """Each moves by (own optimum - ensemble) / 2: the ensemble goes to the mean, the players away from each other."""
    history = play_slopes(squared_config(), 40, 4.0, 2.0)
    differences = [a - b for a, b in history]
    assert np.diff(differences) == pytest.approx(np.full(39, (4 - 2) / 2))
    assert sum(history[-1]) / 2 == pytest.approx(3.0, abs=1e-6)

"""Players that are held where their peers are: `player_clip`."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from flgames.core.loop import Play
from flgames.core.norms import norm_of
from flgames.models.architecture import initial_weights
from tests.by_hand import ByHand
from tests.engines.matches import a_match, here, over, played
from tests.engines.test_bad_sites import scaled
from tests.engines.test_linear_players import linear
from tests.toys import flat


def distances(play: Play) -> list[float]:
    """How far players are from where they began."""
    found = []
    for name in play.server.clients:
        first = initial_weights(play.method.architecture.predictor, 0, name)
        now = play.server.known.buffers[name].current.weights
        found.append(norm_of({key: tensor - first[key] for key, tensor in now.items()}))
    return found


@pytest.mark.parametrize("kind", ["mlp", "linear"])
@pytest.mark.parametrize("name", ["parallel-f-fl-games-smooth", "sequential-f-fl-games-smooth"])
def test_a_bounded_game_has_the_same_weights_wherever_it_is_played(name: str, kind: str, tmp_path: Path) -> None:
    """Half of the players are told that they were held: in one process, in several, and here."""
    match = a_match(name, rounds=7, player_clip=1.0)
    match = linear(match) if kind == "linear" else match
    one = played(here(match))
    for processes in (1, 2):
        there = played(over(ByHand(tmp_path / str(processes), processes=processes, forgets=processes > 1), match))
        assert torch.equal(flat(there.server), flat(one.server))
    free = a_match(name, rounds=7)
    assert not torch.equal(flat(played(here(linear(free) if kind == "linear" else free)).server), flat(one.server))


def test_nobody_is_further_than_the_bound(tmp_path: Path) -> None:
    exchange = ByHand(tmp_path)
    play = over(exchange, a_match(rounds=4, player_clip=2.0))
    play.start()
    exchange.spoils = {"client-2": scaled(50)}
    play.run()
    near, middle, far = sorted(distances(play))
    assert near <= middle
    assert far == pytest.approx(2 * middle, rel=1e-4)


def test_a_bound_that_nobody_reaches_changes_nothing() -> None:
    assert torch.equal(
        flat(played(here(a_match(rounds=4, player_clip=100.0))).server), flat(played(here(a_match(rounds=4))).server)
    )

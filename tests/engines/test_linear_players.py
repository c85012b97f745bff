"""Linear players over clients somewhere else: the mean is all that they hear of each other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from flgames.core.loop import Play
from flgames.models.networks import Linear
from flgames.runs.match import Match
from tests.by_hand import CLIENTS, ByHand
from tests.engines.matches import a_match, here, over, played
from tests.toys import flat


def linear(match: Match) -> Match:
    """The same game between linear players."""
    return match.model_copy(update={"entry": match.entry.model_copy(update={"network": Linear()})})


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("name", ["parallel-f-fl-games-smooth", "sequential-f-fl-games-smooth"])
def test_linear_players_end_with_the_same_weights_wherever_they_are(name: str, processes: int, tmp_path: Path) -> None:
    match = linear(a_match(name, rounds=8))
    there = played(over(ByHand(tmp_path, processes=processes, forgets=processes > 1), match))
    assert torch.equal(flat(there.server), flat(played(here(match)).server))


def until(play: Play, round_: int) -> Callable[[], bool]:
    """Stops a game before this round."""
    return lambda: play.next_round == round_


def test_a_linear_player_that_was_away_is_told_of_its_own_part_again(tmp_path: Path) -> None:
    """What it sent last may be lost; the mean that it takes its own part off has what the server has."""
    match = linear(a_match(rounds=9))
    ends = []
    for sums in (True, False):
        exchange = ByHand(tmp_path / str(sums))
        play = over(exchange, match)
        play.method.sums = sums  # type: ignore[attr-defined]
        play.start()
        play.run(interrupted=until(play, 3))
        exchange.loses.add(CLIENTS[1])
        play.run(interrupted=until(play, 5))
        exchange.loses.clear()
        play.run()
        ends.append(play.ensemble().tensors())
    for name, tensor in ends[1].items():
        torch.testing.assert_close(ends[0][name], tensor, rtol=1e-3, atol=1e-4)

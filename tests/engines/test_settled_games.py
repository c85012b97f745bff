"""Settled games and balanced ensembles over clients somewhere else: the same weights, whoever restarts or is away."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from flgames.runs.match import Match
from tests.by_hand import CLIENTS, ByHand
from tests.engines.matches import a_match, here, over, played
from tests.toys import flat

GAME, ROUNDS = 5, 9


def settled(name: str = "settled") -> Match:
    """Weights in any case: so few digits give no reason for them."""
    return a_match(name, ROUNDS, settle_after=GAME, settle="always")


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("name", ["settled", "settled-by-local-models"])
def test_a_settled_game_ends_with_the_same_weights_wherever_clients_are(
    name: str, processes: int, tmp_path: Path
) -> None:
    match = settled(name)
    there = played(over(ByHand(tmp_path, processes=processes, forgets=processes > 1), match))
    one = played(here(match))
    assert torch.equal(flat(there.server), flat(one.server))
    assert there.method.finding() == one.method.finding()
    evidence = one.method.evidence(one.server)
    assert all(torch.equal(tensor, evidence[name]) for name, tensor in there.method.evidence(there.server).items())


@pytest.mark.parametrize("stop", [3, GAME, GAME + 2])
def test_sites_that_were_restarted_go_on_bit_for_bit(stop: int, tmp_path: Path) -> None:
    """New processes at every site, and a new server: from the game, from its last round, and from training."""
    match = settled()
    whole = played(over(ByHand(tmp_path / "whole"), match))
    first = over(ByHand(tmp_path / "halves"), match)
    first.start()
    first.run(interrupted=lambda: first.next_round == stop)
    state = first.state_dict()
    second = over(ByHand(tmp_path / "halves"), match)
    second.load_state_dict(state)
    second.run()
    assert torch.equal(flat(second.server), flat(whole.server))
    assert second.method.finding() == whole.method.finding()


@pytest.mark.parametrize("when", [2, GAME + 1])
def test_a_site_that_was_away_catches_up(when: int, tmp_path: Path) -> None:
    """While it is away the others go on; back again, it is told everything and weights its samples as before."""
    match = settled()
    exchange = ByHand(tmp_path)
    play = over(exchange, match)
    play.start()
    play.run(interrupted=lambda: play.next_round == when)
    exchange.away.add(CLIENTS[1])
    play.run(interrupted=lambda: play.next_round == when + 1)
    exchange.away.clear()
    play.run()
    assert play.next_round == ROUNDS
    assert not play.server.absent
    finding = play.method.finding()
    assert finding is not None
    assert set(finding.effective) == set(CLIENTS)


def test_a_balanced_ensemble_is_the_same_wherever_clients_are(tmp_path: Path) -> None:
    match = a_match("balanced", 6)
    there, one = played(over(ByHand(tmp_path), match)), played(here(match))
    assert there.balanced == one.balanced
    assert torch.equal(flat(there.server), flat(one.server))
    tensors = one.chosen().tensors()
    assert all(torch.equal(tensor, tensors[name]) for name, tensor in there.chosen().tensors().items())

"""Rounds with more clients, and beside other frameworks, are measured."""

from __future__ import annotations

import pytest

from flgames.report import peers, scale
from flgames.report.peer import flgames_local, plain, plain_game, products
from flgames.report.scale import Case, exponent, measured


@pytest.mark.parametrize("kind", ["linear", "linear, batched"])
def test_bytes_grow_with_the_number_of_clients(kind: str) -> None:
    few, many = (measured(kind, players, 1.0, rounds=2) for players in (10, 40))
    assert min(few.seconds, many.seconds) > 0
    assert exponent([few, many], "megabytes") == pytest.approx(1)


def test_exponents_are_those_of_powers() -> None:
    cases = [Case("MLP", n, 1.0, 3e-3 * n**2, n, 7.0) for n in (2, 10, 100, 1000)]
    assert exponent(cases, "seconds") == pytest.approx(2)
    assert exponent(cases, "memory") == pytest.approx(0)
    played = [Case(kind, n, part, 1.0, 1.0, 1.0) for kind in scale.MOST for part in (1.0, 0.1) for n in (10, 100)]
    assert scale.markdown(played).count("exponent") == 2 * len(scale.MOST)


@pytest.mark.parametrize("peer", [flgames_local, plain, plain_game, products])
def test_peers_of_one_process_play_rounds(peer: object) -> None:
    clock = peer.play("linear", 3, 2)  # type: ignore[attr-defined]
    assert len(clock) == 3
    assert clock == sorted(clock)


def test_ratios_are_over_flgames() -> None:
    medians = {("linear", 2, "flgames"): 2.0, ("linear", 2, "plain loop"): 1.0, ("linear", 2, "pfl-research"): 5.0}
    games = {("MLP", 2, "flgames"): 4.0, ("MLP", 2, "plain loop"): 5.0}
    text = peers.markdown(medians, games, {("linear", 2): (3.0, 2.0)}, {"pfl-research": "0.6.0"})
    assert "| linear | 2 | 2.0000 | 0.50 | 2.50 |" in text
    assert "| linear | 2 | 3.0000 | 1.50 |" in text
    assert "fedavg,linear,2,plain loop,1.00000" in peers.as_csv(medians, games, {})
    assert "| MLP | 2 | 4.0000 | 1.25 |" in text

from __future__ import annotations

from collections.abc import Mapping

import pytest
from rich.console import Console

from flgames.report import bench
from flgames.report.bench import compare_stop_rounds, time_linear_rounds, time_rounds
from flgames.runs.resolve import resolve
from flgames.runs.settings import Settings


def test_a_round_and_its_products_are_timed() -> None:
    timing = time_rounds(players=2, memory=2, rounds=2, images=600)
    assert timing.samples == 600
    assert min(timing.moves, timing.move_products, timing.measure, timing.measure_products) > 0


def test_rounds_of_linear_players_are_timed() -> None:
    (few, down_few), (many, down_many) = (time_linear_rounds(players, sums=True, rounds=2) for players in (3, 6))
    assert min(few, many) > 0
    assert down_many == 2 * down_few, "bytes grow with the number of clients"
    assert time_linear_rounds(6, sums=False, rounds=2)[1] > 4 * down_many, "and with its square the other way"


def test_stop_rounds_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    def sooner(given: Mapping[str, object]) -> Settings:
        """The same game, which stops after 50 rounds instead of 130."""
        return resolve({**given, "learning_rate": 1e-3, "batch_size": 64})

    monkeypatch.setattr(bench, "resolve", sooner)
    console = Console(width=200)
    with console.capture() as captured:
        compare_stop_rounds(console, "colored-digits")
    said = captured.get()
    assert said.count("ended by rule") == 2
    assert said.strip().endswith("the same round")

from __future__ import annotations

from rich.console import Console

from flgames.report.bench import compare_stop_rounds, time_rounds


def test_a_round_and_its_products_are_timed() -> None:
    timing = time_rounds(players=2, memory=2, rounds=2, images=600)
    assert timing.samples == 600
    assert min(timing.moves, timing.move_products, timing.measure, timing.measure_products) > 0


def test_stop_rounds_are_compared() -> None:
    console = Console(width=200)
    with console.capture() as captured:
        compare_stop_rounds(console, "colored-digits")
    said = captured.get()
    assert said.count("ended by rule") == 2
    assert said.strip().endswith("the same round")

from __future__ import annotations

from typing import Any

import pytest
import torch
from rich.console import Console

from flgames.runs.plan import entries
from flgames.core.counts import Counts, TrainingMeasure
from flgames.evaluation.profile import InvarianceProfile
from flgames.core.method import Move
from flgames.paper.printed import Figure
from flgames.core.loop import Round
from flgames.cli.ui.live import LiveLine
from flgames.report.rows import ACCURACY, COST, Row, long_table
from flgames.runs.settings import resolve


def a_line(clients: int) -> dict[str, Any]:
    counts = {f"client-{k}": Counts(torch.tensor([[80 + k, 20 - k], [0, 0]]), 0.0) for k in range(1, clients + 1)}
    measure = TrainingMeasure(counts, dict.fromkeys(counts, 100))
    return Round(122, Move("predictors", {}), measure, measure, {}, {}, 12.34).as_dict()


@pytest.mark.parametrize("clients", [2, 10])
def test_the_live_line_fits_and_tells_round_accuracy_rule_and_time(clients: int) -> None:
    console = Console(width=80, force_terminal=True, record=True)
    (entry,) = entries(resolve({"against": "none"}))
    with console.capture() as captured, LiveLine(console) as live:
        live(entry, 0, a_line(clients))
    said = captured.get()
    for part in ("Parallel F-FL Games (Smooth)", "round 123/500", "0.810", "stops below 0.70", "12.3 s"):
        assert part in said
    assert "…" not in said


def result(unseen: float, end: str = "rule") -> dict[str, Any]:
    profile = InvarianceProfile(0.5, 0.8, 0.3, unseen, 0.9, 0.75)
    return {
        "end": end, "rule": "", "stop_below": 0.7, "rounds": 10, "train": 0.6, "profile": profile.as_dict(),
        "bytes_down": 10**6, "bytes_up": 10**6, "seconds": 1.0,
    }  # fmt: skip


def test_above_the_ceiling_is_reversed() -> None:
    assert Row("game", [result(0.77)]).cells()["unseen client"] == "77.0 reversed"
    assert Row("game", [result(0.77), result(0.7)]).cells()["unseen client"].endswith("reversed in 1")
    assert "reversed" not in Row("game", [result(0.75)]).cells()["unseen client"]


def test_the_threshold_is_printed_with_the_figure() -> None:
    assert Row("game", [result(0.7)]).cells()["stopped by"] == "train < 0.70"
    assert Row("game", [result(0.7, "rounds")]).cells()["stopped by"] == "all rounds"


def test_a_long_table_fits_into_80_characters() -> None:
    title = "IRMv1 (published: tuned on test data)"
    steep = result(0.262)
    steep["train"], steep["profile"]["agree"], steep["profile"]["flip_rate"] = 1.0, 1.0, 1.0
    rows = [Row(title, [result(0.97), result(0.50)], Figure(67.21, 12.98)), Row("game", [steep])]
    console = Console(width=80)
    with console.capture() as captured:
        console.print(long_table(rows, "title", ACCURACY))
        console.print(long_table(rows, "title", COST))
    said = captured.get()
    for part in ("flip rate", "mean", "73.5 ± 33.2*", "67.2 ± 13.0", "train < 0.70"):
        assert part in said
    assert all(line[-1] in "┓┩│┘" for line in said.splitlines() if line[:1] in ("┏", "┡", "│", "└")), (
        "no column is cut off"
    )

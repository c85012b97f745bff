from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib import pyplot
from matplotlib.figure import Figure as Drawing
from matplotlib.text import Text
from rich.console import Console

from flgames.cli.ui.live import LiveLine
from flgames.core.counts import Counts, TrainingMeasure
from flgames.core.records import Decision, End, RoundRecord
from flgames.evaluation.profile import InvarianceProfile
from flgames.paper.printed import Figure
from flgames.report import plots
from flgames.report.rows import ACCURACY, COST, Row, long_table
from flgames.runs.folder import GameFolder
from flgames.runs.plan import make_plan
from flgames.runs.resolve import resolve
from flgames.runs.result import Result
from flgames.runs.runner import info_of


def a_record(clients: int) -> RoundRecord:
    counts = {f"client-{k}": Counts(torch.tensor([[80 + k, 20 - k], [0, 0]]), 0.0) for k in range(1, clients + 1)}
    measure = TrainingMeasure(counts, dict.fromkeys(counts, 100))
    return RoundRecord(
        round=122,
        kind="predictors",
        moved=(),
        loss_of_move={},
        accuracy=measure.accuracy,
        spread=measure.spread,
        accuracy_of={name: each.accuracy for name, each in counts.items()},
        loss_of=dict.fromkeys(counts, 0.0),
        samples=measure.samples,
        decided_by=Decision(accuracy=measure.accuracy, samples=measure.samples),
        bytes={},
        failures={},
        seconds=12.34,
    )


@pytest.mark.parametrize("clients", [2, 10])
def test_the_live_line_fits_and_tells_round_accuracy_rule_and_time(clients: int, tmp_path: Path) -> None:
    console = Console(width=80, force_terminal=True, record=True)
    (match,) = make_plan(resolve({"against": "none"})).matches
    with console.capture() as captured, LiveLine(console) as live:
        live.on_start(info_of(match, GameFolder(tmp_path, match)))
        live.on_round(a_record(clients))
    said = captured.get()
    for part in ("Parallel F-FL Games (Smooth)", "round 123/500", "0.810", "stops below 0.70", "12.3 s"):
        assert part in said
    assert "…" not in said


def result(unseen: float, end: End = "rule", train: float = 0.6, **profile: float) -> Result:
    usual = {"agree": 0.5, "conflict": 0.8, "flip_rate": 0.3, "unseen_p": 0.9, "ceiling": 0.75}
    return Result(
        end=end,
        rule="",
        stopped_by="train < 0.70" if end == "rule" else None,
        rounds=10,
        chosen_round=9,
        train=train,
        train_of={},
        confusion_of={},
        stop_below=0.7,
        bytes_down=10**6,
        bytes_up=10**6,
        seconds=1.0,
        input_shape=(2, 8, 8),
        profile=InvarianceProfile.model_validate(usual | {"unseen": unseen} | profile),
    )


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Drawing]]:
    """The figures that were drawn instead of being written."""
    figures: list[Drawing] = []
    monkeypatch.setattr(plots, "save", lambda figure, path: figures.append(figure))
    yield figures
    for figure in figures:
        pyplot.close(figure)


def a_game(path: Path, clients: int) -> GameFolder:
    (match,) = make_plan(resolve({"against": "none"})).matches
    folder = GameFolder(path, match)
    for round_ in range(2):
        folder.append(a_record(clients).model_copy(update={"round": round_}))
    folder.finish({"w": torch.zeros(1)}, result(0.6).model_copy(update={"rounds": 2, "chosen_round": 1}))
    return folder


def test_every_client_has_a_line_of_its_own(drawn: list[Drawing], tmp_path: Path) -> None:
    plots.draw_curves(tmp_path / "curves.png", "title", {"game": [a_game(tmp_path, 25)]})
    lines = [each for each in drawn[0].axes[0].lines if len(np.asarray(each.get_xdata())) == 2][:25]
    looks = [(str(each.get_color()), each.get_linestyle()) for each in lines]
    assert len(set(looks)) == 25
    assert len({colour for colour, _ in looks[:10]}) == 10, "by colour alone, as long as there are some"
    assert not {plots.UNSEEN, plots.GREY} & {colour for colour, _ in looks}, "these mean something else"
    assert {style for _, style in looks[:10]} == {"-"}


@pytest.mark.parametrize(("clients", "named"), [(10, 10), (11, 0)])
def test_the_legend_names_clients_that_have_a_colour(
    clients: int, named: int, drawn: list[Drawing], tmp_path: Path
) -> None:
    plots.draw_curves(tmp_path / "curves.png", "title", {"game": [a_game(tmp_path, clients)]})
    (legend,) = drawn[0].legends
    assert sum(text.get_text().startswith("training, client-") for text in legend.get_texts()) == named


def test_axes_and_words_have_one_unit(drawn: list[Drawing], tmp_path: Path) -> None:
    """Tables say accuracies in %, and so do the pictures beside them."""
    plots.draw_curves(tmp_path / "curves.png", "title", {"game": [a_game(tmp_path, 2)]}, ceiling=0.75)
    plots.draw_profile(tmp_path / "profile.png", "title", [Row("game", [result(0.6)])], [0.1, 0.2])
    for figure in drawn:
        axes = figure.axes[0]
        figure.draw_without_rendering()
        assert "80%" in [label.get_text() for label in axes.get_yticklabels()]
    words = [text.get_text() for figure in drawn for text in figure.findobj(Text) if isinstance(text, Text)]
    assert [word for word in words if "below" in word] == [
        "stops below 70%", "game, stopped below 70%: mean 65%, flip rate 30%",
    ]  # fmt: skip


def test_above_the_ceiling_is_reversed() -> None:
    assert Row("game", [result(0.77)]).cells()["unseen client"] == "77.0 reversed"
    assert Row("game", [result(0.77), result(0.7)]).cells()["unseen client"].endswith("reversed in 1")
    assert "reversed" not in Row("game", [result(0.75)]).cells()["unseen client"]


def test_the_threshold_is_printed_with_the_figure() -> None:
    assert Row("game", [result(0.7)]).cells()["stopped by"] == "train < 0.70"
    assert Row("game", [result(0.7, "rounds")]).cells()["stopped by"] == "all rounds"


def test_a_long_table_fits_into_80_characters() -> None:
    title = "IRMv1 (published: tuned on test data)"
    steep = result(0.262, train=1.0, agree=1.0, flip_rate=1.0)
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

"""LIME on models whose use of the colour is known."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from typer.testing import CliRunner

from flgames.cli import app
from flgames.data.benchmarks.registry import by_name
from flgames.evaluation.lime import chosen_rows, explain, segments_of

HELD_OUT = by_name("colored-digits").held_out_client(0)


class Ink(nn.Module):
    """Says 1 where more ink is red than green, or where more is on the left than on the right."""

    def __init__(self, colour: float, shape: float) -> None:
        super().__init__()
        self.colour, self.shape = colour, shape

    def forward(self, inputs: Tensor) -> Tensor:
        red = torch.sign(inputs[:, 0].sum((1, 2)) - inputs[:, 1].sum((1, 2)))
        ink = inputs.sum(1)
        left = ink[:, :, :4].sum((1, 2)) - ink[:, :, 4:].sum((1, 2))
        score = self.colour * red + self.shape * left / 10
        return torch.stack([-score, score], 1)


def test_the_share_of_colour_is_known_at_both_ends() -> None:
    rows = chosen_rows(HELD_OUT, 4)
    assert all(each.share > 0.9 for each in explain(Ink(1.0, 0.0), HELD_OUT, rows))
    assert all(each.share < 0.05 for each in explain(Ink(0.0, 1.0), HELD_OUT, rows))
    between = explain(Ink(0.5, 0.5), HELD_OUT, rows)
    assert all(0.05 < each.share < 0.9 for each in between)


def test_explanations_are_a_function_of_the_seed() -> None:
    first, again = (explain(Ink(0.5, 0.5), HELD_OUT, [3])[0] for _ in range(2))
    assert first.spurious == again.spurious


def test_segments_are_the_cells_with_ink() -> None:
    image = torch.zeros(28, 28, dtype=torch.uint8)
    image[0, 0] = image[27, 27] = 9
    segments = segments_of(image)
    assert set(segments.flatten().tolist()) == {-1, 0, 1}
    assert (segments == 0).nonzero().tolist() == [[row, column] for row in range(4) for column in range(4)]
    assert set(segments[24:, 24:].flatten().tolist()) == {1}


def test_labels_take_turns() -> None:
    assert HELD_OUT.labels[chosen_rows(HELD_OUT, 6)].tolist() == [0, 1, 0, 1, 0, 1]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("explained") / "run"
    short = ["--rounds", "3", "--against-rounds", "2", "--stop-below", "never", "--threads", "1"]
    assert CliRunner().invoke(app, ["play", "--out", str(out), *short]).exit_code == 0
    return out


def test_runs_are_explained_side_by_side(run: Path, tmp_path: Path) -> None:
    picture = tmp_path / "lime.png"
    result = CliRunner().invoke(app, ["explain", str(run), str(run), "--images", "2", "--out", str(picture)])
    assert result.exit_code == 0, result.output
    assert picture.exists()
    assert "share of colour" in result.output
    assert result.output.count("FedAvg") >= 2, "every model of every run"


def test_what_can_not_be_explained(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(*arguments: str | Path) -> str:
        result = CliRunner().invoke(app, ["explain", *map(str, arguments)])
        assert result.exit_code == 2
        return " ".join(result.output.split())

    assert "is not a run folder" in said(tmp_path)
    assert "was not played with seed 7" in said(run, "--seed", "7")
    assert "let --out end in .png" in said(run, "--out", "x.pdf")
    monkeypatch.setitem(sys.modules, "captum.attr", None)
    assert "pip install" in said(run, "--images", "1", "--out", tmp_path / "x.png")

"""What players disagree about, as people are shown it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from click.testing import Result
from typer.testing import CliRunner

from flgames.cli import app
from flgames.evaluation.disagreement import Disagreement, agreement
from flgames.models.architecture import Architecture
from tests.own_data import three_hospitals


def explained(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["explain", *(str(argument) for argument in arguments)])


def linear_players(weights: torch.Tensor) -> Disagreement:
    """Two players that say w x and -w x of a picture of 2 x 2 pixels."""

    def predictor() -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2, bias=False))

    both = torch.stack([-weights, weights])
    evidence = {
        "player/a/1.weight": both,
        "player/b/1.weight": -both,
        "contested/direction": torch.tensor([0.5, -0.5], dtype=torch.float64),
    }
    return Disagreement.of(Architecture(predictor), evidence)


def test_u_and_where_it_sits_by_hand() -> None:
    found = linear_players(torch.tensor([1.0, 0.0, 0.0, 3.0]))
    images = torch.tensor([[[[2.0, 5.0], [5.0, 1.0]]], [[[0.0, 9.0], [9.0, 1.0]]]])
    # u is (logit 1 - logit 0) of a times 0.5, minus that of b times 0.5: 2 (x_1 + 3 x_4).
    assert found(images)[:, 0].tolist() == pytest.approx([2 * (2 + 3), 2 * 3])
    assert found.where(images).tolist() == [[pytest.approx(1 / 3), 0.0], [0.0, 1.0]]


def test_agreement_is_that_of_the_best_cut_either_way_round() -> None:
    u = torch.tensor([[0.1], [0.2], [0.3], [0.9], [1.0]])
    assert agreement(u, torch.tensor([0, 0, 0, 1, 1])) == 1.0
    assert agreement(u, torch.tensor([1, 1, 1, 0, 0])) == 1.0
    assert agreement(u, torch.tensor([1, 0, 0, 1, 1])) == pytest.approx(0.8)
    assert agreement(torch.eye(3), torch.tensor([0, 1, 1])) == pytest.approx(2 / 3)


def test_a_settled_run_on_images_is_explained(tmp_path: Path) -> None:
    scans = three_hospitals(tmp_path / "scans", 12)
    few = ["--rounds", "5", "--settle-after", "3", "--against", "none", "--threads", "1"]
    played = CliRunner().invoke(app, ["play", "--data", str(scans), "--out", str(tmp_path / "run"), *few])
    assert played.exit_code == 0, played.output
    result = explained(tmp_path / "run", "--images", 3)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "run" / "disagreement.png").stat().st_size > 5000
    assert "What the players disagree about is, alone, right about the label" in " ".join(result.output.split())


def test_on_a_benchmark_its_agreement_with_the_feature_is_printed(tmp_path: Path) -> None:
    pytest.importorskip("captum")
    few = ["--settle", "--rounds", "42", "--settle-after", "40", "--against", "none", "--threads", "1"]
    out = tmp_path / "run"
    played = CliRunner().invoke(app, ["play", "--out", str(out), *few])
    assert played.exit_code == 0, played.output
    result = explained(out, "--images", 1, "--out", tmp_path / "lime.png")
    assert result.exit_code == 0, result.output
    assert "It is the planted feature for" in result.output
    assert (out / "disagreement.png").exists()
    assert (tmp_path / "lime.png").exists()
    told = json.loads((out / "results.json").read_text())["settled game"][0]["finding"]
    assert set(told["told"]) == {"client-1", "client-2"}


def test_a_run_without_a_settled_game_on_images_says_so(tmp_path: Path) -> None:
    scans = three_hospitals(tmp_path / "scans", 4)
    few = ["--settle", "never", "--phi-rounds", "1", "--rounds", "2", "--against", "none", "--threads", "1"]
    CliRunner().invoke(app, ["play", "--data", str(scans), "--out", str(tmp_path / "run"), *few])
    result = explained(tmp_path / "run")
    assert result.exit_code == 2
    assert "has no settled game on images" in " ".join(result.output.split())

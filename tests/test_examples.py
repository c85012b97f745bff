"""The examples run, and are what the docs show."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flgames.cli import app
from flgames.data.benchmarks.image_sets import CIFAR10
from flgames.errors import UserError

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(monkeypatch: pytest.MonkeyPatch, name: str, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
    monkeypatch.syspath_prepend(str(EXAMPLES))
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")


@pytest.fixture(scope="module")
def scans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples") / "scans"
    with pytest.MonkeyPatch.context() as monkeypatch:
        run(monkeypatch, "make_scans.py", folder, "--scans", 60)
    return folder


def test_scans_are_drawn_as_described(scans: Path) -> None:
    assert {path.name for path in scans.iterdir()} == {"hospital-a", "hospital-b", "hospital-c"}
    assert len(list(scans.rglob("*.png"))) == 180


@pytest.mark.filterwarnings("ignore:rounds=4 ended")
def test_own_images(scans: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run(monkeypatch, "own_images.py", scans, 4, 2)
    assert "accuracy in hospital-c: 0." in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:rounds=4 ended")
def test_own_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run(monkeypatch, "own_table.py", 4)
    assert capsys.readouterr().out.count(": 0.") == 3


@pytest.mark.filterwarnings("ignore:rounds=3 ended")
def test_leave_one_client_out(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run(monkeypatch, "leave_one_client_out.py", 3)
    assert capsys.readouterr().out.count("site-") == 4


def test_own_module(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        CIFAR10(0)
    except UserError as missing:
        pytest.skip(f"no CIFAR-10: {missing}")
    run(monkeypatch, "own_module.py", 300, 3)
    assert "patch agrees: 0." in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:rounds=20 ended")
def test_callbacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run(monkeypatch, "callbacks.py", tmp_path / "tracked", 20)
    said = capsys.readouterr().out
    assert "round 1: " in said
    assert "chose round" in said
    assert list((tmp_path / "tracked").glob("events.out.tfevents.*"))


@pytest.mark.filterwarnings("ignore:rounds=4 ended")
def test_a_messy_table_in_three_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Trained, evaluated, explained and exported; the same through pandas, and by a pipeline of scikit-learn."""
    monkeypatch.chdir(tmp_path)
    run(monkeypatch, "messy_table.py", "patients.csv", 4)
    said = capsys.readouterr().out
    assert said.count("in the west: 0.") == 2
    assert "ward" in said
    roles = ["--data", "patients.csv", "--client-column", "site", "--target", "ill", "--holdout", "west"]
    few = ["--rounds", "4", "--against", "none", "--threads", "1", "--out", "run"]
    for command in (["play", *roles, *few], ["explain", "run"], ["export", "run"]):
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
    assert "west (unseen)" in (tmp_path / "run" / "table.md").read_text()
    assert (tmp_path / "run" / "disagreement.png").exists()
    assert (tmp_path / "run" / "export" / "model.onnx").exists()
    result = CliRunner().invoke(app, ["predict", "run", "patients.csv"])
    assert len(result.output.splitlines()) == 1801

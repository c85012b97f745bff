"""Every benchmark with every variant and both schedules of the paper, and the extended ones: they play."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flgames.cli import app
from flgames.report import run as report
from flgames.runs.presets import VARIANTS
from tests.benchmarks import PLANTED, at_hand, make_small


def play(out: Path, *arguments: str) -> dict[str, list[dict[str, object]]]:
    """A short game on few samples; its results."""
    short = ["--out", str(out), "--against", "none", "--rounds", "3", "--threads", "1", "--batch-size", "32"]
    result = CliRunner().invoke(app, ["play", *short, *arguments])
    assert result.exit_code == 0, result.output
    results: dict[str, list[dict[str, object]]] = json.loads((out / "results.json").read_text())
    return results


@pytest.mark.parametrize("schedule", ["clockwise", "simultaneous"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("benchmark", PLANTED)
def test_it_plays(benchmark: str, variant: str, schedule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_small(benchmark, monkeypatch)
    for figure in ("draw_curves", "draw_profile"):  # the same for all of these; the other tests look at them
        monkeypatch.setattr(report, figure, lambda *_: None)
    arguments = ["--benchmark", benchmark, "--variant", variant, "--schedule", schedule, "--sizes", "96,64"]
    results = play(tmp_path / "run", *arguments)
    title = f"{'Sequential' if schedule == 'clockwise' else 'Parallel'} {VARIANTS[variant].title}"
    (result,) = results[title]
    assert result["rounds"] == 3
    assert result["stop_below"] is not None, "there is a preset"


EXTENDED = [
    *(["--clients", str(clients)] for clients in (2, 3, 5, 10)),
    ["--flips", "5-uneven"],
    ["--flips", "5-uneven", "--sizes", "400,300,200,100,50"],
    ["--classes", "5"],
    ["--classes", "10"],
    ["--classes", "10", "--clients", "10"],
]


@pytest.mark.parametrize("arguments", EXTENDED, ids=" ".join)
@pytest.mark.parametrize("variant", ["f-fl-games-smooth", "v-fl-games-smooth-fast"])
def test_more_clients_and_more_classes_play(variant: str, arguments: list[str], tmp_path: Path) -> None:
    results = play(tmp_path / "run", "--variant", variant, *arguments, "--rounds", "2")
    ((result,),) = results.values()
    given = dict(zip(arguments[::2], arguments[1::2], strict=True))
    confusion = result["confusion_of"]
    assert isinstance(confusion, dict)
    assert len(confusion) == (5 if "--flips" in given else int(given.get("--clients", 2)))
    assert all(len(rows) == int(given.get("--classes", 2)) for rows in confusion.values())


@pytest.mark.parametrize(
    ("benchmark", "arguments"),
    [
        ("colored-mnist", ["--classes", "10", "--sizes", "64,64"]),
        ("colored-fashion-mnist", ["--classes", "5", "--clients", "3", "--sizes", "64,64,64"]),
        ("spurious-cifar10", ["--clients", "3", "--sizes", "64,64,64"]),
    ],
)
def test_extended_benchmarks_play_on_published_images(
    benchmark: str, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if benchmark == "colored-mnist":
        at_hand(benchmark)  # all of it, as people play it
    else:
        make_small(benchmark, monkeypatch)
    assert play(tmp_path / "run", "--benchmark", benchmark, *arguments)

"""A comparison, as a person meets it: one table, no match played twice, killed and gone on."""

from __future__ import annotations

import csv
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flgames.cli import app
from flgames.core.records import RoundRecord
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.paper import printed as paper
from flgames.report.comparison import _apart
from flgames.runs import baselines, entries
from flgames.runs.compare import Comparison
from flgames.runs.effort import guessed_seconds
from flgames.runs.entries import default_names, entry
from flgames.runs.folder import GameFolder, locked
from flgames.runs.match import Match
from flgames.runs.runner import Runner
from flgames.runs.store import Store
from flgames.waiting.forecast import Forecast, duration

METHODS = "fedavg,grey-oracle,irm"
LABEL = "compare-colored-digits-fedavg-grey-oracle-irm-seeds-0-to-1"
DIGITS = BenchmarkOptions(benchmark="colored-digits")
STEPS = 30


@pytest.fixture(autouse=True, scope="module")
def few_steps() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entries, "STEPS", STEPS)
        yield


def compare(out: Path, *arguments: str) -> Any:
    command = ["compare", "colored-digits", "--out", str(out), "--threads", "1", *arguments]
    return CliRunner().invoke(app, command)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("compare") / "results"
    result = compare(out, "--methods", METHODS, "--seeds", "2")
    assert result.exit_code == 0, result.output
    assert "6 matches, 0 of them played before" in result.output
    return out


def records(out: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((out / f"{LABEL}.csv").read_text().splitlines()))


def test_one_table_in_three_forms_and_the_profiles(compared: Path) -> None:
    table = (compared / f"{LABEL}.md").read_text()
    for row in ("FedAvg", "grey oracle", "IRMv1 (train-selected)", "constant", "optimal invariant"):
        assert f"| {row} |" in table
    rows = {row["method"]: row for row in records(compared)}
    assert list(rows) == [*METHODS.split(","), "constant", "optimal"]
    fedavg, oracle = rows["fedavg"], rows["grey-oracle"]
    assert fedavg["seeds"] == "2"
    assert float(fedavg["unseen"]) < 35 < 60 < float(oracle["unseen"])
    assert float(oracle["flip_rate"]) == 0
    assert float(fedavg["megabytes_up"]) > 0
    assert oracle["megabytes_up"] == "", "nothing crosses where there is no federation"
    assert rows["optimal"]["unseen"] == "75.0"
    for name in (f"{LABEL}.png", f"{LABEL}-profiles.png"):
        assert (compared / name).read_bytes().startswith(b"\x89PNG")


def test_the_csv_holds_means_and_deviations_of_the_stored_results(compared: Path) -> None:
    matches = [Match(options=DIGITS, entry=entry("fedavg", DIGITS), seed=seed) for seed in (0, 1)]
    results = [result for result in map(Store(compared).find, matches) if result]
    one, two = (100 * result.profile.unseen for result in results if result.profile)
    (row,) = (r for r in records(compared) if r["method"] == "fedavg")
    assert float(row["unseen"]) == pytest.approx((one + two) / 2, abs=1e-3)
    assert float(row["unseen_sd"]) == pytest.approx(abs(one - two) / 2**0.5, abs=1e-3)


def test_every_match_is_one_file_that_says_what_was_played(compared: Path) -> None:
    files = sorted((compared / "runs" / "colored-digits").iterdir())
    assert len(files) == 6
    saved = json.loads(files[0].read_text())
    assert saved["method"] == "fedavg"
    assert saved["entry"]["rules"]["local_steps"] == 10
    assert len(saved["train_curve"]) == saved["result"]["rounds"] == STEPS / 10
    assert "commit" in saved["environment"]


def test_nothing_is_played_twice(compared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("played again")

    monkeypatch.setattr(Runner, "play", refuse)
    result = compare(compared, "--methods", METHODS, "--seeds", "2")
    assert result.exit_code == 0, result.output
    assert "6 matches, all played before" in result.output


def test_more_methods_play_only_themselves(compared: Path) -> None:
    result = compare(compared, "--methods", METHODS + ",fedsgd", "--seeds", "1")
    assert result.exit_code == 0, result.output
    assert "4 matches, 3 of them played before" in result.output


def without_times(out: Path) -> dict[str, Any]:
    found = {}
    for path in sorted((out / "runs").rglob("*.json")):
        saved = json.loads(path.read_text())
        saved["result"].pop("seconds")
        found[path.name] = (saved["result"], saved["train_curve"])
    return found


def goes_on_and_ends_as(compared: Path, out: Path) -> None:
    assert 0 < len(list((out / "runs").rglob("*.json"))) < 6, "it was stopped on its way"
    result = compare(out, "--methods", METHODS, "--seeds", "2")
    assert result.exit_code == 0, result.output
    expected = {name: found for name, found in without_times(compared).items() if not name.startswith("fedsgd")}
    assert without_times(out) == expected


def test_killed_it_goes_on_and_ends_the_same(compared: Path, tmp_path: Path) -> None:
    out = tmp_path / "results"
    program = f"from flgames.runs import entries; entries.STEPS = {STEPS}; from flgames.cli import app; app()"
    command = [sys.executable, "-c", program, "compare", "colored-digits", "--out", str(out), "--threads", "1"]
    command += ["--methods", METHODS, "--seeds", "2"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | {"CUDA_VISIBLE_DEVICES": ""})
    deadline = time.monotonic() + 120
    while not list((out / "runs").rglob("*.json")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    goes_on_and_ends_as(compared, out)


def test_interrupted_it_goes_on_and_ends_the_same(
    compared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, append, lines = tmp_path / "results", GameFolder.append, itertools.count(1)

    def interrupting(self: GameFolder, record: RoundRecord) -> None:
        append(self, record)
        if next(lines) == 10:  # in the second match
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(GameFolder, "append", interrupting)
        result = compare(out, "--methods", METHODS, "--seeds", "2")
    assert result.exit_code == 130
    assert "Stopped; the state is saved." in result.output
    (state,) = (out / "games").rglob("state.pt")
    assert state.parent.name.startswith("grey-oracle-seed-0"), "the match under way, and no other, has a state"
    goes_on_and_ends_as(compared, out)


def test_a_method_that_diverges_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(baselines.CHOSEN["colored-digits"], "fedsgd", {"learning_rate": 1e30})
    result = compare(tmp_path / "results", "--methods", "fedsgd, fedavg", "--seeds", "1", "--seed", "7")
    assert result.exit_code == 1
    assert re.search(r"fedsgd-seed-7-\w+: In round \d+: the answer of client-\d to '\w+'", result.output)
    assert len(list((tmp_path / "results" / "runs").rglob("fedavg*.json"))) == 1, "the others were played"


def test_two_comparisons_do_not_play_in_one_folder(compared: Path) -> None:
    with locked(compared):
        result = compare(compared, "--methods", "fedavg", "--seeds", "1")
    assert result.exit_code == 2
    assert "Another process is playing" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "fedavg,irmm"], "Unknown method 'irmm'. Did you mean 'irm'"),
        (["--methods", "irm-published"], "has its authors' values, which are for colored-mnist as it is"),
        (["--methods", "fedmedian"], "fedmedian is for real data"),
        (["--methods", "fl-games"], "fl-games is for real data; colored-digits has the paper's"),
        (["--seeds", "0"], "--seeds"),
        (["--train", "CA,TX"], "has no --train CA,TX"),
        (["--device", "moon"], "--device moon can't be used here"),
    ],
)
def test_bad_input_is_refused_before_anything_is_made(arguments: list[str], message: str, tmp_path: Path) -> None:
    result = compare(tmp_path / "results", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert not (tmp_path / "results").exists()


def test_a_match_is_known_by_what_decides_it() -> None:
    fedavg = entry("fedavg", DIGITS)
    match = Match(options=DIGITS, entry=fedavg, seed=0)

    def changed(**changes: object) -> Match:
        return match.model_copy(update={"entry": fedavg.model_copy(update=changes)})

    assert match.key == changed(title="another name", slug="other").key
    others = [
        Match(options=DIGITS, entry=fedavg, seed=1),
        changed(rounds=41),
        changed(config=fedavg.config | {"batch_size": 255}),
        Match(options=BenchmarkOptions(benchmark="colored-digits", classes=5), entry=fedavg, seed=0),
        Match(options=BenchmarkOptions(benchmark="colored-mnist"), entry=fedavg, seed=0),
    ]
    assert len({match.key, *(other.key for other in others)}) == 6


PAPER_GAMES = (
    "sequential-f-fl-games", "parallel-f-fl-games", "sequential-f-fl-games-smooth", "parallel-f-fl-games-smooth",
)  # fmt: skip


def test_what_is_compared_unless_others_are_asked_for() -> None:
    planted = (
        "fedsgd", "fedavg", "fedprox", "fedbn", "fedgma", "group-dro", "irm", "vrex", "pooled-erm", "grey-oracle",
    )  # fmt: skip
    ours = ("settled", "balanced", "no-shortcut-oracle")
    assert default_names(DIGITS) == (*planted, *PAPER_GAMES, *ours)
    mnist = BenchmarkOptions(benchmark="colored-mnist")
    assert default_names(mnist) == (*planted, "irm-published", "vrex-published", *PAPER_GAMES, *ours)
    real = (
        "logistic", "fedsgd", "fedavg", "fedprox", "fedgma", "fedmedian", "local-mean", "group-dro", "irm", "vrex",
    )  # fmt: skip
    assert default_names(BenchmarkOptions(benchmark="fars")) == (*real, "core-only", "fl-games")
    assert default_names(BenchmarkOptions(benchmark="rand-health")) == (*real, "fl-games"), "nobody knows its core"
    assert default_names(BenchmarkOptions(benchmark="digits-across-sources")) == (*real[1:], "fl-games")


def test_files_are_named_by_what_was_compared() -> None:
    assert Comparison(DIGITS, default_names(DIGITS), range(5)).label == "colored-digits"
    assert Comparison(DIGITS, ("fedavg", "irm"), range(2, 4)).label == "colored-digits-fedavg-irm-seeds-2-to-3"
    assert Comparison(DIGITS, default_names(DIGITS)[:4], range(5)).label == "colored-digits-4-methods"
    options = BenchmarkOptions(benchmark="colored-digits", classes=5, flips=(0.3, 0.1))
    assert Comparison(options, default_names(options), range(5)).label == "colored-digits-flips-0.3-0.1-classes-5"


def test_the_papers_figure_stands_beside_the_papers_clients_only() -> None:
    mnist = BenchmarkOptions(benchmark="colored-mnist")
    assert str(paper.unseen(mnist, "FedAvg")) == "12.5 ± 4.3"
    assert str(paper.unseen(mnist, "Parallel F-FL Games (Smooth)")) == "67.2 ± 3.0"
    assert str(paper.unseen(mnist, "Sequential V-FL Games (Smooth + Fast)")) == "65.8 ± 3.3"
    assert paper.unseen(mnist, "GroupDRO") is None
    assert paper.unseen(BenchmarkOptions(benchmark="colored-mnist", clients=3), "FedAvg") is None


def test_the_forecast_learns_the_pace_from_what_is_done() -> None:
    forecast = Forecast({"short": 10.0, "long": 30.0})
    assert forecast.left(0.0) == 40.0, "a guess, before anything is known"
    forecast.reached("short", 1.0)
    assert forecast.left(20.0) == 60.0, "twice as slow as guessed"
    forecast.reached("long", 0.5)
    assert forecast.left(50.0) == 30.0
    resumed = Forecast({"begun": 10.0, "new": 10.0})
    resumed.found("begun", 0.5)
    assert resumed.left(0.0) == 15.0
    resumed.reached("begun", 1.0)
    assert resumed.left(20.0) == 40.0, "half a part took twenty seconds"
    limited = Forecast({"short": 10.0, "long": 30.0}, budget=35.0)
    assert limited.left(0.0) == 35.0
    assert limited.fits("long", 5.0)
    assert not limited.fits("long", 6.0)
    limited.reached("short", 1.0)
    assert not limited.fits("long", 20.0), "all takes twice as long as guessed"
    assert [duration(seconds) for seconds in (42, 600, 9000)] == ["42 s", "10 min", "2.5 h"]


def test_full_batches_are_expected_to_take_longer() -> None:
    short = entry("fedsgd", DIGITS)
    full = short.model_copy(update={"config": short.config | {"batches": "all"}})
    assert guessed_seconds(full, DIGITS) > 1.5 * guessed_seconds(short, DIGITS) > 0


def test_a_guess_for_perceptrons_on_real_sites() -> None:
    fars = BenchmarkOptions(benchmark="fars")
    game, linear = (entry(name, fars) for name in ("parallel-f-fl-games", "linear-game"))
    assert guessed_seconds(game, fars) > guessed_seconds(linear, fars) > 0


def test_labels_do_not_lie_on_each_other() -> None:
    assert _apart([0.0, 1.0, 2.0, 50.0, 75.0], 4.0) == [0.0, 4.0, 8.0, 50.0, 75.0]

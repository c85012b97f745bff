"""A run means what it meant when it was planned, whatever presets a later version has."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flgames.cli import app
from flgames.data.benchmarks.catalogue import colored_digits
from flgames.data.own.source import surveys_of
from flgames.runs import presets
from flgames.runs.baselines import LOCAL_STEPS, STEPS
from flgames.runs.folder import RunFolder
from flgames.runs.plan import make_plan
from flgames.runs.resolve import resolve
from flgames.runs.runner import Interrupted, play_run
from flgames.sealed import Seal, read_state, round_of, write_state
from tests.own_data import three_hospitals

SHORT = {"rounds": 3, "stop_below": "never", "threads": 1}


def resume(path: Path) -> None:
    result = CliRunner().invoke(app, ["play", "--resume", str(path)])
    assert result.exit_code == 0, result.output


def played(run: RunFolder) -> dict[str, int]:
    """The rounds of every game of a run."""
    return {match.entry.slug: len(folder.measures()) for match, folder in run.games()}


def models(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("model.safetensors")}


def test_presets_of_a_later_version_change_no_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = resolve({})
    plan = RunFolder.create(tmp_path / "run", settings).plan
    later = replace(colored_digits.BENCHMARK.preset, least_warm_start=77)
    monkeypatch.setattr(colored_digits, "BENCHMARK", replace(colored_digits.BENCHMARK, preset=later))
    monkeypatch.setattr("flgames.runs.entries.STEPS", 2 * STEPS)
    monkeypatch.setitem(presets.VARIANTS, "f-fl-games-smooth", presets.Variant("Renamed", {"memory": 9}))
    fedavg, game = make_plan(settings).matches
    assert (fedavg.entry.rounds, game.entry.least_warm_start) == (2 * plan.matches[0].entry.rounds, 77)
    assert game.entry.title == "Parallel Renamed", "a new run would be another one"
    run = RunFolder.open(tmp_path / "run")
    assert run.plan == plan
    fedavg, game = run.plan.matches
    assert (game.entry.title, game.entry.config["memory"]) == ("Parallel F-FL Games (Smooth)", 5)
    assert game.entry.least_warm_start == 0


def test_a_later_version_plays_the_old_values_of_a_benchmark(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as earlier:
        earlier.setattr("flgames.runs.entries.STEPS", 2 * LOCAL_STEPS)
        RunFolder.create(tmp_path / "run", resolve(SHORT))
    run = RunFolder.open(tmp_path / "run")
    assert make_plan(run.settings).matches[0].entry.rounds > 2
    resume(run.path)
    assert played(run) == {"fedavg": 2, "f-fl-games-smooth": 3}
    assert "| FedAvg |" in (run.path / "table.md").read_text()


def test_a_later_version_plays_the_old_values_of_own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scans = three_hospitals(tmp_path / "scans", 4)
    settings = resolve(SHORT | {"data": str(scans), "against": "none", "settle": "never"})
    monkeypatch.setattr(presets, "PHI_ROUNDS", 2)
    run = RunFolder.create(tmp_path / "run", settings, surveys_of(str(scans), settings.roles))
    monkeypatch.setattr(presets, "PHI_ROUNDS", 4)
    ((match, folder),) = RunFolder.open(run.path).games()
    assert match.entry.phi_rounds == 2
    resume(run.path)
    assert len((folder.path / "phi" / "measures.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [('{"format": 2, "matches": []}', "has the format 2, and this version of flgames reads 1"), ("{", "can't be read")],
)
def test_a_plan_that_can_not_be_read_is_named(plan: str, sentence: str, tmp_path: Path) -> None:
    path = RunFolder.create(tmp_path / "run", resolve(SHORT)).path
    (path / "plan.json").write_text(plan)
    result = CliRunner().invoke(app, ["play", "--resume", str(path)])
    assert result.exit_code == 2
    assert f"{path / 'plan.json'} {sentence}" in result.stderr
    assert (path / "plan.json").read_text() == plan


OLD: dict[str, object] = {
    "benchmark": "colored-digits", "clients": None, "flips": None, "sizes": None, "classes": 2, "pixels": "grey",
    "side": None, "sprites": "rendered", "representation": "fixed", "schedule": "simultaneous", "participation": 1.0,
    "memory": 5, "memory_mode": "history", "local_steps": 1, "full_batch": False, "phi_batches": 1, "phi_every": 1,
    "batch_size": 256, "learning_rate": 0.00025, "phi_learning_rate": 2.5e-05, "optimiser": "adam",
    "phi_optimiser": "adam", "data": None, "target": None, "holdout": None, "initialisation": "torch",
    "variant": "f-fl-games-smooth", "against": "fedavg", "against_rounds": 2, "rounds": 6, "phi_rounds": None,
    "stop_below": 0.7, "stop_spread": 1.0, "stop_bias": 1.0, "patience": None, "spread_penalty": 6.0,
    "bias_penalty": 0.5, "warm_start": None, "measure_samples": 2048, "seed": 0, "seeds": 1, "probe_every": 0,
    "checkpoint_every": 0, "checkpoint_seconds": 20.0, "engine": "local", "timeout": 120.0, "min_clients": 2,
    "device": "auto", "threads": 1,
}  # fmt: skip
"""settings.json of a version that stored no plan."""


def stop_after(rounds: int, run: RunFolder) -> None:
    """Play the first method of a run, and so many rounds of the last."""
    last = run.games()[-1][1]
    with pytest.raises(Interrupted):
        play_run(run, interrupted=lambda: len(last.measures()) >= rounds)
    assert (last.path / "state.pt").exists()


def make_older(run: RunFolder, settings: dict[str, object]) -> Path:
    """Leave a run folder as a version that stored no plan has left it; nobody held samples back, or settled."""
    (run.path / "plan.json").unlink()
    (run.path / "settings.json").write_text(json.dumps(settings))
    match, folder = run.games()[-1]
    path = folder.path / "state.pt"
    seal = Seal(match.key, match.seed, round_of(path) or 0)
    state: dict[str, Any] = read_state(path, seal)
    later = [(state["server"], "held_back"), (state["method"], "found"), (state["method"], "sign")]
    for part, name in [*later, *((client, "sign") for client in state["clients"].values())]:
        del part[name]
    write_state(path, state, seal)
    return run.path


def test_a_folder_without_a_plan_goes_on(tmp_path: Path) -> None:
    settings = resolve({"rounds": 6, "against_rounds": 2, "threads": 1, "sprites": "rendered"})  # as all of them were
    whole, run = (RunFolder.create(tmp_path / name, settings) for name in ("whole", "run"))
    play_run(whole)
    plan = run.plan
    stop_after(3, run)
    older = RunFolder.open(make_older(run, OLD))
    assert older.is_planned
    assert older.plan == plan
    assert not (run.path / "plan.json").exists(), "who only reads writes nothing"
    resume(run.path)
    assert (run.path / "plan.json").exists()
    assert played(run) == {"fedavg": 2, "f-fl-games-smooth": 6}
    assert models(run.path) == models(whole.path)
    assert RunFolder.open(run.path).plan == plan


def test_a_folder_of_own_data_without_a_plan_goes_on(tmp_path: Path) -> None:
    scans = three_hospitals(tmp_path / "scans", 4)
    own = {"data": str(scans), "holdout": "c", "rounds": 4, "against": "none", "phi_rounds": 1, "threads": 1}
    settings = resolve(own | {"validation": 0, "settle": "never"})  # as it was
    surveys = surveys_of(str(scans), settings.roles)
    whole, run = (RunFolder.create(tmp_path / name, settings, surveys) for name in ("whole", "run"))
    play_run(whole)
    plan = run.plan
    stop_after(2, run)
    rule: dict[str, object] = {"patience": 100, "stop_below": "never"}
    older: dict[str, object] = {"benchmark": "own-data", "against_rounds": None, "learning_rate": 3e-3}
    path = make_older(run, OLD | older | rule | own)
    assert RunFolder.open(path).is_planned, "clients have told of their data before"
    resume(path)
    assert RunFolder.open(path).plan == plan
    assert played(run) == {"f-fl-games-smooth": 4}
    assert models(path) == models(whole.path)

"""The command line, as a person meets it: what it makes, what it says to bad input, how it stops and goes on."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from flgames.cli import app
from flgames.data.benchmarks import published
from flgames.data.variables import FOLDER_VARIABLE, OFFLINE_VARIABLE
from flgames.runs.folder import RunFolder, locked
from flgames.runs.load import load
from flgames.runs.resolve import resolve
from flgames.runs.runner import Interrupted, play_run

SHORT = ["--rounds", "6", "--against-rounds", "2", "--stop-below", "never", "--threads", "1"]


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def play(out: Path, *arguments: str) -> Any:
    return run("play", "--out", out, *SHORT, *arguments)


def untimed(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "measures.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


def probes(folder: Path) -> list[str]:
    path = folder / "probe.jsonl"
    return path.read_text().splitlines() if path.exists() else []


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    result = play(out, "--probe-every", "2")
    assert result.exit_code == 0, result.output
    return out


def test_a_run_folder_is_complete(finished: Path) -> None:
    names = {path.name for path in finished.iterdir()}
    assert names >= {"settings.json", "plan.json", "environment.json"}
    assert names >= {"results.json", "table.md", "curves.png", "profile.png"}
    game = finished / "f-fl-games-smooth" / "seed-0"
    assert {path.name for path in game.iterdir()} == {
        "measures.jsonl",
        "probe.jsonl",
        "model.safetensors",
        "result.json",
    }
    line = untimed(game)[3]
    assert line["moved"] == ["client-1", "client-2"]
    assert set(line["accuracy_of"]) == {"client-1", "client-2"}
    assert 0 < line["accuracy"] < 1
    assert line["spread"] == pytest.approx(abs(line["accuracy_of"]["client-1"] - line["accuracy_of"]["client-2"]))
    assert line["bytes"]["client-1"]["down"] > 0
    for name in ("curves.png", "profile.png"):
        assert (finished / name).read_bytes().startswith(b"\x89PNG")


def test_the_table_tells_it_all(finished: Path) -> None:
    table = (finished / "table.md").read_text()
    for text in (
        "FedAvg",
        "Parallel F-FL Games (Smooth)",
        "constant",
        "optimal invariant",
        "flip rate",
        "MB up",
        "MB down",
    ):
        assert text in table


def test_settings_are_resolved(finished: Path) -> None:
    settings = json.loads((finished / "settings.json").read_text())
    assert settings["memory"] == 5
    assert settings["learning_rate"] == 2.5e-4
    assert settings["rounds"] == 6


def test_the_final_model_can_be_loaded(finished: Path) -> None:
    assert load(finished).ensemble.names == ("client-1", "client-2")


def test_same_seed_same_bytes(finished: Path, tmp_path: Path) -> None:
    assert play(tmp_path / "again").exit_code == 0
    for method in ("fedavg", "f-fl-games-smooth"):
        one, two = finished / method / "seed-0", tmp_path / "again" / method / "seed-0"
        assert untimed(one) == untimed(two)
        assert (one / "model.safetensors").read_bytes() == (two / "model.safetensors").read_bytes()


def test_seeds_differ_and_are_summarised(tmp_path: Path) -> None:
    result = play(tmp_path / "run", "--seeds", "2", "--seed", "5", "--against", "none")
    assert result.exit_code == 0, result.output
    games = tmp_path / "run" / "f-fl-games-smooth"
    assert {path.name for path in games.iterdir()} == {"seed-5", "seed-6"}
    assert untimed(games / "seed-5") != untimed(games / "seed-6")
    assert "±" in result.output
    assert "shortcut" not in result.output, "no rule was set, so none failed to fire"


def test_says_when_nothing_was_learnt(tmp_path: Path) -> None:
    arguments = ["--rounds", "1", "--learning-rate", "1e-9", "--against", "none", "--threads", "1"]
    result = run("play", "--out", tmp_path / "run", *arguments, "--seed", "4")
    assert "no better on the training clients than a constant" in " ".join(result.output.split())


def test_any_baseline_can_be_played_against(tmp_path: Path) -> None:
    assert play(tmp_path / "run", "--against", "vrex").exit_code == 0
    assert "| V-REx (train-selected) |" in (tmp_path / "run" / "table.md").read_text()
    assert load(tmp_path / "run", "vrex").ensemble.names == ("model",)


def test_says_when_no_rule_fired(tmp_path: Path) -> None:
    result = run("play", "--out", tmp_path / "run", "--rounds", "3", "--against", "none", "--threads", "1")
    assert "stopped by --rounds; this may be a shortcut state" in " ".join(result.output.split())


def test_the_table_says_why_another_rule_stopped(tmp_path: Path) -> None:
    rule = ["--benchmark", "colored-digits", "--patience", "5", "--rounds", "30", "--against", "none"]
    result = run("play", "--out", tmp_path / "run", "--threads", "1", *rule)
    assert result.exit_code == 0, result.output
    (row,) = [line for line in result.output.splitlines() if "stopped by" in line]
    assert "none was better in the next 5" in row
    table = (tmp_path / "run" / "table.md").read_text().splitlines()
    (row,) = [line for line in table if line.startswith("| Parallel F-FL Games (Smooth) |")]
    assert row.endswith("| none was better in the next 5 |")
    ((game,),) = json.loads((tmp_path / "run" / "results.json").read_text()).values()
    assert (game["end"], game["stopped_by"]) == ("rule", "none was better in the next 5")
    assert game["rounds"] == game["chosen_round"] + 1 + 5 < 30
    where = f"round {game['chosen_round'] + 1} of {game['rounds']}"
    assert f"chose the model of {where}" in " ".join(result.output.split())
    assert game["chosen"] == f"{where}, counted from 1", "files say what was printed, too"
    assert "may be a shortcut state" not in result.output, "a rule did fire"


@pytest.mark.parametrize("variant", ["v-fl-games", "v-fl-games-smooth-fast"])
def test_variable_variants_play(variant: str, tmp_path: Path) -> None:
    result = play(tmp_path / "run", "--variant", variant, "--against", "none", "--schedule", "clockwise")
    assert result.exit_code == 0, result.output
    kinds = [line["kind"] for line in untimed(tmp_path / "run" / variant / "seed-0")]
    assert kinds == ["phi", "predictors"] * 3


def test_a_config_file_is_overridden_by_hand(tmp_path: Path) -> None:
    config = tmp_path / "game.toml"
    config.write_text('memory = 3\nlocal-steps = "50%"\nagainst = "none"\n')
    result = play(tmp_path / "run", "--config", str(config), "--memory", "2")
    assert result.exit_code == 0, result.output
    settings = json.loads((tmp_path / "run" / "settings.json").read_text())
    assert (settings["memory"], settings["local_steps"]) == (2, "50%")


BAD = [
    (["--benchmark", "colored-mnsit"], "Unknown benchmark 'colored-mnsit'. Did you mean 'colored-mnist'?"),
    (["--variant", "f-fl-game"], "Did you mean 'f-fl-games'?"),
    (["--memory", "-1"], "--memory should be greater than or equal to 0; -1 was given."),
    (["--stop-below", "1.5"], "--stop-below is a training accuracy between 0 and 1, or never; 1.5 was given."),
    (["--stop-below", "low"], "--stop-below is a training accuracy between 0 and 1, or never; low was given."),
    (["--schedule", "anticlockwise"], "--schedule should be 'clockwise', 'simultaneous' or 'random'"),
    (["--participation", "0"], "--participation should be greater than 0"),
    (["--participation", "0.5", "--schedule", "clockwise"], "--participation is for simultaneous play"),
    (["--local-steps", "200%"], "--local-steps takes a number of batches, a percentage such as 10%, or all"),
    (["--phi-every", "0"], "--phi-every takes a number of predictor rounds from 1 on, or sweep; 0 was given."),
    (["--threads", "100000000000"], "--threads should be less than or equal to 1024"),
    (["--device", "meta"], "--device meta can't be used here"),
    (["--out", "/proc/run"], "The run folder /proc/run can't be made"),
    (["--device", "quantum"], "--device quantum can't be used here"),
    (["--fast"], "it must be variable"),
    (["--benchmark", "spurious-cifar10", "--classes", "10"], "spurious-cifar10 has no --classes 10"),
    (["--train", "CA,TX"], "colored-digits has no --train CA,TX"),
    (["--benchmark", "fars", "--sprites", "rendered"], "fars has no --sprites rendered"),
    (["--clients", "3", "--flips", "0.1,0.2"], "give one of the two"),
    (["--side", "14"], "colored-digits has a side of 8 pixels; --side 14 can't be had."),
    (["--against", "irm-published"], "irm-published has its authors' values, which are for colored-mnist as it is."),
    (["--against", "fedag"], "Did you mean 'fedavg'?"),
    (["--config", "/nowhere/game.toml"], "The config file /nowhere/game.toml can't be read"),
    (["--resume", "/nowhere"], "/nowhere is not a run folder"),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_bad_input_gets_one_sentence_and_exit_code_2(
    arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("play", *arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == [], "no folder is left behind by a run that can't be played"


@pytest.mark.parametrize(
    "arguments",
    [
        ("play", "--rounds", "many"),
        ("play", "--track", "paper"),
        ("compare", "colored-digits", "--seeds", "0"),
        ("data", "show", "colored-digits", "--seed", "-1"),
        ("nvflare", "job", "job", "--rounds", "many"),
    ],
    ids=" ".join,
)
def test_a_wrong_value_is_not_blamed_on_the_environment(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    said = " ".join(result.stderr.replace("│", "").split())
    assert f"Invalid value for '{arguments[-2]}': " in said


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("memroy = 5", "game.toml: 'memroy'. Did you mean 'memory'?"),
        ('memory = "five"', "--memory should be a valid integer"),
        ("memory: 5", "game.toml is not TOML"),
        ('track = "paper"', "--track should be 'tensorboard' or 'mlflow'; paper was given."),
        ("track = [1]", "--track should be 'tensorboard' or 'mlflow'; [1] was given."),
        ('trak = "tensorboard"', "game.toml: 'trak'. Did you mean 'track'?"),
    ],
)
def test_a_bad_config_file(content: str, sentence: str, tmp_path: Path) -> None:
    config = tmp_path / "game.toml"
    config.write_text(content)
    result = run("play", "--config", config)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_data_that_can_not_be_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OFFLINE_VARIABLE, "1")
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr(published, "cache_folder", lambda: tmp_path / "cache")
    result = play(tmp_path / "run", "--benchmark", "colored-mnist")
    assert result.exit_code == 2
    assert "MNIST can't be had. Tried cache:" in result.stderr
    assert "set FLGAMES_DATA" in result.stderr


def test_a_run_folder_is_never_overwritten(finished: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*")}
    result = play(finished)
    assert result.exit_code == 2
    assert "not empty and belongs to another run (f-fl-games-smooth on colored-digits, seed 0)" in result.stderr
    assert {path: path.stat().st_mtime_ns for path in finished.rglob("*")} == before


def test_a_run_is_resumed_as_it_was_set_up(finished: Path) -> None:
    result = run("play", "--resume", finished, "--memory", "4")
    assert result.exit_code == 2
    assert "belongs to another run: its --memory is 5, not 4" in result.stderr
    assert run("play", "--resume", finished, "--memory", "5", "--participation", "1").exit_code == 0


def test_a_run_goes_on_with_other_threads_and_says_what_that_means(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, threads = tmp_path / "run", list[int]()
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    begun = RunFolder.create(out, resolve({"rounds": 4, "against": "none", "stop_below": "never", "threads": 1}))
    ((_, game),) = begun.games()
    with pytest.raises(Interrupted):
        play_run(begun, interrupted=lambda: len(game.measures()) >= 2)
    refused = run("play", "--resume", out, "--threads", "2", "--memory", "4")
    assert refused.exit_code == 2
    assert "belongs to another run: its --memory is 5, not 4" in refused.stderr
    assert RunFolder.open(out).settings == begun.settings, "what is refused changes nothing"
    with locked(out):
        refused = run("play", "--resume", out, "--threads", "2")
    assert "Another process is playing" in refused.stderr
    assert RunFolder.open(out).settings == begun.settings

    went_on = run("play", "--resume", out, "--threads", "2")
    assert went_on.exit_code == 0, went_on.output
    warning = "It began with --threads 1 and goes on with 2: weights may differ in their last bits."
    assert warning in went_on.output
    assert threads == [1, 2]
    assert len(game.measures()) == 4
    assert RunFolder.open(out).settings == begun.settings.model_copy(update={"threads": 2})

    ended = run("play", "--resume", out, "--threads", "1")
    assert ended.exit_code == 0
    assert "last bits" not in ended.output
    assert RunFolder.open(out).settings.threads == 2, "that is what it was played with"


def test_a_run_is_resumed_with_the_default_of_a_rule_that_it_has_not_got(finished: Path) -> None:
    result = run("play", "--resume", finished, "--spread-penalty", "6")
    assert result.exit_code == 0, repr(result.exception)
    result = run("play", "--resume", finished, "--spread-penalty", "5")
    assert result.exit_code == 2
    assert "--spread-penalty is for --patience" in result.stderr


def test_two_processes_can_not_play_in_one_folder(finished: Path) -> None:
    with locked(finished):
        result = run("play", "--resume", finished)
    assert result.exit_code == 2
    assert "Another process is playing" in result.stderr


def test_a_loss_that_explodes_names_round_and_player(tmp_path: Path) -> None:
    result = play(tmp_path / "run", "--against", "none", "--optimiser", "sgd", "--learning-rate", "1e30")
    assert result.exit_code == 1
    assert re.search(r"In round \d: .*client-\d.*(nan|inf).*try a smaller learning rate", result.stderr, re.IGNORECASE)


def test_a_model_that_explodes_in_the_last_step_is_not_a_result(tmp_path: Path) -> None:
    arguments = ["--against", "none", "--optimiser", "sgd", "--learning-rate", "1e38", "--rounds", "1"]
    result = run("play", "--out", tmp_path / "run", "--threads", "1", *arguments)
    assert result.exit_code == 1
    assert re.search(r"In round 1: .*client-\d.*(nan|inf)", result.stderr, re.IGNORECASE)


def test_a_folder_of_notes_is_not_a_run(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    result = play(tmp_path)
    assert result.exit_code == 2
    assert result.stderr == f"flgames: {tmp_path} is not empty: choose another --out.\n"


def test_help_teaches() -> None:
    text = " ".join(run("play", "--help").output.split())
    for words in ("Best response dynamics", "first in first out", "The representation phi", "When it ends", "--resume"):
        assert words in text


GAME = [
    "--variant", "v-fl-games-smooth", "--schedule", "simultaneous", "--participation", "0.5", "--rounds", "30",
    "--against-rounds", "2", "--stop-below", "never", "--threads", "1",
    "--probe-every", "7",
]  # fmt: skip


def start(out: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "flgames.cli", "play", "--out", str(out), *GAME, *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def wait_for_rounds(out: Path, rounds: int, process: subprocess.Popen[str]) -> None:
    path = out / "v-fl-games-smooth" / "seed-0" / "measures.jsonl"
    deadline = time.monotonic() + 90
    while not (path.exists() and path.read_text().count("\n") >= rounds):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.002)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "whole"
    result = run("play", "--out", out, *GAME)
    assert result.exit_code == 0, result.output
    return out


def same_results(one: Path, two: Path) -> None:
    for method in ("fedavg", "v-fl-games-smooth"):
        left, right = one / method / "seed-0", two / method / "seed-0"
        assert untimed(left) == untimed(right)
        assert probes(left) == probes(right)
        assert (left / "model.safetensors").read_bytes() == (right / "model.safetensors").read_bytes()
        assert not (right / "state.pt").exists()


@pytest.mark.parametrize("checkpoint_seconds", ["0", "0.1"])
def test_killed_at_a_random_round_and_resumed_bit_for_bit(
    checkpoint_seconds: str, uninterrupted: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    process = start(out, "--checkpoint-seconds", checkpoint_seconds)
    rounds = random.SystemRandom().randrange(1, 25)
    wait_for_rounds(out, rounds, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (out / "results.json").exists(), f"killed after {rounds} rounds"
    result = run("play", "--resume", out)
    assert result.exit_code == 0, result.output
    same_results(uninterrupted, out)


@pytest.mark.parametrize(
    ("sent", "is_heard"),
    [((signal.SIGINT,), True), ((signal.SIGTERM, signal.SIGTERM), True), ((signal.SIGHUP, signal.SIGTERM), False)],
    ids=["Ctrl-C", "SIGTERM twice", "the terminal is closed"],
)
def test_a_signal_saves_and_says_how_to_go_on(
    sent: tuple[signal.Signals, ...], is_heard: bool, uninterrupted: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    process = start(out, "--checkpoint-seconds", "1000")
    wait_for_rounds(out, 5, process)
    for each in sent:
        process.send_signal(each)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (f"flgames play --resume {out}" in said) == is_heard
    assert (out / "v-fl-games-smooth" / "seed-0" / "state.pt").exists()
    assert run("play", "--resume", out).exit_code == 0
    same_results(uninterrupted, out)

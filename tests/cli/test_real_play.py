"""Real tables on the command line: who is held out, what is said, and what can't be done."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import Result
from typer.testing import CliRunner

from flgames.cli import app
from flgames.data.own.files import read_inputs
from flgames.runs.folder import RunFolder
from flgames.runs.load import load
from tests.own_data import pictures

GAME = "Parallel F-FL Games (Smooth), linear players, may settle"
FILES = {"results.json", "clients.csv", "table.md", "curves.png", "unseen.png"}
SHORT = ("--rounds", 12, "--early", 6, "--against-rounds", 3, "--threads", 1)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def play(data: Path, out: Path, *more: object) -> Result:
    return run("play", "--data", data, "--target", "y", "--out", out, *SHORT, *more)


def said(result: Result) -> str:
    return " ".join(result.output.split())


Label = Callable[[int], object]


def trial(path: Path, rows: int, flip: float, seed: int, label: Label = int) -> None:
    """Age and dose tell the label, with a quarter of mistakes; the ward tells more, but not everywhere."""
    draw = np.random.default_rng(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "dose", "ward", "patient", "y"])
        for row in range(rows):
            age, dose = draw.normal(size=2)
            y = bool((dose - age > 0) ^ (draw.random() < 0.25))
            ward = (y ^ bool(draw.random() < flip)) + 0.1 * draw.normal()
            writer.writerow([age, dose, ward, row // 2, label(int(y))])


def sites(folder: Path, rows: int = 150, **flips: float) -> Path:
    for seed, (name, flip) in enumerate(flips.items()):
        trial(folder / f"{name}.csv", rows, flip, seed)
    return folder


@pytest.fixture(scope="module")
def hospitals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sites(tmp_path_factory.mktemp("play") / "hospitals", 300, north=0.3, south=0.05, east=0.7, west=0.9)


@pytest.fixture(scope="module")
def two_held_out(hospitals: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run that holds out west and east, and what it printed."""
    out = tmp_path_factory.mktemp("play") / "run"
    more = ("--group-column", "patient", "--validation", 0.25, "--rounds", 40, "--against-rounds", 10)
    result = play(hospitals, out, "--holdout", "west", "--holdout", "east", *more)
    assert result.exit_code == 0, result.output
    return out, said(result)


def results(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "results.json").read_text())
    return found


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


# Held out.


def test_several_are_held_out_and_none_of_them_is_trained_on(two_held_out: tuple[Path, str]) -> None:
    out, text = two_held_out
    assert {path.name for path in out.iterdir()} >= FILES
    assert (out / "unseen.png").read_bytes().startswith(b"\x89PNG")
    for match in RunFolder.open(out).plan.matches:
        assert set(match.players) == {"north", "south"}
    found = results(out)
    assert set(found) >= {"FedAvg", GAME}
    for (game,) in found.values():
        assert set(game["train_of"]) == set(game["held_back"]) == {"north", "south"}
        assert set(game["unseen_clients"]) == {"west", "east"}
        assert {sum(map(sum, each["confusion"])) for each in game["unseen_clients"].values()} == {300}
        assert {sum(map(sum, each["confusion"])) for each in game["held_back"].values()} == {74}, "37 patients"
    assert "hospitals, west and east held out" in text
    assert "Training clients' figures are on samples that were held back." in text


def test_every_client_has_all_figures(two_held_out: tuple[Path, str]) -> None:
    out, text = two_held_out
    found = rows((out / "clients.csv").read_text())
    ours = {row["client"]: row for row in found if row["method"] == GAME}
    assert {name: row["kind"] for name, row in ours.items()} == {
        "north": "trained on", "south": "trained on", "west": "unseen", "east": "unseen",
    }  # fmt: skip
    (game,) = results(out)[GAME]
    for name, told in (game["held_back"] | game["unseen_clients"]).items():
        row, (no, yes) = ours[name], told["confusion"]
        n = sum(no) + sum(yes)
        assert int(row["n"]) == n
        assert float(row["accuracy"]) == pytest.approx((no[0] + yes[1]) / n, abs=1e-4)
        balanced = (no[0] / sum(no) + yes[1] / sum(yes)) / 2
        assert float(row["balanced_accuracy"]) == pytest.approx(balanced, abs=1e-4)
        assert float(row["auc"]) == pytest.approx(told["auc"], abs=1e-4)
        assert float(row["log_loss"]) == pytest.approx(told["log_loss"], abs=1e-4)
        assert float(row["calibration_error"]) == pytest.approx(told["calibration_error"], abs=1e-4)
        assert float(row["accuracy_low"]) < float(row["accuracy"]) < float(row["accuracy_high"])
        assert float(row["constant"]) in (pytest.approx(sum(no) / n, abs=1e-4), pytest.approx(sum(yes) / n, abs=1e-4))
    table = (out / "table.md").read_text()
    for words in ("west (unseen)", "mean of 2 unseen", "10th perc. of 2 unseen", "worst of 2 unseen"):
        assert words in table
        assert words.split(" (")[0].split(" 2")[0] in text


def test_what_was_found_and_what_follows_is_said(two_held_out: tuple[Path, str]) -> None:
    out, text = two_held_out
    (game,) = results(out)[GAME]
    finding = game["finding"]
    assert finding["settled"]
    assert [each["column"] for each in finding["contested"]] == [2]
    left = ", ".join(f"{name} {share:.0%}" for name, share in finding["effective"].items())
    assert "The sites' own models disagree about ward, and" in text
    assert f"samples are weighted so that it tells nothing (what is left of them: {left})" in text
    assert "weighted accuracy" in text
    (fedavg,) = results(out)["FedAvg"]
    assert fedavg.get("finding") is None
    assert f"On held-back samples of the training clients: {GAME}" in text
    assert "FedAvg" in text


def test_models_are_kept_with_their_temperature(
    two_held_out: tuple[Path, str], hospitals: Path, tmp_path: Path
) -> None:
    out, _ = two_held_out
    model = load(out)
    temperature = model.result.temperature
    assert abs(temperature - 1) > 0.02
    assert model.layout is not None
    raw = read_inputs(hospitals / "west.csv", model.layout)
    with torch.inference_mode():
        logits = model.ensemble(model.layout.ready(raw))
        expected = (logits / temperature).softmax(1)
    result = run("predict", out, hospitals / "west.csv")
    assert result.exit_code == 0, result.output
    told = [[float(row["p(0)"]), float(row["p(1)"])] for row in rows(result.output)]
    assert np.abs(np.array(told) - expected.numpy()).max() < 1e-4
    assert np.abs(np.array(told) - logits.softmax(1).numpy()).max() > 1e-3, "without it they would be others"
    assert [row["prediction"] for row in rows(result.output)] == [str(int(row.argmax())) for row in logits]

    onnxruntime = pytest.importorskip("onnxruntime")
    result = run("export", out, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    (found,) = session.run(["probabilities"], {"inputs": raw.numpy()})
    assert np.abs(found - expected.numpy()).max() < 1e-5


def test_who_was_trained_on_is_marked(two_held_out: tuple[Path, str], hospitals: Path) -> None:
    out, _ = two_held_out
    result = run("evaluate", out, "--data", hospitals)
    assert result.exit_code == 0, result.output
    lines = {line.split()[0]: line for line in result.output.splitlines() if line.strip().startswith(tuple("nsew"))}
    assert {name for name, line in lines.items() if "(trained on)" in line} == {"north", "south"}
    (game,) = results(out)[GAME]
    (no, yes) = game["unseen_clients"]["west"]["confusion"]
    assert f"{100 * (no[0] + yes[1]) / 300:.1f}" in lines["west"], "the same figure as the run's own"


def test_each_is_held_out_in_turn_and_all_are_summed_up(tmp_path: Path) -> None:
    data, out = sites(tmp_path / "data", 60, a=0.2, b=0.1, c=0.3), tmp_path / "run"
    result = play(data, out, "--holdout", "each", "--against", "none")
    assert result.exit_code == 0, result.output
    found = results(out)
    assert list(found) == ["a", "b", "c"]
    for name, methods in found.items():
        (game,) = methods[GAME]
        assert list(game["unseen_clients"]) == [name]
        assert set(game["train_of"]) == {"a", "b", "c"} - {name}
        assert {f"clients-{name}.csv", f"unseen-{name}.png"} <= {path.name for path in out.iterdir()}
    turns = [re.sub(r"\d+ s", "T", line) for line in result.output.splitlines() if re.match(r"client \d of 3", line)]
    assert list(dict.fromkeys(turns)) == [
        "client 1 of 3 held out: a",
        "client 2 of 3 held out, about T left: b",
        "client 3 of 3 held out, about T left: c",
    ]
    assert "Every client held out in turn" in said(result)
    assert "worst of 3 unseen" in said(result)
    accuracies = [rate(found[name][GAME][0]["unseen_clients"][name]["confusion"]) for name in "abc"]
    (mean,) = (line for line in (out / "table.md").read_text().splitlines() if "mean of 3 unseen" in line)
    assert f"{100 * np.mean(accuracies):.1f}" in mean


def rate(confusion: list[list[int]]) -> float:
    return (confusion[0][0] + confusion[1][1]) / sum(map(sum, confusion))


# What can't be done gets a sentence.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--holdout", "wets"), "Unknown client to hold out: 'wets'. Did you mean 'west'?"),
        (("--holdout", "west", "--holdout", "nowhere"), "Unknown client to hold out: 'nowhere'"),
        (("--holdout", "each", "--holdout", "west"), "--holdout each is for every client in turn: name no others"),
        (("--holdout", "west", "--holdout", "east", "--holdout", "north"), "two clients at least, and there is 1 but"),
        (("--group-column", "person"), "has no column 'person'; it has age, dose, ward, patient, y"),
        (("--validation", "1"), "--validation should be less than 1"),
        (("--validation", "-0.1"), "--validation should be greater than or equal to 0"),
        (("--settle", "auto", "--predictor", "mlp", "--ensemble", "balanced"), "--ensemble balanced weighs players"),
        (("--settle", "--predictor", "mlp", "--rounds", "100"), "leave none for training after the game's"),
        (("--settle", "auto", "--full-batch"), "leave --full-batch out"),
        (("--settle", "often"), "--settle should be 'never', 'auto' or 'always'"),
        (("--early", "5", "--patience", "5"), "--early and --patience are two rules: choose one."),
        (("--early", "never", "--early-errors", "2"), "--early-errors is for --early: give that too."),
        (("--against", "core-only"), "Unknown baseline for own data 'core-only'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)  # fmt: skip
def test_what_can_not_be_played(hospitals: Path, tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    result = run("play", "--data", hospitals, "--target", "y", "--out", tmp_path / "run", *options)
    assert result.exit_code == 2
    assert message in said(result)
    assert not (tmp_path / "run").exists()


def test_patients_are_for_tables(tmp_path: Path) -> None:
    scans = pictures(tmp_path / "scans", a={"x": 3, "y": 3}, b={"x": 3, "y": 3})
    result = run("play", "--data", scans, "--group-column", "patient", "--out", tmp_path / "run")
    assert result.exit_code == 2
    assert "--group-column 'patient' is for tables" in said(result)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("option", ["--group-column", "--holdout"])
def test_benchmarks_are_as_they_are(option: str) -> None:
    result = run("play", "--benchmark", "colored-digits", option, "x")
    assert result.exit_code == 2
    assert f"{option} is for data of your own: give --data too." in said(result)


def test_a_class_that_only_a_held_out_client_has(tmp_path: Path) -> None:
    data = sites(tmp_path / "data", 40, a=0.2, b=0.1)
    trial(data / "c.csv", 40, 0.3, seed=7, label=lambda y: y if y else 2)
    result = play(data, tmp_path / "run", "--holdout", "c")
    assert result.exit_code == 2
    assert "c is held out and has" in said(result)
    assert "of the class '2', which no training client has: leave them out, or train on it." in said(result)
    assert not (tmp_path / "run").exists()
    assert play(data, tmp_path / "run", "--holdout", "a", "--against", "none").exit_code == 0, "b and c may train"


# What is unusual works.


def test_a_training_client_with_one_class_only(tmp_path: Path) -> None:
    data = sites(tmp_path / "data", 80, a=0.2, b=0.1, c=0.3)
    trial(data / "b.csv", 50, 0.1, seed=5, label=lambda y: 0)
    result = play(data, tmp_path / "run", "--holdout", "c")
    assert result.exit_code == 0, result.output
    assert "b has no sample of 1." in said(result)
    (game,) = results(tmp_path / "run")[GAME]
    assert game["held_back"]["b"]["auc"] is None
    ours = {row["client"]: row for row in rows((tmp_path / "run" / "clients.csv").read_text()) if row["method"] == GAME}
    assert (ours["b"]["auc"], ours["b"]["auc_low"]) == ("", "")
    assert float(ours["b"]["constant"]) == 1


def test_an_unseen_client_with_one_class_only(tmp_path: Path) -> None:
    data = sites(tmp_path / "data", 80, a=0.2, b=0.1)
    trial(data / "c.csv", 50, 0.1, seed=5, label=lambda y: 1)
    result = play(data, tmp_path / "run", "--holdout", "c", "--against", "none")
    assert result.exit_code == 0, result.output
    (game,) = results(tmp_path / "run")[GAME]
    assert game["unseen_clients"]["c"]["auc"] is None
    assert (tmp_path / "run" / "unseen.png").exists()


def test_clients_smaller_than_a_batch(tmp_path: Path) -> None:
    """A batch has 256 samples: five, two and one are all that these clients have."""
    data = sites(tmp_path / "data", 5, a=0.2)
    trial(data / "b.csv", 2, 0.1, seed=5, label=lambda y: "0")
    trial(data / "c.csv", 1, 0.1, seed=6, label=lambda y: "1")
    result = play(data, tmp_path / "run")
    assert result.exit_code == 0, result.output
    (game,) = results(tmp_path / "run")[GAME]
    sizes = {name: sum(map(sum, each["confusion"])) for name, each in game["held_back"].items()}
    assert sizes == {"a": 1, "b": 1}
    assert "c had too few samples to hold any back, and has no figures." in said(result)
    assert "nobody knows how it does on an unseen one" in said(result)


def test_every_baseline_for_own_tables_can_be_played_against(tmp_path: Path) -> None:
    data = sites(tmp_path / "data", 40, a=0.2, b=0.1)
    titles = {"logistic": "logistic regression", "fedmedian": "FedMedian", "local-mean": "mean of local models"}
    for name, title in titles.items():
        result = play(data, tmp_path / name, "--against", name, "--rounds", 2)
        assert result.exit_code == 0, result.output
        assert title in results(tmp_path / name)


@pytest.mark.parametrize("holdout", [(), ("--holdout", "c")], ids=["nobody held out", "one held out"])
def test_without_held_back_samples_figures_are_those_of_training_and_say_so(
    holdout: tuple[str, ...], tmp_path: Path
) -> None:
    data = sites(tmp_path / "data", 40, a=0.2, b=0.1, c=0.3)
    result = play(data, tmp_path / "run", "--validation", 0, "--against", "none", *holdout)
    assert result.exit_code == 0, repr(result.exception)
    assert "Training clients' figures are on the very samples that they trained on." in said(result)
    assert "% on training samples." in said(result)
    assert load(tmp_path / "run").result.temperature == 1
    (game,) = results(tmp_path / "run")[GAME]
    table = (tmp_path / "run" / "table.md").read_text()
    for name in ("a", "b"):
        (line,) = (line for line in table.splitlines() if f"| {name} |" in line)
        assert f"{100 * rate(game['confusion_of'][name]):.1f}" in line


# Warnings.


def test_who_is_behind_fedavg_is_told(tmp_path: Path) -> None:
    """Players that hardly move have learnt less than FedAvg, and nothing says that this should pay elsewhere."""
    data = sites(tmp_path / "data", 200, a=0.1, b=0.1)
    slow = ("--learning-rate", 1e-6, "--rounds", 3, "--settle", "never", "--against-rounds", 10)
    result = play(data, tmp_path / "run", *slow)
    assert result.exit_code == 0, result.output
    assert "It is behind FedAvg there, and nothing found in the data says why that should pay" in said(result)
    assert "--rounds ended the game before its rule did" in said(result)


def test_who_is_as_good_as_fedavg_is_not_warned(tmp_path: Path) -> None:
    data = sites(tmp_path / "data", 200, a=0.1, b=0.1)
    fast = ("--learning-rate", 0.05, "--rounds", 60, "--early", 50, "--against-rounds", 10)
    result = play(data, tmp_path / "run", *fast)
    assert result.exit_code == 0, result.output
    assert "On held-back samples of the training clients" in said(result)
    assert "It is behind" not in said(result)
    assert "give no reason to distrust anything" in said(result), "equal shortcuts are told from nothing"


def test_clients_without_mistakes_are_no_evidence(tmp_path: Path) -> None:
    """The label is the sign of the age."""
    for seed, name in enumerate("ab"):
        draw = np.random.default_rng(seed)
        ages = draw.choice([-1, 1], 60) * draw.uniform(1, 2, 60)
        lines = ["age,y", *(f"{age},{int(age > 0)}" for age in ages)]
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / "data" / f"{name}.csv").write_text("\n".join(lines))
    result = play(tmp_path / "data", tmp_path / "run", "--against", "none")
    assert result.exit_code == 0, result.output
    assert "training clients are at 100.0%" in said(result)
    assert "a rule that looks at them has no evidence" in said(result)

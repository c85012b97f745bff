"""What can be done with a finished model: predict, evaluate, export; and runs that are tracked."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from click.testing import Result
from typer.testing import CliRunner

from flgames.cli import app
from flgames.runs.load import load
from tests.own_data import table, three_hospitals


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def scans(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Pictures, and a finished run on them."""
    folder = tmp_path_factory.mktemp("model")
    data, out = three_hospitals(folder / "scans"), folder / "run"
    few = ("--rounds", 5, "--settle-after", 2, "--against-rounds", 2, "--threads", 1)
    result = run("play", "--data", data, "--holdout", "c", "--out", out, *few)
    assert result.exit_code == 0, result.output
    return data, out


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Tables, and a finished run on them."""
    folder = tmp_path_factory.mktemp("model")
    for seed, name in enumerate("abc"):
        table(folder / "trials" / f"{name}.csv", seed=seed)
    few = ("--rounds", 3, "--against", "none", "--threads", 1)
    result = run("play", "--data", folder / "trials", "--target", "sick", "--out", folder / "run", *few)
    assert result.exit_code == 0, result.output
    return folder / "trials", folder / "run"


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_new_pictures_are_predicted(scans: tuple[Path, Path], tmp_path: Path) -> None:
    data, out = scans
    files = sorted((data / "c" / "ill").glob("*.png"))[:3]
    result = run("predict", out, *files)
    assert result.exit_code == 0, result.output
    found = rows(result.output)
    assert [row["file"] for row in found] == [str(path) for path in files]
    assert set(found[0]) == {"file", "row", "prediction", "p(healthy)", "p(ill)"}
    assert all(float(row["p(healthy)"]) + float(row["p(ill)"]) == pytest.approx(1, abs=2e-4) for row in found)
    assert run("predict", out, *files, "--out", tmp_path / "said.csv").exit_code == 0
    assert rows((tmp_path / "said.csv").read_text()) == found


def test_rows_of_a_table_are_predicted_without_their_truth(trials: tuple[Path, Path], tmp_path: Path) -> None:
    _, out = trials
    (tmp_path / "new.csv").write_text("dose,age,name\n2.0,70,x\n1.5,20,y\n")
    result = run("predict", out, tmp_path / "new.csv")
    assert result.exit_code == 0, result.output
    assert [row["row"] for row in rows(result.output)] == ["1", "2"]
    (tmp_path / "bad.csv").write_text("dose\n2.0\n")
    result = run("predict", out, tmp_path / "bad.csv")
    assert result.exit_code == 2
    assert "lacks age, which the model needs" in result.output


def test_other_clients_are_measured(scans: tuple[Path, Path], trials: tuple[Path, Path]) -> None:
    data, out = scans
    result = run("evaluate", out, "--data", data)
    assert result.exit_code == 0, result.output
    unseen = load(out).result.unseen
    assert unseen is not None
    (line,) = (line for line in result.output.splitlines() if line.split()[:1] == ["c"])
    assert f" {100 * unseen:.1f} " in line, "the same figure as the run's own"
    assert result.output.count("(trained on)") == 2, "whoever was trained on is marked"
    assert run("evaluate", trials[1], "--data", trials[0]).exit_code == 0
    for options, message in (
        (("--benchmark", "colored-digits"), "trained on own data"),
        ((), "Say on what"),
        (("--data", data, "--method", "irm"), "Unknown method of this run"),
        (("--data", data, "--seed", "9"), "has the seeds 0, and not 9"),
    ):
        result = run("evaluate", out, *options)
        assert result.exit_code == 2
        assert message in " ".join(result.output.split())


def test_a_benchmark_s_model_is_measured_on_another(tmp_path: Path) -> None:
    out = tmp_path / "run"
    short = ("--rounds", 2, "--stop-below", "never", "--against", "none", "--threads", 1, "--sprites", "rendered")
    assert run("play", *short, "--out", out).exit_code == 0
    result = run("evaluate", out, "--benchmark", "colored-digits")
    assert result.exit_code == 0, result.output
    told = load(out).result.profile
    assert told is not None
    assert f"{100 * told.flip_rate:.1f}" in result.output
    result = run("evaluate", out, "--benchmark", "colored-dsprites")
    assert result.exit_code == 2
    assert "inputs of another shape" in " ".join(result.output.split())
    assert run("export", out, "--format", "safetensors").exit_code == 0
    assert "spurious feature agrees" in (out / "export" / "MODEL_CARD.md").read_text()


def test_onnx_gives_what_the_model_gives(scans: tuple[Path, Path], tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    _, out = scans
    result = run("export", out, "--format", "onnx", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    model = load(out)
    inputs = torch.randint(0, 256, (5, *model.result.input_shape)).float()
    with torch.inference_mode():
        expected = model.exported(inputs).numpy()
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    (found,) = session.run(["probabilities"], {"inputs": inputs.numpy()})
    assert np.abs(found - expected).max() < 1e-5
    card = (tmp_path / "MODEL_CARD.md").read_text()
    for words in ("healthy, ill", "held out: c", "| c (unseen) |", "What it must not be used for", "model.onnx"):
        assert words in card


def test_torch_export_gives_what_the_model_gives(trials: tuple[Path, Path], tmp_path: Path) -> None:
    _, out = trials
    assert run("export", out, "--format", "torch-export", "--out", tmp_path).exit_code == 0
    model, inputs = load(out), torch.randn(5, 2)
    with torch.inference_mode():
        found = torch.export.load(tmp_path / "model.pt2").module()(inputs)
        assert (found - model.exported(inputs)).abs().max() < 1e-5
    assert "nobody was held out" in (tmp_path / "MODEL_CARD.md").read_text()


def test_safetensors_have_the_weights(scans: tuple[Path, Path], tmp_path: Path) -> None:
    _, out = scans
    assert run("export", out, "--format", "safetensors", "--out", tmp_path, "--method", "fedavg").exit_code == 0
    names = safetensors.torch.load_file(tmp_path / "model.safetensors").keys()
    assert {name.split("/")[0] for name in names} >= {"player", "ready"}


@pytest.mark.parametrize("by", ["hand", "file"])
def test_a_tracked_run_can_be_read_back(by: str, trials: tuple[Path, Path], tmp_path: Path) -> None:
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    data, _ = trials
    out = tmp_path / "run"
    command = ("play", "--data", data, "--target", "sick", "--holdout", "c", "--rounds", 3, "--against", "none")
    (tmp_path / "game.toml").write_text('track = "tensorboard"\n')
    tracked = ("--track", "tensorboard") if by == "hand" else ("--config", tmp_path / "game.toml")
    result = run(*command, *tracked, "--threads", 1, "--out", out)
    assert result.exit_code == 0, result.output
    game = events.EventAccumulator(str(out / "tensorboard" / "f-fl-games-smooth" / "seed-0"), {"images": 0})
    game.Reload()
    lines = [json.loads(line) for line in (out / "f-fl-games-smooth/seed-0/measures.jsonl").read_text().splitlines()]
    told = [event.value for event in game.Scalars("train/accuracy")]
    assert told == pytest.approx([line["accuracy"] for line in lines])
    assert {"accuracy of/a", "loss of/b", "bytes/up", "chosen/unseen"} <= set(game.Tags()["scalars"])
    assert game.Tags()["tensors"], "the settings"
    whole = events.EventAccumulator(str(out / "tensorboard" / "run"), {"images": 0})
    whole.Reload()
    assert whole.Tags()["images"] == ["curves", "unseen"]


def test_mlflow_has_settings_measures_page_and_model(
    trials: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow")
    data, _ = trials
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file://{tmp_path / 'store'}")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    out = tmp_path / "run"
    command = ("play", "--data", data, "--target", "sick", "--holdout", "c", "--rounds", 3, "--against", "none")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of MLflow's own
        result = run(*command, "--track", "mlflow", "--threads", 1, "--out", out)
        assert result.exit_code == 0, result.output
        assert f"MLflow: file://{tmp_path / 'store'}" in result.output
        client = mlflow.MlflowClient()
        kept = json.loads((out / "mlflow.json").read_text())
        whole = client.get_run(kept["run"])
        assert whole.data.params["rounds"] == "3"
        assert whole.info.status == "FINISHED"
        assert {"report.html", "curves.png"} <= {each.path for each in client.list_artifacts(kept["run"])}
        (game,) = kept["games"].values()
        told = [each.value for each in client.get_metric_history(game, "train/accuracy")]
        measures = (out / "f-fl-games-smooth/seed-0/measures.jsonl").read_text().splitlines()
        assert told == pytest.approx([json.loads(line)["accuracy"] for line in measures])
        (version,) = client.search_model_versions("name='flgames-own-data-f-fl-games-smooth'")
        signature = mlflow.models.get_model_info(f"models:/{version.name}/{version.version}").signature
    assert signature.outputs.input_names() == ["probabilities"]


def test_mlflow_that_is_not_there_is_said_before_the_first_round(
    trials: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    result = run("play", "--data", trials[0], "--target", "sick", "--track", "mlflow", "--out", tmp_path / "run")
    assert result.exit_code == 2
    assert "MLflow can't be used at http://127.0.0.1:9" in result.output
    assert not (tmp_path / "run").exists()


def test_hugging_face_reads_the_card(scans: tuple[Path, Path], tmp_path: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    assert run("export", scans[1], "--format", "huggingface", "--out", tmp_path).exit_code == 0
    card = hub.ModelCard.load(tmp_path / "README.md")
    assert card.data.library_name == "flgames"
    assert card.data.pipeline_tag == "image-classification"
    assert {each.metric_name for each in card.data.eval_results} >= {"accuracy at c, unseen"}
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["id2label"] == {"0": "healthy", "1": "ill"}
    assert safetensors.torch.load_file(tmp_path / "model.safetensors")


WITHOUT = "import sys; sys.modules['flgames'] = sys.modules['torch'] = None; import runpy; sys.argv = sys.argv[1:]; "


@pytest.mark.parametrize("kind", ["scans", "trials"])
def test_the_onnx_example_says_what_predict_says_without_us(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    pytest.importorskip("onnxruntime")
    data, out = request.getfixturevalue(kind)
    assert run("export", out, "--out", tmp_path).exit_code == 0
    file = next((data / "c" / "ill").glob("*.png")) if kind == "scans" else data / "c.csv"
    example = Path(__file__).parents[2] / "examples" / "run_onnx.py"
    code = WITHOUT + "runpy.run_path(sys.argv[0], run_name='__main__')"
    command = [sys.executable, "-c", code, str(example), str(tmp_path / "model.onnx"), str(file)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().splitlines()
    found = rows(run("predict", out, file).output)
    assert len(said) == len(found)
    for line, row in zip(said, found, strict=True):
        label, _, shares = line.partition(" ")
        assert label == row["prediction"]
        expected = [float(row[name]) for name in row if name.startswith("p(")]
        assert json.loads(shares) == pytest.approx(expected, abs=1.1e-3)
    onnx = pytest.importorskip("onnx")
    told = {each.key: json.loads(each.value) for each in onnx.load(tmp_path / "model.onnx").metadata_props}
    assert told["classes"] == (["healthy", "ill"] if kind == "scans" else ["0", "1"])
    assert told.get("columns", []) == ([] if kind == "scans" else ["age", "dose"])
    assert told["temperature"] == pytest.approx(load(out).result.temperature)
    assert "Inside the model" in told["preprocessing"]

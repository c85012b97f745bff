"""Tables as they come on the command line: who trains, what is refused, and predictions of many files."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from typer.testing import CliRunner

from flgames.cli import app
from tests.own_data import messy_table, table, three_hospitals

FEW = ("--rounds", 3, "--against", "none", "--threads", 1)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def said(result: Result) -> str:
    return " ".join(result.output.split())


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    flips = {"north": 0.05, "south": 0.25, "east": 0.2, "west": 0.9}
    return messy_table(tmp_path_factory.mktemp("patients") / "all.csv", flips, rows=60)


@pytest.fixture(scope="module")
def played(patients: Path) -> Path:
    out = patients.parent / "run"
    result = run(
        "play", "--data", patients, "--client-column", "site", "--target", "ill", "--train", "north,south",
        "--holdout", "rest", "--out", out, *FEW,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "The column 'patient' has another value in each row and is left out" in said(result)
    return out


def test_those_who_are_not_named_are_unseen(played: Path) -> None:
    text = (played / "table.md").read_text()
    assert "east (unseen)" in text
    assert "west (unseen)" in text
    assert "north (unseen)" not in text


def test_evaluate_reads_one_table_too(played: Path, patients: Path, tmp_path: Path) -> None:
    result = run("evaluate", played, "--data", patients)
    assert result.exit_code == 0, result.output
    assert "north (trained on)" in said(result)
    header, *lines = patients.read_text().splitlines()
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "harbour.csv").write_text("\n".join([header, *lines[:40]]))
    assert "harbour" in said(run("evaluate", played, "--data", tmp_path / "later"))


def test_predict_takes_rows_as_they_come(played: Path, patients: Path, tmp_path: Path) -> None:
    rows = list(csv.DictReader(patients.read_text().splitlines()))[:5]
    columns = ["blood", "ward", "visit", "smoker", "sex", "age"]  # another order, and no target
    new = tmp_path / "new.csv"
    new.write_text("\n".join([",".join(columns), *(",".join(row[name] for name in columns) for row in rows)]) + "\n")
    one, other = (run("predict", played, path).output.splitlines() for path in (new, patients))
    assert [line.split(",")[2:] for line in one[1:]] == [line.split(",")[2:] for line in other[1:6]]


def test_one_bad_file_of_many_is_named_and_the_others_are_predicted(
    played: Path, patients: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("age,sex\n1,F\n")
    out = tmp_path / "said.csv"
    result = run("predict", played, patients, bad, tmp_path / "none.csv", "--out", out)
    assert result.exit_code == 2
    assert "2 of 3 files were not predicted" in said(result)
    assert "lacks smoker, visit, ward, blood, which the model needs" in said(result)
    assert "none.csv is not there" in said(result)
    assert len(out.read_text().splitlines()) == 241


@pytest.mark.parametrize(
    ("name", "message"),
    [("nothing.csv", "nothing.csv is not there"), ("", "is a folder: name files in it"), ("x.doc", "x.doc is none of")],
)
def test_what_can_not_be_predicted(played: Path, tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "x.doc").write_text("")
    result = run("predict", played, tmp_path / name if name else tmp_path)
    assert result.exit_code == 2
    assert message in said(result)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--holdout", "rest"), "--holdout rest is for all clients but those that --train names: name them"),
        (("--holdout", "rest", "--holdout", "west", "--train", "north,south"), "name no others beside it"),
        (("--holdout", "each", "--train", "north,south"), "leave --train out"),
        (("--train", "north,west", "--holdout", "west"), "west can't train and be held out"),
        (("--train", "north"), "--train should have at least 2 items"),
        (("--train", "north,sooth"), "Unknown client to train on: 'sooth'"),
        (("--side", 32), "--side is for images, and"),
        (("--drop", "age,sex,smoker,visit,ward,blood,patient"), "has no column beside 'ill' to predict it from"),
        (("--columns", "patients"), "has no column 'patients'"),
    ],
)
def test_what_does_not_apply_is_refused(
    patients: Path, tmp_path: Path, options: tuple[object, ...], message: str
) -> None:
    base = ("play", "--data", patients, "--client-column", "site", "--target", "ill", "--out", tmp_path / "run")
    result = run(*base, *options, *FEW)
    assert result.exit_code == 2
    assert message in said(result)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("option", ["--target", "--columns", "--drop", "--categories", "--client-column"])
def test_what_is_for_tables_is_refused_for_images(tmp_path: Path, option: str) -> None:
    scans = three_hospitals(tmp_path / "scans", 2)
    result = run("play", "--data", scans, option, "x", "--out", tmp_path / "run", *FEW)
    assert result.exit_code == 2
    assert "is for" in said(result)


def test_npz_has_no_names(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    for name in "ab":
        np.savez(tmp_path / "t" / f"{name}.npz", X=np.random.default_rng(0).normal(size=(20, 2)), y=np.arange(20) % 2)
    result = run("play", "--data", tmp_path / "t", "--drop", "0", "--out", tmp_path / "run", *FEW)
    assert result.exit_code == 2
    assert "--drop is for tables with names of columns, and a.npz has none" in said(result)


def test_own_options_are_refused_on_a_benchmark(tmp_path: Path) -> None:
    result = run("play", "--drop", "age", "--out", tmp_path / "run", *FEW)
    assert result.exit_code == 2
    assert "--drop is for data of your own: give --data too" in said(result)


def test_onnx_of_a_run_has_columns_and_classes(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    for seed, name in enumerate("ab"):
        table(tmp_path / "tables" / f"{name}.csv", seed=seed)
    out = tmp_path / "run"
    assert run("play", "--data", tmp_path / "tables", "--target", "sick", "--out", out, *FEW).exit_code == 0
    assert run("export", out).exit_code == 0
    told = {each.key: each.value for each in onnx.load(out / "export" / "model.onnx").metadata_props}
    assert told.pop("preprocessing").startswith('"Inside the model')
    assert float(told.pop("temperature")) > 0
    assert told == {"classes": '["0", "1"]', "columns": '["age", "dose"]', "inputs": '["age", "dose"]'}

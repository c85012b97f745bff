"""Tables of pandas through the estimator: by names, with words, dates and empty cells."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import scipy.sparse
import torch
from torch import nn

from flgames import FLGames
from flgames.errors import UserError
from flgames.runs.folder import RunFolder
from flgames.runs.load import load
from flgames.runs.resolve import resolve
from flgames.runs.runner import play_run
from tests.own_data import disagreeing_tables, messy_table

pytestmark = pytest.mark.filterwarnings("ignore:rounds=")

EXAMPLES = Path(__file__).parents[2] / "examples"

INPUTS = ["patient", "age", "sex", "smoker", "visit", "ward", "blood"]


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> pandas.DataFrame:
    table = pandas.read_csv(messy_table(tmp_path_factory.mktemp("frames") / "all.csv", rows=90))
    return table.assign(visit=pandas.to_datetime(table.visit))


@pytest.fixture(scope="module")
def known(patients: pandas.DataFrame) -> pandas.DataFrame:
    return patients[patients.site != "west"]


@pytest.fixture(scope="module")
def unseen(patients: pandas.DataFrame) -> pandas.DataFrame:
    return patients[patients.site == "west"]


@pytest.fixture(scope="module")
def model(known: pandas.DataFrame) -> FLGames:
    return FLGames(rounds=6).fit(known[INPUTS], known.ill, groups=known.site)


def test_columns_in_another_order_are_the_same(model: FLGames, unseen: pandas.DataFrame) -> None:
    turned = unseen[INPUTS[::-1]]
    assert np.array_equal(model.predict_proba(unseen[INPUTS]), model.predict_proba(turned))
    assert model.feature_names_in_.tolist() == INPUTS
    assert model.n_features_in_ == len(INPUTS)


def test_other_names_are_scikit_learn_s_error(model: FLGames, unseen: pandas.DataFrame) -> None:
    with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
        model.predict(unseen[INPUTS].rename(columns={"age": "Age"}))
    with pytest.raises(ValueError, match=r"Feature names seen at fit time, yet now missing:\n- ward"):
        model.predict(unseen[INPUTS].drop(columns="ward"))


def test_clients_may_have_other_orders(known: pandas.DataFrame, unseen: pandas.DataFrame, model: FLGames) -> None:
    clients = {
        name: (rows[INPUTS if name == "north" else INPUTS[::-1]], rows.ill) for name, rows in known.groupby("site")
    }
    same = FLGames(rounds=6).fit(clients).predict_proba(unseen[INPUTS])
    assert np.array_equal(same, model.predict_proba(unseen[INPUTS]))


def test_a_saved_model_takes_the_same_tables(model: FLGames, unseen: pandas.DataFrame, tmp_path: Path) -> None:
    model.save(tmp_path)
    again = FLGames.load(tmp_path)
    assert np.array_equal(again.predict_proba(unseen[INPUTS[::-1]]), model.predict_proba(unseen[INPUTS]))
    assert again.feature_names_in_.tolist() == INPUTS


def test_onnx_takes_words_and_names_its_columns(model: FLGames, unseen: pandas.DataFrame, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    model.save(tmp_path)
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    told = {name: json.loads(value) for name, value in session.get_modelmeta().custom_metadata_map.items()}
    assert told.pop("preprocessing").startswith("Inside the model")
    assert told.pop("temperature") == pytest.approx(model.result_.temperature)
    assert told == {
        "classes": ["no", "yes"],
        "columns": INPUTS[1:],
        "inputs": ["age", "smoker", "visit"],
        "words": ["sex", "ward", "blood"],
    }
    days = (unseen.visit - pandas.Timestamp("1970-01-01")) / pandas.Timedelta(days=1)
    rows = unseen.assign(visit=days)
    given = {
        "inputs": rows[told["inputs"]].to_numpy(np.float32),
        "words": rows[told["words"]].fillna("").to_numpy(object),
    }
    (found,) = session.run(None, given)
    np.testing.assert_allclose(found, model.predict_proba(unseen[INPUTS]), atol=1e-6)


def test_a_module_of_one_s_own_sees_encoded_columns_and_is_exported(
    known: pandas.DataFrame, unseen: pandas.DataFrame, tmp_path: Path
) -> None:
    pytest.importorskip("onnxruntime")
    rows = known[["smoker", "ward"]]
    own = FLGames(nn.Sequential(nn.Linear(3, 4), nn.ReLU()), rounds=2).fit(rows, known.ill, groups=known.site)
    own.save(tmp_path)
    alone = FLGames.load(tmp_path)  # without its module: from the graph
    new = unseen[["ward", "smoker"]].assign(ward=["violet", *unseen.ward[1:]])
    np.testing.assert_allclose(alone.predict_proba(new), own.predict_proba(new), atol=1e-6)


def test_a_table_is_the_same_model_from_a_file_and_from_pandas(tmp_path: Path) -> None:
    path = messy_table(tmp_path / "all.csv", rows=90)
    given = {"data": str(path), "client_column": "site", "target": "ill", "rounds": 4, "against": "none", "threads": 1}
    run = RunFolder.create(tmp_path / "run", resolve(given))
    play_run(run)
    table = pandas.read_csv(path)
    model = FLGames(rounds=4).fit(table[INPUTS], table.ill, groups=table.site)
    rows = table[INPUTS].head(20)
    exported = load(run.path)
    assert exported.layout is not None
    assert model._layout is not None
    assert exported.layout.columns == model._layout.columns
    from flgames.data.own.files import inputs_of

    with torch.inference_mode():
        found = exported.exported(inputs_of("rows", rows, exported.layout)).numpy()
    np.testing.assert_allclose(found, model.predict_proba(rows), atol=1e-6)


def test_the_ward_leads_both_lists(tmp_path: Path) -> None:
    """The planted column of examples/own_table.py, in a table of a fifth of its patients."""
    trial = runpy.run_path(str(EXAMPLES / "own_table.py"))["trial"]
    generator = np.random.default_rng(0)
    names = ["age", "dose", "ward"]
    clients: dict[str, Any] = {}
    for name, flip in {"north": 0.2, "south": 0.1}.items():
        inputs, recovers = trial(1000, flip, generator)
        clients[name] = pandas.DataFrame(inputs, columns=names), recovers
    for model in (FLGames(rounds=60), FLGames(predictor="mlp", rounds=60)):
        found = model.fit(clients).disagreement_
        assert found is not None
        assert found.index[0] == "ward"
        assert found.apart.idxmax() == "ward"
        assert found.p["ward"] < 0.01 < found.p[["age", "dose"]].min()


def test_arrays_have_columns_by_number_and_images_none() -> None:
    draw = torch.Generator().manual_seed(0)
    rows = {name: (torch.randn(40, 3, generator=draw), torch.arange(40) % 2) for name in "ab"}
    found = FLGames(rounds=2).fit(rows).disagreement_
    assert found is not None
    assert sorted(found.index) == ["0", "1", "2"]
    images = {name: (torch.rand(20, 1, 8, 8, generator=draw), torch.arange(20) % 2) for name in "ab"}
    assert FLGames(rounds=3, settle_after=1).fit(images).disagreement_ is None


def clients_of(values: Any) -> dict[str, Any]:
    return {name: (values, [0, 1] * (len(values) // 2)) for name in ("north", "south")}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([[1, "a"], [2, "b"]], dtype=object), "Column 1 of north has words, and an array must have numbers"),
        (np.array([["x", "a"], ["y", "b"]]), "Column 0 of north has words"),
        (
            pandas.DataFrame({"age": [1, 2], "dose": pandas.arrays.SparseArray([0, 1])}),
            "north, its columns: 'dose' is sparse: make it dense",
        ),
        (pandas.DataFrame({"age": ["1", "2", "3", "x"], "d": [np.inf] * 4}), "'age' has numbers in 3 .*; 'd' has infi"),
    ],
)
def test_what_is_no_number_is_named_by_client_and_column(values: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        FLGames(rounds=2).fit(clients_of(values))


def test_sparse_arrays_are_named() -> None:
    sparse = scipy.sparse.csr_matrix(np.eye(4))
    with pytest.raises(UserError, match="The inputs of north are sparse in all columns: make them dense"):
        FLGames(rounds=2).fit({name: (sparse, [0, 1, 0, 1]) for name in ("north", "south")})
    with pytest.raises(UserError, match="sparse in all columns"):
        FLGames(rounds=2).fit(sparse, [0, 1, 0, 1], groups=["a", "a", "b", "b"])


def test_words_of_a_whole_array_are_named_by_the_client_of_the_row() -> None:
    values = np.array([["1", "2"], ["3", "4"], ["5", "no"], ["7", "8"]], dtype=object)
    with pytest.raises(UserError, match="Column 1 of south has words"):
        FLGames(rounds=2).fit(values, [0, 1, 0, 1], groups=["north", "north", "south", "south"])


def test_booleans_are_numbers() -> None:
    truths = np.array([[True, False], [False, True]] * 6)
    model = FLGames(rounds=2).fit(clients_of(truths))
    assert np.array_equal(model.predict_proba(truths), model.predict_proba(truths.astype(float)))


def test_a_continuous_target_is_refused() -> None:
    rows = pandas.DataFrame({"x": np.arange(50.0)})
    with pytest.raises(UserError, match="north: y has 50 different numbers: it looks continuous"):
        FLGames(rounds=2).fit({name: (rows, np.linspace(0, 1, 50)) for name in ("north", "south")})


def test_tables_and_arrays_do_not_mix() -> None:
    frame = pandas.DataFrame({"x": [0.0, 1.0] * 5})
    with pytest.raises(UserError, match="Some clients have a DataFrame and others an array"):
        FLGames(rounds=2).fit({"a": (frame, [0, 1] * 5), "b": (frame.to_numpy(), [0, 1] * 5)})


def test_names_are_needed_where_there_are_words(model: FLGames, unseen: pandas.DataFrame, tmp_path: Path) -> None:
    with (
        pytest.warns(UserWarning, match="does not have valid feature names"),
        pytest.raises(UserError, match="sex, ward, blood have words: pass a DataFrame"),
    ):
        model.predict(unseen[INPUTS].to_numpy())
    folder = disagreeing_tables(tmp_path / "tables", 40)
    frames = {name: pandas.read_csv(folder / f"{name}.csv") for name in "abc"}
    plain = FLGames(rounds=2).fit({name: (each[["age", "mark"]], each.sick) for name, each in frames.items()})
    rows = frames["a"][["age", "mark"]]
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        said = plain.predict_proba(rows.to_numpy())
    assert np.array_equal(said, plain.predict_proba(rows))


def test_columns_that_are_called_the_same_are_refused() -> None:
    for twice in (["x", "x"], [1, "1"]):
        frame = pandas.DataFrame(np.zeros((6, 2)), columns=twice)
        with pytest.raises(UserError, match="north has more than one column"):
            FLGames(rounds=2).fit(clients_of(frame))


@pytest.mark.parametrize(
    ("groups", "message"),
    [([1, "1"] * 3, "Two clients are called '1'"), ([1.0, np.nan] * 3, "Some rows have no client")],
)
def test_clients_that_are_not_told_apart(groups: list[Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        FLGames(rounds=2).fit(np.zeros((6, 2)), [0, 1] * 3, groups=np.array(groups, dtype=object))


def test_labels_that_are_none() -> None:
    frame = pandas.DataFrame({"x": np.arange(6.0)})
    with pytest.raises(UserError, match="north has the label <NA>"):
        FLGames(rounds=2).fit({name: (frame, pandas.array([0, 1, None] * 2, dtype="Int64")) for name in ("north", "b")})


def test_what_clients_disagreed_about_is_saved(model: FLGames, tmp_path: Path) -> None:
    model.save(tmp_path)
    pandas.testing.assert_frame_equal(FLGames.load(tmp_path).disagreement_, model.disagreement_)

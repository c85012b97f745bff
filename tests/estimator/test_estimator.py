"""FLGames with the manners of scikit-learn."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import LeaveOneGroupOut, cross_val_score
from torch import nn
from torch.utils.data import Dataset

from flgames import FLGames
from flgames.data.own.arrays import Streamed
from flgames.errors import UserError
from tests.games import Following

pytestmark = pytest.mark.filterwarnings("ignore:rounds=.* ended the game")


def two_sites(rows: int = 60, features: int = 4, labels: tuple[Any, Any] = (0, 1)) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(0)
    clients = {}
    for name in ("north", "south"):
        inputs = torch.randn(rows, features, generator=generator)
        clients[name] = inputs, [labels[int(value > 0)] for value in inputs[:, 0]]
    return clients


class Rows(Dataset[tuple[torch.Tensor, Any]]):
    """A dataset that counts what is read of it."""

    def __init__(self, inputs: torch.Tensor, labels: list[Any]) -> None:
        self.inputs, self.labels, self.read = inputs, labels, 0

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, number: int) -> tuple[torch.Tensor, Any]:
        self.read += 1
        return self.inputs[number], self.labels[number]


def backbone() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU())


@pytest.mark.parametrize("knobs", [{"learning_rate": 0.05}, {"predictor": "mlp", "learning_rate": 1e-3}], ids=str)
def test_it_learns_and_says_what_it_learnt(knobs: dict[str, Any]) -> None:
    model = FLGames(rounds=60, seed=0, **knobs).fit(two_sites())
    inputs, labels = two_sites()["north"]
    assert model.score(inputs, labels) > 0.9
    assert model.predict_proba(inputs).shape == (60, 2)
    assert np.allclose(model.predict_proba(inputs).sum(1), 1, atol=1e-5)
    assert list(model.players_) == ["north", "south"]
    assert [record.round for record in model.history_] == list(range(model.result_.rounds))
    assert 0 <= model.result_.chosen_round < 60
    assert model.history_[model.result_.chosen_round].round == model.result_.chosen_round
    chosen = f"round {model.result_.chosen_round + 1} of {model.result_.rounds}, counted from 1"
    assert model.result_.chosen == chosen, "as people count"
    assert {name: figures.n for name, figures in model.result_.held_back.items()} == {"north": 12, "south": 12}


def test_linear_players_are_asked_for_by_name(tmp_path: Path) -> None:
    model = FLGames(predictor="linear", rounds=60, learning_rate=0.05).fit(two_sites())
    inputs, labels = two_sites()["north"]
    assert model.score(inputs, labels) > 0.9
    assert [type(layer) for layer in model.players_["north"].children()] == [nn.Flatten, nn.Linear]
    down, up = ({getattr(each, way) for each in model.history_[-1].bytes.values()} for way in ("down", "up"))
    weights = 4 * (4 * 2 + 2)
    assert (down, up) == ({weights + 3 * 8}, {weights + 4 * 8 + 2 * 8}), "one predictor each way, counts and numbers"
    model.save(tmp_path)
    assert np.array_equal(FLGames.load(tmp_path).predict_proba(inputs), model.predict_proba(inputs))
    with pytest.raises(UserError, match="not 'cubic'"):
        FLGames(predictor="cubic").fit(two_sites())


def test_labels_of_any_kind() -> None:
    model = FLGames(rounds=2).fit(two_sites(labels=("healthy", "ill")))
    assert model.classes_.tolist() == ["healthy", "ill"]
    assert set(model.predict(torch.randn(20, 4))) <= {"healthy", "ill"}


@pytest.mark.parametrize("kind", [float, bool, np.int64, np.float32])
def test_labels_that_are_equal_are_one_class_whatever_their_type(kind: Any) -> None:
    clients = two_sites()
    clients["south"] = clients["south"][0], [kind(label) for label in clients["south"][1]]
    model = FLGames(rounds=2, classes=[kind(0), kind(1)]).fit(clients)
    assert model.classes_.tolist() == [0, 1]
    inputs = torch.randn(9, 4)
    assert np.array_equal(model.predict_proba(inputs), FLGames(rounds=2).fit(two_sites()).predict_proba(inputs))


@pytest.mark.parametrize("routed", [False, True], ids=["by hand", "by routing"])
def test_scikit_learn_leaves_one_client_out(routed: bool) -> None:
    given = two_sites().values()
    rows = np.concatenate([inputs for inputs, _ in given])
    labels = np.concatenate([own for _, own in given])
    sites = np.repeat(["north", "south", "west"], 40)
    model = FLGames(rounds=10, early="never", seed=1)
    given_to_cv = None if routed else sites
    told = {"cv": LeaveOneGroupOut(), "groups": given_to_cv, "params": {"groups": sites}, "error_score": "raise"}
    with config_context(enable_metadata_routing=routed):
        scores = cross_val_score(model, rows, labels, **told)
    by_hand = []
    for name in ("north", "south", "west"):
        others = sites != name
        fitted = clone(model).fit(rows[others], labels[others], groups=sites[others])
        assert set(fitted.players_) == {"north", "south", "west"} - {name}
        by_hand.append(fitted.score(rows[~others], labels[~others]))
    assert scores.tolist() == by_hand


def test_arrays_groups_and_datasets_are_the_same_clients() -> None:
    clients = two_sites()
    by_name = FLGames(rounds=4, seed=3).fit(clients)
    rows = torch.cat([inputs for inputs, _ in clients.values()]).numpy()
    labels = [label for _, own in clients.values() for label in own]
    by_group = FLGames(rounds=4, seed=3).fit(rows, labels, groups=["north"] * 60 + ["south"] * 60)
    datasets = {name: Rows(*own) for name, own in clients.items()}
    streamed = FLGames(rounds=4, seed=3).fit(datasets)
    for other in (by_group, streamed):
        assert np.array_equal(by_name.predict_proba(rows), other.predict_proba(rows))
    assert all(dataset.read > 60 for dataset in datasets.values()), "read again, not copied"
    assert isinstance(Streamed(datasets["north"]).dataset, Rows)


def test_the_same_seed_gives_the_same_model_and_another_one_another() -> None:
    inputs = torch.randn(5, 4)
    one, two, three = (FLGames(rounds=3, seed=seed).fit(two_sites()).predict_proba(inputs) for seed in (0, 0, 1))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, three)


def test_parameters_can_be_read_set_and_cloned() -> None:
    model = FLGames(memory=3, rounds=2, representation=backbone)
    assert model.get_params()["memory"] == 3
    model.set_params(memory=1, schedule="clockwise")
    copy = clone(model)
    assert copy.memory == 1
    assert copy.representation is backbone
    copy.fit(two_sites())


@pytest.mark.parametrize("images", [False, True])
def test_the_defaults_suit_tables_and_images(images: bool) -> None:
    if images:
        pixels = torch.randint(0, 255, (40, 3, 12, 12), dtype=torch.uint8)
        clients: dict[str, Any] = {name: (pixels, torch.arange(40) % 2) for name in "ab"}
        model = FLGames(rounds=5, settle_after=2).fit(clients)
        assert model.predict(pixels[:3]).shape == (3,)
        assert any(isinstance(layer, nn.Conv2d) for layer in model.model_.modules())
        assert set(model.result_.held_back) == {"a", "b"}
        assert [record.kind for record in model.history_] == ["predictors"] * 2 + ["model"] * 3
        assert model.result_.finding is not None
        with pytest.raises(UserError, match="rounds=5 leave none for training after the game's settle_after=100"):
            FLGames(rounds=5).fit(clients)
    else:
        model = FLGames(rounds=2).fit(two_sites())
        assert [type(layer) for layer in model.players_["north"].children()] == [nn.Flatten, nn.Linear]
        assert set(model.result_.held_back) == {"north", "south"}


def test_a_backbone_is_learnt_unless_it_is_frozen() -> None:
    frozen = backbone().requires_grad_(False)
    before = {name: tensor.clone() for name, tensor in frozen.state_dict().items()}
    model = FLGames(frozen, lambda features: nn.Linear(features, 2), rounds=4).fit(two_sites())
    assert {record.kind for record in model.history_} == {"predictors"}
    kept = model.model_.ensemble.representation.state_dict()
    assert all(torch.equal(kept[name], tensor) for name, tensor in before.items())
    learnt = FLGames(backbone(), rounds=4, fast=True).fit(two_sites())
    assert {record.kind for record in learnt.history_} == {"phi", "predictors"}
    with pytest.raises(UserError, match="phi has nothing to learn"):
        FLGames(frozen, rounds=4, fast=True).fit(two_sites())


def test_own_optimisers_and_class_weights_are_used() -> None:
    made = []

    def sgd(parameters: Any) -> torch.optim.Optimizer:
        made.append(torch.optim.SGD(parameters, lr=0.1))
        return made[-1]

    inputs = torch.randn(5, 4)
    plain = FLGames(rounds=2, optimiser=sgd).fit(two_sites())
    assert len(made) == 2
    weighted = FLGames(rounds=2, optimiser=sgd, class_weight={0: 1.0, 1: 9.0}).fit(two_sites())
    assert (weighted.predict_proba(inputs)[:, 1] > plain.predict_proba(inputs)[:, 1]).all()
    FLGames(rounds=1, class_weight="balanced").fit(two_sites())
    with pytest.raises(UserError, match=r"no weight for \[1\]"):
        FLGames(rounds=1, class_weight={0: 1.0}).fit(two_sites())


def test_callbacks_hear_of_every_round_and_of_the_end() -> None:
    listening = Following()
    model = FLGames(rounds=3, callbacks=[listening]).fit(two_sites())
    assert listening.told == ["start", "round", "round", "round", "end"]
    assert listening.started[0].rounds == 3
    assert listening.records == model.history_
    assert listening.ended == [model.result_]


def test_the_paper_s_rule_can_be_asked_for() -> None:
    model = FLGames(rounds=5, stop_below=0.99).fit(two_sites())
    assert str(model.result_.rule).startswith("stops below 0.99")


def test_a_saved_model_predicts_the_same(tmp_path: Path) -> None:
    inputs = torch.randn(7, 4)
    model = FLGames(rounds=3).fit(two_sites(labels=("healthy", "ill")))
    model.save(tmp_path / "model")
    again = FLGames.load(tmp_path / "model")
    assert np.array_equal(again.predict_proba(inputs), model.predict_proba(inputs))
    assert np.array_equal(again.predict(inputs), model.predict(inputs))
    assert again.result_ == model.result_
    again.fit(two_sites())


def test_a_model_of_own_modules_predicts_without_them_and_trains_with_them(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    inputs = torch.randn(7, 4)
    model = FLGames(backbone, rounds=3).fit(two_sites())
    model.save(tmp_path / "model")
    predicting = FLGames.load(tmp_path / "model")
    assert np.allclose(predicting.predict_proba(inputs), model.predict_proba(inputs), atol=1e-5)
    with pytest.raises(UserError, match="loaded to predict only"):
        predicting.save(tmp_path / "other")
    whole = FLGames.load(tmp_path / "model", representation=backbone)
    assert np.array_equal(whole.predict_proba(inputs), model.predict_proba(inputs))
    names = [path.name for path in (tmp_path / "model").iterdir()]
    assert sorted(names) == ["SHA256SUMS", "model.json", "model.onnx", "weights.safetensors"]
    assert not any(zipfile.is_zipfile(path) for path in (tmp_path / "model").iterdir()), "no pickle in any of them"
    json.loads((tmp_path / "model" / "model.json").read_text())


def test_a_class_that_a_client_lacks_is_a_warning() -> None:
    clients = two_sites()
    clients["south"] = clients["south"][0], [1] * 60
    with pytest.warns(UserWarning, match="south has no sample of 0"):
        FLGames(rounds=1).fit(clients)


BAD = float("nan")


@pytest.mark.parametrize(
    ("south", "message"),
    [
        ((torch.zeros(5, 3), [0, 1, 0, 1, 0]), r"Inputs of south have the shape \(3,\), and those of north \(4,\)"),
        ((torch.zeros(0, 4), []), "south has no samples"),
        ((torch.full((5, 4), BAD), [0, 1, 0, 1, 0]), "south has NaN or infinity"),
        ((torch.zeros(5, 4), [0, 1]), "south has 5 inputs and 2 labels"),
        (7, r"south: a client is \(X, y\) or a map-style dataset, not int"),
    ],
)
def test_what_can_not_be_used_names_the_client(south: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        FLGames(rounds=1).fit({"north": two_sites()["north"], "south": south})


def test_more_that_can_not_be_used() -> None:
    clients = two_sites()
    with pytest.raises(UserError, match=r"north has the label 1, which is none of \[0, 2\]"):
        FLGames(classes=[0, 2]).fit(clients)
    with pytest.raises(UserError, match="The predictor gives 3 numbers for a sample of north, and there are 2 classes"):
        FLGames(predictor=lambda features: nn.Linear(features, 3)).fit(clients)
    with pytest.raises(UserError, match="The modules can't be applied to samples of north"):
        FLGames(predictor=lambda: nn.Linear(9, 2)).fit(clients)
    with pytest.raises(UserError, match="A game needs two clients at least, and there is 1"):
        FLGames().fit({"north": clients["north"]})
    with pytest.raises(UserError, match="fit needs to know who has what"):
        FLGames().fit(torch.zeros(3, 4), [0, 1, 0])
    with pytest.raises(NotFittedError, match="has not been fitted"):
        FLGames().predict(torch.zeros(3, 4))
    with pytest.raises(UserError, match=r"there is no readable model\.json"):
        FLGames.load("/nowhere")


def test_a_frozen_part_of_a_backbone_stays() -> None:
    half: Any = backbone()
    half[0].requires_grad_(False)
    before = half[0].weight.clone()
    model = FLGames(half, rounds=4, phi_learning_rate=0.1, patience="never").fit(two_sites())
    learnt: Any = model.model_.ensemble.representation
    assert torch.equal(learnt[0].weight, before)
    assert not torch.equal(learnt[1].weight, half[1].weight), "the rest is learnt"


def test_inputs_of_two_dimensions_and_odd_labels() -> None:
    pictures = torch.randn(30, 6, 5)
    clients = {name: (pictures, [("left",), ("right",)] * 15) for name in "ab"}
    model = FLGames(rounds=2).fit(clients)
    assert model.predict(pictures[:2])[0] in {("left",), ("right",)}
    with pytest.raises(UserError, match=r"Inputs have the shape \(4,\), and the model's \(6, 5\)"):
        model.predict(torch.zeros(2, 4))
    for bad, message in (
        ((torch.zeros(3), [0, 1, 0]), "south has one number a sample"),
        (([[1, 2], [3]], [0, 1]), "X of south is no array of numbers"),
        ((torch.zeros(2, 4), [0.0, float("nan")]), "south has the label nan"),
    ):
        with pytest.raises(UserError, match=message):
            FLGames(rounds=1).fit({"north": two_sites()["north"], "south": bad})
    with pytest.raises(UserError, match="The representation can't be applied to inputs"):
        FLGames(nn.Linear(9, 2), rounds=1).fit(two_sites())


def test_parameters_of_numpy_are_saved(tmp_path: Path) -> None:
    given: Any = {"rounds": np.int64(2), "classes": np.array([0, 1]), "class_weight": "balanced"}
    model = FLGames(**given).fit(two_sites())
    model.save(tmp_path / "model")
    again = FLGames.load(tmp_path / "model")
    assert (again.rounds, again.classes, again.class_weight) == (2, [0, 1], "balanced")

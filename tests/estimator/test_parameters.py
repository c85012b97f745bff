"""The estimator's parameters follow the declared knobs; what can't be used is said in the words of Python."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
from sklearn.base import clone
from torch import nn

from flgames import FLGames
from flgames.core.stopping.best_round import BestRound
from flgames.core.stopping.rule import rules
from flgames.core.stopping.stop_below import StopBelow
from flgames.errors import UserError
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.runs.settings import knobs

pytestmark = pytest.mark.filterwarnings("ignore:rounds=.* ended the game")

GIVEN_AS_MODULES = {"representation", "optimiser", "phi_optimiser"}

OTHER_VALUES: dict[str, Any] = {
    "schedule": "clockwise", "participation": 0.5, "memory": 3, "memory_mode": "paper", "local_steps": "10%",
    "full_batch": True, "phi_batches": "all", "phi_every": "sweep", "batch_size": 7, "learning_rate": 0.5,
    "phi_learning_rate": 0.25,
}  # fmt: skip
"""One that is not the default, for every knob of a game."""


def clients(rows: int = 12) -> dict[str, Any]:
    draw = torch.Generator().manual_seed(0)
    return {name: (torch.randn(rows, 3, generator=draw), torch.arange(rows) % 2) for name in ("north", "south")}


def test_every_knob_of_a_game_is_a_parameter() -> None:
    params = FLGames().get_params()
    assert set(FLGamesConfig.model_fields) - GIVEN_AS_MODULES <= set(params)
    assert params["representation"] is params["optimiser"] is params["phi_optimiser"] is None, "these are modules"


@pytest.mark.parametrize("rule", rules())
def test_every_knob_of_every_rule_is_a_parameter(rule: str) -> None:
    assert set(rules()[rule].knobs()) <= set(FLGames().get_params())


def test_the_signature_is_what_people_and_scikit_learn_see() -> None:
    declared = {name: each.default for name, each in inspect.signature(FLGames).parameters.items()}
    assert not {"self", "knobs", "kwargs"} & set(declared)
    assert declared == FLGames().get_params(deep=False)
    of_a_game = {name: FLGamesConfig.model_fields[name].default for name in ("schedule", "batch_size", "local_steps")}
    assert of_a_game.items() <= declared.items()
    assert (declared["memory"], declared["learning_rate"]) == (5, 3e-3), "as own data are played"
    assert (declared["patience"], declared["stop_below"]) == (100, None)


def test_every_knob_reaches_the_game() -> None:
    assert set(OTHER_VALUES) == set(FLGamesConfig.model_fields) - GIVEN_AS_MODULES
    for apart in ("schedule", "participation"):  # some of the players move in simultaneous play only
        values = {name: value for name, value in OTHER_VALUES.items() if name != apart}
        model = FLGames(nn.Linear(3, 2), **values)
        model._set_up((3,), [0, 1], None)
        config = model._config(model._modules()).model_dump()
        assert {name: config[name] for name in values} == values
        assert config["representation"] == "variable"


@pytest.mark.parametrize(
    "knobs",
    [{"schedule": "clockwise", "participation": 0.5}, {"phi_batches": "all"}, {"rounds": 0}, {"seed": -1}],
    ids=str,
)
def test_what_the_command_line_refuses_is_refused(knobs: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=f"`{list(knobs)[-1]}`"):
        FLGames(**knobs).fit(clients())


def test_every_knob_of_a_rule_reaches_the_rule() -> None:
    assert FLGames()._rule() == BestRound(patience=100)
    given = BestRound(patience=7, spread_penalty=2.0, bias_penalty=0.25)
    assert FLGames(patience=7, spread_penalty=2.0, bias_penalty=0.25)._rule() == given
    guarded = StopBelow(stop_below=0.6, stop_spread=0.1, stop_bias=0.2)
    assert FLGames(stop_below=0.6, stop_spread=0.1, stop_bias=0.2)._rule() == guarded
    assert FLGames(patience=None)._rule() is None


@pytest.mark.parametrize("name", ["momentum", "knobs", "benchmark"])
def test_an_unknown_parameter_is_named(name: str) -> None:
    given: dict[str, Any] = {name: 1}
    with pytest.raises(TypeError, match=f"no parameter '{name}'.* batch_size, "):
        FLGames(**given)
    with pytest.raises(ValueError, match=f"'{name}'"):
        FLGames().set_params(**given)


def test_a_clone_has_the_same_parameters_and_nothing_learnt() -> None:
    model = FLGames(
        lambda: nn.Linear(3, 2),
        rounds=2,
        classes=[0, 1],
        class_weight={0: 1.0, 1: 2.0},
        stop_below=0.9,
        **OTHER_VALUES | {"participation": 1.0},
    )
    model.fit(clients())
    copy = clone(model)
    assert type(copy) is FLGames
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "classes_")
    assert clone(copy.set_params(memory=1)).memory == 1
    assert model.memory == 3


BAD: dict[str, dict[str, Any]] = {
    "memory": {"memory": -1},
    "schedule": {"schedule": "sideways"},
    "participation": {"participation": 2},
    "memory_mode": {"memory_mode": "long"},
    "local_steps": {"local_steps": "0%"},
    "phi_every": {"phi_every": 0},
    "batch_size": {"batch_size": 0},
    "learning_rate": {"learning_rate": "fast"},
    "stop_below": {"stop_below": 2},
    "patience": {"patience": 0},
    "patience` and `stop_below": {"patience": 5, "stop_below": 0.6},
    "stop_spread` is for `stop_below": {"stop_spread": 0.1},
    "device": {"device": "moon"},
}


@pytest.mark.parametrize("knob", BAD)
def test_a_knob_that_can_not_be_used_is_named_as_in_python(knob: str) -> None:
    with pytest.raises(UserError) as caught:
        FLGames(**{"rounds": 1} | BAD[knob]).fit(clients())
    assert f"`{knob}`" in str(caught.value)
    assert "--" not in str(caught.value)
    assert isinstance(caught.value, ValueError), "as scikit-learn has it"


def test_no_message_speaks_of_the_command_line() -> None:
    own = clients()
    bad: list[tuple[dict[str, Any], Any]] = [
        ({}, {"north": own["north"]}),
        ({}, own | {"south": (torch.zeros(4, 2), [0, 1, 0, 1])}),
        ({}, own | {"south": (torch.zeros(0, 3), [])}),
        ({}, own | {"south": (torch.full((4, 3), float("nan")), [0, 1, 0, 1])}),
        ({}, own | {"south": (torch.zeros(4, 3), [0])}),
        ({}, own | {"south": (torch.zeros(4), [0, 1, 0, 1])}),
        ({}, own | {"south": 7}),
        ({}, torch.zeros(4, 3)),
        ({}, {name: (inputs, [1] * len(inputs)) for name, (inputs, _) in own.items()}),
        ({"classes": [0, 2]}, own),
        ({"class_weight": "heavy"}, own),
        ({"class_weight": {0: 1.0}}, own),
        ({"fast": True}, own),
        ({"representation": nn.Linear(9, 2)}, own),
        ({"predictor": lambda features: nn.Linear(features, 5)}, own),
    ]
    for given, data in bad:
        with pytest.raises(UserError) as caught:
            FLGames(rounds=1, **given).fit(data)
        assert "--" not in str(caught.value)


def test_parameters_are_called_as_they_are_on_the_command_line() -> None:
    ours = {"predictor", "fast", "class_weight", "classes", "callbacks"}
    assert set(FLGames().get_params()) - ours <= set(knobs())
    assert {"rounds", "phi_rounds", "device", "seed"} <= set(FLGames().get_params())

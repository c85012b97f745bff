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
from flgames.core.stopping.early_round import EarlyRound
from flgames.core.stopping.rule import StoppingRule, rules
from flgames.core.stopping.stop_below import StopBelow
from flgames.errors import UserError
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.settled.config import SettledConfig
from flgames.models.architecture import Architecture
from flgames.runs.settings import knobs

pytestmark = pytest.mark.filterwarnings("ignore:rounds=.* ended the game")

GIVEN_AS_MODULES = {"representation", "optimiser", "phi_optimiser"}

OTHER_VALUES: dict[str, Any] = {
    "schedule": "clockwise", "participation": 0.5, "memory": 3, "memory_mode": "paper", "local_steps": "10%",
    "full_batch": True, "phi_batches": "all", "phi_every": "sweep", "batch_size": 7, "learning_rate": 0.5,
    "phi_learning_rate": 0.25, "ensemble": "balanced",
    "opponents": 4,
    "phi_merged_by": "median", "phi_clip": 2.0, "player_clip": 2.0,
}  # fmt: skip
"""One that is not the default, for every knob of a game but settle, which a game that learns phi does not have."""


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
    left = ("validation", "learning_rate", "memory", "rounds", "settle", "early", "patience", "stop_below")
    assert {declared[name] for name in left} == {None}, "as the data have it"


def test_every_knob_reaches_the_game() -> None:
    assert {*OTHER_VALUES, "settle", "batched", "look_up"} == set(FLGamesConfig.model_fields) - GIVEN_AS_MODULES
    for apart in ("schedule", "participation"):  # some of the players move in simultaneous play only
        values = {name: value for name, value in OTHER_VALUES.items() if name != apart}
        config = config_of(FLGames(nn.Linear(3, 2), **values)).model_dump()
        assert {name: config[name] for name in values} == values
        assert config["representation"] == "variable"
    assert config_of(FLGames(settle="always")).settle == "always"
    assert config_of(FLGames(batched=True)).batched, "which a variable representation does not allow"
    assert config_of(FLGames(look_up=True)).look_up, "which a full batch does not need"


def set_up(model: FLGames, shape: tuple[int, ...]) -> Architecture:
    model._set_up(shape, [0, 1], None)
    return model._modules()


def config_of(model: FLGames, shape: tuple[int, ...] = (3,)) -> FLGamesConfig | SettledConfig:
    return model._config(set_up(model, shape))


def rule_of(model: FLGames, shape: tuple[int, ...] = (3,)) -> StoppingRule | None:
    set_up(model, shape)
    return model._rule()


IMAGES = (3, 8, 8)


def test_what_is_left_to_the_data_is_as_on_the_command_line() -> None:
    """Tables have linear players that settle and stop early, images are settled by a game; all others are played as
    they were."""
    linear, images, perceptrons = config_of(FLGames()), config_of(FLGames(), IMAGES), config_of(FLGames(None, "mlp"))
    assert (linear.learning_rate, linear.settle) == (1e-2, "auto")
    assert (perceptrons.learning_rate, perceptrons.settle, perceptrons.memory) == (3e-3, "never", 5)
    assert isinstance(images, SettledConfig)
    assert (images.learning_rate, images.settle, images.memory, images.settle_after) == (1e-3, "auto", 0, 100)
    old = config_of(FLGames(settle=False), IMAGES)
    assert (old.learning_rate, old.settle) == (3e-3, "never")
    assert isinstance(config_of(FLGames(predictor="mlp", settle=True)), SettledConfig), "settle=True asks for it"
    assert config_of(FLGames(nn.Linear(3, 2))).settle == "never"
    assert config_of(FLGames(predictor=lambda features: nn.Linear(features, 2))) == linear, "whatever gives it"
    assert rule_of(FLGames()) == EarlyRound(early=200)
    assert rule_of(FLGames(), IMAGES) == EarlyRound(early=60)
    assert rule_of(FLGames(settle="never"), IMAGES) == rule_of(FLGames(None, "mlp")) == BestRound(patience=100)
    assert rule_of(FLGames(nn.Linear(3, 2))) == BestRound(patience=100)


@pytest.mark.parametrize(
    "knobs",
    [
        {"schedule": "clockwise", "participation": 0.5},
        {"phi_batches": "all"},
        {"rounds": 0},
        {"seed": -1},
        {"ensemble": "balanced", "predictor": "mlp", "settle": "always"},
        {"full_batch": True, "settle": "always"},
    ],
    ids=str,
)
def test_what_the_command_line_refuses_is_refused(knobs: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=f"`{list(knobs)[-1]}`"):
        FLGames(**knobs).fit(clients())


def test_every_knob_of_a_rule_reaches_the_rule() -> None:
    given = BestRound(patience=7, spread_penalty=2.0, bias_penalty=0.25)
    assert rule_of(FLGames(patience=7, spread_penalty=2.0, bias_penalty=0.25)) == given
    early = EarlyRound(early=7, early_errors=2.0)
    assert rule_of(FLGames(early=7, early_errors=2.0)) == rule_of(FLGames(early=7, early_errors=2.0), IMAGES) == early
    guarded = StopBelow(stop_below=0.6, stop_spread=0.1, stop_bias=0.2)
    assert rule_of(FLGames(stop_below=0.6, stop_spread=0.1, stop_bias=0.2)) == guarded
    for name in ("early", "patience", "stop_below"):
        never: dict[str, Any] = {name: "never"}
        unsaid: dict[str, Any] = {name: None}
        assert rule_of(FLGames(**never)) is None, "all rounds are played"
        assert rule_of(FLGames(**unsaid)) == EarlyRound(early=200), "it is left to the data"


def test_a_balanced_ensemble_is_what_is_returned() -> None:
    """No rule chooses another round, nothing is settled, and players are weighed on samples that were held back."""
    for predictor in (None, "mlp"):
        model = FLGames(predictor=predictor, ensemble="balanced", rounds=5).fit(clients(80))
        assert model.result_.balanced is not None
        assert model.model_.ensemble.balance_weights is not None
        counted = model.model_.ensemble.balance_weights.tolist()
        assert counted == pytest.approx(list(model.result_.balanced.weights.values()), rel=1e-5)
        assert set(model.result_.held_back) == {"north", "south"}
    with pytest.raises(UserError, match="needs no rule that chooses a round"):
        FLGames(ensemble="balanced", patience=5).fit(clients())


def test_a_settled_game_refuses_what_it_would_not_use() -> None:
    for name, value in {"optimiser": torch.optim.SGD, "fast": True}.items():
        given: dict[str, Any] = {name: value}
        with pytest.raises(UserError, match=f"`{name}` is for games that are not settled"):
            FLGames(predictor="mlp", settle=True, **given).fit(clients())
    with pytest.raises(UserError, match="players are for settled games"):
        FLGames(players=nn.Linear(3, 2), rounds=2).fit(clients())


def test_modules_of_one_s_own_are_trained_after_a_game() -> None:
    backbone = nn.Sequential(nn.Linear(3, 4), nn.Tanh())
    model = FLGames(backbone, settle="always", settle_after=3, rounds=6, players=lambda size: nn.Linear(size, 2))
    model.fit(clients(80))
    assert list(model.players_) == ["model"]
    assert model.result_.finding is not None
    assert model.result_.finding.settled
    plain = FLGames(backbone, settle=True, settle_after=3, rounds=6).fit(clients(80))
    assert plain.predict(torch.zeros(2, 3)).shape == (2,)


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
    "early": {"early": 0},
    "early` and `patience": {"early": 5, "patience": 5},
    "settle": {"settle": "sometimes"},
    "validation": {"validation": 1},
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
    ours = {"predictor", "players", "fast", "class_weight", "classes", "callbacks"}
    assert set(FLGames().get_params()) - ours <= set(knobs())
    assert {"rounds", "phi_rounds", "validation", "device", "seed"} <= set(FLGames().get_params())

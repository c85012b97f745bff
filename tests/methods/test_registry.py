"""What every method of the registry can do, so that a new line there is tested at once."""

from __future__ import annotations

import pytest
import torch
from pydantic import ValidationError

from flgames.core.method import Method
from flgames.errors import UserError
from flgames.methods.registry import METHODS, config_of, find, make
from flgames.models.ensemble import Ensemble
from tests.toys import Records, perceptrons, random_clients, seat, set_up, suited


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_configuration_with_defaults(name: str) -> None:
    assert issubclass(find(name), Method)
    config = config_of(name, {})
    assert type(config) is find(name).Config
    assert config_of(name, config.model_dump()) == config
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        config_of(name, {"nonsense": 1})
    with pytest.raises(ValidationError, match="Instance is frozen"):
        setattr(config, next(iter(type(config).model_fields)), None)


@pytest.mark.parametrize("variable", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_every_method_plays_and_returns_its_model(name: str, variable: bool) -> None:
    if name == "logistic" and variable:
        with pytest.raises(ValueError, match="one linear layer: choose linear players"):
            make(name, perceptrons(variable=True), {})
        return
    few = {"settle_after": 1} if name == "settled" else {}
    method = make(name, perceptrons(variable=True) if variable else suited(name), few)
    play = set_up(method, random_clients(40, 30), 3)
    play.start()
    before = play.ensemble().tensors() if name != "settled" else {}
    records = Records()
    assert play.run([records]) == "rounds"
    assert [record.round for record in records.heard] == [0, 1, 2]
    assert all(record.moved for record in records.heard)
    result = play.result(records.heard)
    assert (result.end, result.rounds, result.chosen_round, result.rule) == ("rounds", 3, 2, None)
    assert set(result.train_of) == {"a", "b"}
    assert min(result.bytes_down, result.bytes_up) > 0

    model = play.chosen()
    tensors = model.tensors()
    moved = [key for key, tensor in tensors.items() if key not in before or not torch.equal(tensor, before[key])]
    assert moved, "it has learnt something"
    again = Ensemble.from_tensors(method.learnt, tensors)
    inputs = torch.randn(7, 6)
    assert torch.equal(again(inputs), model(inputs)), "it can be saved and loaded"
    assert model(inputs).shape == (7, 2)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_waits_for_each_client_to_move(name: str) -> None:
    method = make(name, suited(name), {})
    assert method.warm_start({"a": 10, "b": 20, "c": 30}) >= 3


@pytest.mark.parametrize("name", METHODS)
def test_clients_of_every_method_do_their_tasks_and_nothing_else(name: str) -> None:
    method = make(name, suited(name), {})
    server = seat(method, random_clients(40, 30))
    assert server.samples == {"a": 40, "b": 30}
    assert server.held_back == {"a": 0, "b": 0}
    assert server.classes == 2
    assert server.measure(70).exact
    with pytest.raises(ValueError, match="'state_dict' is nothing that this client can be asked"):
        server.ask("state_dict", ("a",), method.predictor_form)


def test_a_method_that_is_not_there() -> None:
    with pytest.raises(UserError, match=r"^Unknown method 'fedav'\. Did you mean 'fedavg'\? Known: "):
        find("fedav")

from __future__ import annotations

import pytest
import torch
from torch import nn

from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.server import Game
from flgames.models import channels as layers
from flgames.models.ensemble import Ensemble
from flgames.models.mlp import paper_architecture
from flgames.models.networks import MLP
from tests.toys import flat, perceptrons, random_clients, seat


def shapes(module: nn.Module) -> list[tuple[int, ...]]:
    return [tuple(parameter.shape) for parameter in module.parameters() if parameter.ndim == 2]


def test_the_papers_perceptrons() -> None:
    fixed = paper_architecture((2, 28, 28), 2, variable=False)
    assert shapes(fixed.predictor()) == [(390, 1568), (390, 390), (2, 390)]
    assert shapes(fixed.representation()) == []
    variable = paper_architecture((2, 28, 28), 10, variable=True)
    assert shapes(variable.representation()) == [(390, 1568)]
    assert shapes(variable.predictor()) == [(390, 390), (390, 390), (10, 390)]


def test_glorot() -> None:
    assert isinstance(MLP(initialisation="glorot").architecture((2, 8, 8), 2).predictor(), nn.Sequential)
    linear = MLP(initialisation="glorot").architecture((2, 8, 8), 2).predictor()[1]  # type: ignore[index]
    limit = (6 / (128 + 390)) ** 0.5
    assert linear.bias.abs().max() == 0
    assert 0.95 * limit < linear.weight.abs().max() <= limit


def test_the_ensemble_is_the_mean_of_logits_not_of_weights() -> None:
    architecture = perceptrons()
    server = seat(Game(architecture, FLGamesConfig()), random_clients(10, 10))
    ensemble = server.known.ensemble(architecture)
    inputs = torch.randn(7, 6)
    by_hand = sum(player(inputs) for player in ensemble.players) / 2
    torch.testing.assert_close(ensemble(inputs), by_hand)


def test_tensors_round_trip() -> None:
    architecture = perceptrons(variable=True)
    clients = {f"site.{name}/1": samples for name, samples in random_clients(10, 10).items()}
    server = seat(Game(architecture, FLGamesConfig(representation="variable")), clients)
    ensemble = server.known.ensemble(architecture)
    again = Ensemble.from_tensors(architecture, ensemble.tensors())
    inputs = torch.randn(7, 6)
    assert torch.equal(again(inputs), ensemble(inputs))
    assert again.names == ensemble.names == ("site.a/1", "site.b/1")


def test_players_start_differently_and_the_same_seed_the_same() -> None:
    architecture = perceptrons()
    clients = random_clients(10, 10)
    one, same, other = (flat(seat(Game(architecture, FLGamesConfig()), clients, seed)) for seed in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert not torch.equal(one[: len(one) // 2], one[len(one) // 2 :])


@pytest.mark.parametrize("kind", ["one channel an image", "some empty, some full", "nothing is empty"])
def test_empty_channels_are_skipped_and_nothing_else_changes(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "WORTH_LOOKING", 0)
    images = torch.randn(30, 5, 6, generator=torch.Generator().manual_seed(0))
    channels = torch.arange(30) % 5
    if kind != "nothing is empty":
        images *= (torch.arange(5) == channels[:, None])[:, :, None]
    if kind == "some empty, some full":
        images[0], images[1] = 0.0, 1.0
    layer, plain = layers.ChannelLinear(5, 30, 4), nn.Linear(30, 4)
    plain.load_state_dict(layer.state_dict())
    outputs = [each(images.flatten(1)) for each in (layer, plain)]
    for each in outputs:
        each.square().sum().backward()
    torch.testing.assert_close(*outputs)
    torch.testing.assert_close(layer.weight.grad, plain.weight.grad)
    torch.testing.assert_close(layer.bias.grad, plain.bias.grad)

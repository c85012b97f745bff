"""The baselines of real tables: the median of models, the mean of local models, and logistic regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from flgames.core.method import Method
from flgames.core.server import Server
from flgames.data.samples import POOLED, ArraySamples, Samples
from flgames.methods.fedavg import FedAvg, FedAvgConfig
from flgames.methods.fedmedian import FedMedian
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.server import Game
from flgames.methods.local_mean import LocalMean
from flgames.methods.logistic import Logistic, LogisticConfig
from flgames.methods.registry import find
from flgames.models.architecture import Architecture
from tests.toys import SQUARED, one_sample_each, perceptrons, random_clients, seat, squared_config

ONE_STEP = FedAvgConfig(local_steps=1, batch_size=1, learning_rate=0.5, optimiser="sgd")
"""From any w to the target: w - 0.5 x 2 (w - target)."""


def after_one_round(method: Method, *targets: float) -> float:
    server = seat(method, one_sample_each(*targets))
    method.round(server, 0, 0)
    return float(server.known.current[0].weights["weight"])


@pytest.mark.parametrize(
    ("targets", "median", "mean"),
    [((4, 2, 9), 4, 5), ((4, 2), 3, 3), ((1, 2, 3, 100), 2.5, 26.5), ((7,), 7, 7), ((-5, 0, 1, 2, 90), 1, 17.6)],
)
def test_the_median_of_clients_by_hand(targets: tuple[float, ...], median: float, mean: float) -> None:
    """Every client learns its own target; of an even number, the mean of the two in the middle."""
    assert after_one_round(FedMedian(SQUARED, ONE_STEP), *targets) == pytest.approx(median)
    assert after_one_round(FedAvg(SQUARED, ONE_STEP), *targets) == pytest.approx(mean)


def test_the_median_is_taken_number_by_number_and_every_client_counts_once() -> None:
    weights = {
        "a": {"weight": torch.tensor([[1.0, 9.0]]), "count": torch.tensor(3)},
        "b": {"weight": torch.tensor([[5.0, 7.0]]), "count": torch.tensor(4)},
        "c": {"weight": torch.tensor([[3.0, 8.0]]), "count": torch.tensor(5)},
    }
    method = FedMedian(SQUARED, ONE_STEP)
    server: Any = None
    merged = method.merge(server, weights, {"a": 0.98, "b": 0.01, "c": 0.01})
    assert merged["weight"].tolist() == [[3.0, 8.0]]
    assert merged["count"].item() == 3, "what is no number of a model is the first client's"


def test_the_median_of_many_large_models_can_be_had() -> None:
    """Fifty clients of a layer with 400,000 weights."""
    many = {str(number): {"weight": torch.full((400, 1000), float(number))} for number in range(50)}
    server: Any = None
    merged = FedMedian(SQUARED, ONE_STEP).merge(server, many, dict.fromkeys(many, 0.02))
    assert bool((merged["weight"] == 24.5).all())


def test_the_mean_of_local_models_by_hand() -> None:
    """One step leads every player to its own target; in a game it would answer to the others."""
    for targets in ((4.0, 2.0), (4.0, 2.0, 9.0)):
        method = LocalMean(SQUARED, squared_config())
        server = seat(method, one_sample_each(*targets))
        method.round(server, 0, 0)
        found = [server.known.buffers[name].current.weights["weight"].item() for name in server.clients]
        assert found == list(targets)
        assert method.ensemble(server)(torch.ones(1, 1)).item() == pytest.approx(sum(targets) / len(targets))


KNOBS: dict[str, Any] = {"batch_size": 4, "learning_rate": 0.05}
WAYS: list[dict[str, Any]] = [
    KNOBS | more for more in ({}, {"memory": 3}, {"schedule": "clockwise"}, {"full_batch": True})
]


def played(method: Method, clients: dict[str, Samples], rounds: int) -> Server:
    server = seat(method, clients)
    for round_ in range(rounds):
        method.round(server, round_, 0)
    return server


@pytest.mark.parametrize("architecture", [perceptrons(), Architecture(lambda: nn.Linear(6, 2))], ids=["mlp", "linear"])
@pytest.mark.parametrize("knobs", WAYS, ids=["plain", "memory", "clockwise", "full batch"])
def test_everybody_learns_as_if_alone_and_logits_are_averaged(
    architecture: Architecture, knobs: dict[str, Any]
) -> None:
    clients, config = random_clients(9, 12, 7), FLGamesConfig(**knobs)
    rounds = 9 if config.schedule == "clockwise" else 3
    together = logits(LocalMean(architecture, config), clients, rounds)
    alone = [logits(LocalMean(architecture, config), {name: own}, 3) for name, own in clients.items()]
    assert torch.allclose(together, torch.stack(alone).mean(0), atol=1e-6)
    answered = logits(Game(architecture, config), clients, rounds)
    assert not torch.allclose(answered, together, atol=1e-3), "players of a game answer each other"


def logits(method: Method, clients: dict[str, Samples], rounds: int) -> Tensor:
    """What a method has learnt to say of five inputs."""
    ensemble = method.ensemble(played(method, clients, rounds))
    found: Tensor = ensemble(torch.randn(5, 6, generator=torch.Generator().manual_seed(0)))
    return found.detach()


@dataclass(frozen=True)
class Drawn:
    """Samples at three clients of different size, and all of them."""

    clients: dict[str, Samples]
    inputs: Tensor
    targets: Tensor


def drawn(classes: int) -> Drawn:
    draw = torch.Generator().manual_seed(classes)
    inputs = torch.randn(240, 5, generator=draw)
    odds = inputs @ torch.randn(5, classes, generator=draw)
    targets = torch.multinomial(odds.softmax(1), 1, generator=draw)[:, 0]
    parts = {"a": slice(0, 40), "b": slice(40, 120), "c": slice(120, 240)}
    return Drawn({name: ArraySamples(inputs[own], targets[own]) for name, own in parts.items()}, inputs, targets)


@pytest.mark.parametrize("l2", [1e-3, 1e-2])
@pytest.mark.parametrize("classes", [2, 3])
def test_pooled_logistic_regression_is_that_of_scikit_learn(classes: int, l2: float) -> None:
    data = drawn(classes)
    method = Logistic(Architecture(lambda: nn.Linear(5, classes)), LogisticConfig(l2=l2))
    server = played(method, {POOLED: ArraySamples(data.inputs, data.targets)}, 1)
    penalty = 2 * l2 * 240 * (1 if classes == 2 else 2)
    theirs = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=10_000).fit(data.inputs.double(), data.targets)
    with torch.inference_mode():
        ours = method.ensemble(server)(data.inputs).softmax(1).numpy()
    assert np.abs(ours - theirs.predict_proba(data.inputs.double())).max() < 1e-4


def test_where_clients_are_apart_it_is_the_mean_of_their_heads_by_size() -> None:
    data = drawn(2)
    method = Logistic(Architecture(lambda: nn.Linear(5, 2)))
    server = played(method, data.clients, 1)
    heads = []
    for name, samples in data.clients.items():
        alone = Logistic(Architecture(lambda: nn.Linear(5, 2)))
        heads.append(played(alone, {name: samples}, 1).known.current[0].weights["weight"])
    expected = sum(share * head for share, head in zip((1 / 6, 2 / 6, 3 / 6), heads, strict=True))
    assert torch.allclose(server.known.current[0].weights["weight"], torch.as_tensor(expected), atol=1e-6)


def test_logistic_regression_is_linear() -> None:
    with pytest.raises(ValueError, match="one linear layer: choose linear players"):
        Logistic(perceptrons())


def test_they_are_known_by_name() -> None:
    assert [find(name) for name in ("fedmedian", "local-mean", "logistic")] == [FedMedian, LocalMean, Logistic]

"""One temperature for all clients: fitted where the samples are, kept in the model, and no answer changes by it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from flgames.core.local import LocalFederation
from flgames.core.loop import Play
from flgames.core.messages import MODEL, Action
from flgames.core.server import Server
from flgames.core.temperature import losses_at, narrowed, temperatures
from flgames.data.samples import ArraySamples, Samples
from flgames.evaluation.export import ExportedModel
from flgames.methods.fedavg import FedAvg, FedAvgConfig
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.server import Game
from flgames.models.architecture import Architecture
from flgames.models.ensemble import Ensemble
from flgames.models.standardise import Standardise

LINEAR = Architecture(lambda: nn.Linear(1, 2))
HONEST = {"weight": torch.tensor([[-0.5], [0.5]]), "bias": torch.zeros(2)}
"""Of x it says that the second class has the log-odds x."""


@dataclass(frozen=True)
class Grouped(ArraySamples):
    """Samples that are never parted from others of their group."""

    groups: Tensor


def honest_samples(groups: int, first: int = 0) -> Grouped:
    """Groups of eight: of log-odds +ln 3 three in four are of the second class, of -ln 3 one in four."""
    x = math.log(3) * torch.tensor([1.0] * 4 + [-1.0] * 4)
    y = torch.tensor([1, 1, 1, 0, 0, 0, 0, 1])
    return Grouped(x.repeat(groups)[:, None], y.repeat(groups), torch.arange(groups).repeat_interleave(8) + first)


def certain_samples(n: int, log_odds: float) -> ArraySamples:
    """Whose class is always the one that the model says."""
    y = torch.arange(n) % 2
    return ArraySamples(log_odds * (2.0 * y - 1)[:, None], y)


def told(clients: dict[str, Samples], times: float = 1.0, validation: float = 0.0) -> Server:
    """A server whose clients have been told of a model, so many times as sure as an honest one."""
    method = FedAvg(LINEAR, FedAvgConfig())
    server = Server(LocalFederation.of(method, clients, seed=0, validation=validation))
    server.introduce()
    server.publish(Action(MODEL, 0, {name: times * tensor for name, tensor in HONEST.items()}))
    return server


@pytest.mark.parametrize("times", [0.25, 1.0, 3.0, 20.0])
def test_logits_that_are_k_times_too_large_have_the_temperature_k(times: float) -> None:
    server = told({"a": honest_samples(500), "b": honest_samples(1500)}, times, validation=0.2)
    assert server.held_back == {"a": 800, "b": 2400}
    assert server.temperature() == pytest.approx(times, rel=0.02)


def test_a_federation_finds_what_one_place_with_all_samples_would() -> None:
    draw = torch.Generator().manual_seed(0)
    x = 2 * torch.randn(900, 1, generator=draw)
    y = (torch.rand(900, generator=draw) < (x[:, 0] / 2).sigmoid()).long()
    parts: dict[str, Samples] = {
        name: ArraySamples(x[rows], y[rows])
        for name, rows in {"a": slice(0, 100), "b": slice(100, 350), "c": slice(350, 900)}.items()
    }
    whole: dict[str, Samples] = {"all": ArraySamples(x, y)}
    apart, together = (told(clients, 3.0).temperature() for clients in (parts, whole))
    assert apart == pytest.approx(together, rel=1e-9)
    tried = torch.linspace(5, 8, 301, dtype=torch.float64)
    logits = 1.5 * torch.cat([-x, x], 1).double()
    losses = torch.stack([functional.cross_entropy(logits / each, y, reduction="sum") for each in tried])
    least = float(tried[int((losses + tried.log().square()).argmin())])
    assert apart == pytest.approx(least, rel=0.01), "as it is found by trying all of them"


@pytest.mark.parametrize("log_odds", [0.1, 1.0, 3.0])
def test_few_samples_that_are_all_right_leave_it_modest(log_odds: float) -> None:
    """Without a penalty each of them would ask for a temperature of zero."""
    found = told({"a": certain_samples(3, log_odds), "b": certain_samples(4, log_odds)}).temperature()
    assert 0.3 < found < 1
    tried = torch.logspace(-2, 2, 40_001, dtype=torch.float64)
    penalised = 7 * functional.softplus(-log_odds / tried) + tried.log().square()
    assert found == pytest.approx(float(tried[int(penalised.argmin())]), rel=0.01)


def test_few_samples_that_are_all_wrong_leave_it_modest_too() -> None:
    samples = certain_samples(6, 1.0)
    wrong = replace(samples, targets=1 - samples.targets)
    assert 1 < told({"a": wrong}).temperature() < 10


def test_what_crosses_is_a_sum_of_losses_a_temperature() -> None:
    server = told({"a": honest_samples(5), "b": honest_samples(7)})
    server.take_traffic()
    server.temperature()
    bytes_ = server.take_traffic()
    assert {each.up for each in bytes_.values()} == {2 * 41 * 8}, "twice 41 numbers, however many samples there are"
    tried = temperatures(0.02, 50.0)
    logits, y = torch.tensor([[0.0, 2.0], [0.0, -1.0]]), torch.tensor([1, 1])
    by_hand = [functional.cross_entropy(logits.double() / t, y, reduction="sum") for t in tried]
    assert torch.allclose(losses_at(logits, y, 0.02, 50.0), torch.stack(by_hand))


def test_the_best_temperature_lies_between_its_neighbours() -> None:
    tried = temperatures(0.5, 2.0)
    assert (float(tried[0]), float(tried[20]), float(tried[-1])) == pytest.approx((0.5, 1.0, 2.0))
    low, high = narrowed(torch.zeros(41, dtype=torch.float64), 0.5, 2.0)
    assert (low, high) == (float(tried[19]), float(tried[21])), "where the samples say nothing, 1"
    falling = -1000 * torch.arange(41, dtype=torch.float64)
    assert narrowed(falling, 0.5, 2.0) == (float(tried[39]), float(tried[40])), "at an end there is one neighbour"


def test_an_exported_model_divides_by_it_and_says_the_same() -> None:
    draw = torch.Generator().manual_seed(0)
    players = {
        name: {"weight": torch.randn(3, 4, generator=draw), "bias": torch.randn(3, generator=draw)} for name in "ab"
    }
    ensemble = Ensemble(Architecture(lambda: nn.Linear(4, 3)), players)
    ready = Standardise((4,)).fit(torch.ones(4), torch.full((4,), 2.0))
    rows = torch.randn(50, 4, generator=draw)
    with torch.inference_mode():
        logits = ensemble((rows - 1) / 2)
        for temperature in (0.3, 1.0, 7.0):
            said = ExportedModel(ready, ensemble, temperature)(rows)
            assert torch.allclose(said, (logits / temperature).softmax(1), atol=1e-6)
            assert torch.equal(said.argmax(1), logits.argmax(1))


def test_a_game_ends_with_honest_probabilities() -> None:
    """Players that are far too sure after large steps are not, once what they say is divided by the temperature."""
    clients: dict[str, Samples] = {"a": honest_samples(60), "b": honest_samples(60, first=60)}
    method = Game(LINEAR, FLGamesConfig(optimiser="sgd", learning_rate=30.0, batch_size=64))
    play = Play(method, LocalFederation.of(method, clients, 0, validation=0.25), seed=0, rounds=5)
    play.start()
    play.run()
    result = play.result([])
    assert result.temperature > 2
    sure = play.server.figures(1.0)
    for name, figures in result.held_back.items():
        assert figures.confusion == sure[name].confusion
        before = sure[name].log_loss
        assert before is not None
        assert figures.log_loss is not None
        assert figures.log_loss < before
        assert figures.log_loss == pytest.approx(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)), abs=0.05)


def test_without_held_back_samples_it_is_one() -> None:
    method = Game(LINEAR, FLGamesConfig(batch_size=8))
    clients: dict[str, Samples] = {"a": honest_samples(3), "b": honest_samples(3)}
    play = Play(method, LocalFederation.of(method, clients, 0), seed=0, rounds=2)
    play.start()
    play.run()
    result = play.result([])
    assert (result.temperature, result.held_back) == (1.0, {})

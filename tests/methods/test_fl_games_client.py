"""What players do, against plain torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn
from torch.nn import functional

from flgames.core.steps import steps_of
from flgames.data.samples import ArraySamples, BatchStream
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.server import Game
from flgames.models.architecture import Architecture, initial_weights
from flgames.models.ensemble import PHI
from tests.toys import flat, perceptrons, random_clients, seat


def _pooled(clients: dict[str, Any]) -> tuple[Tensor, Tensor]:
    return torch.cat([c.inputs for c in clients.values()]), torch.cat([c.targets for c in clients.values()])


@pytest.mark.parametrize("sizes", [(40, 40), (300, 30, 7)])
def test_phi_moves_by_the_gradient_of_the_pooled_data(sizes: tuple[int, ...]) -> None:
    clients, architecture = random_clients(*sizes), perceptrons(variable=True)
    config = FLGamesConfig(representation="variable", phi_batches="all", phi_optimiser="sgd", phi_learning_rate=1.0)
    method = Game(architecture, config)
    server = seat(method, clients)
    ensemble = server.known.ensemble(architecture)
    inputs, targets = _pooled(clients)
    functional.cross_entropy(ensemble(inputs), targets).backward()  # type: ignore[no-untyped-call]
    method.round(server, 0, 0)
    assert server.known.phi is not None
    for name, parameter in ensemble.representation.named_parameters():
        assert parameter.grad is not None
        expected = parameter.detach() - parameter.grad
        torch.testing.assert_close(server.known.phi.weights[name], expected, rtol=1e-5, atol=1e-6)


def test_one_batch_of_phi_is_that_batch() -> None:
    clients, architecture = random_clients(100), perceptrons(variable=True)
    method = Game(
        architecture, FLGamesConfig(representation="variable", batch_size=16, phi_optimiser="sgd", phi_learning_rate=1)
    )
    server = seat(method, clients)
    ensemble = server.known.ensemble(architecture)
    inputs, targets = clients["a"].batch(BatchStream(100, 16, 0, "a", "phi").batch(0))
    functional.cross_entropy(ensemble(inputs), targets).backward()  # type: ignore[no-untyped-call]
    method.round(server, 0, 0)
    assert server.known.phi is not None
    for name, parameter in ensemble.representation.named_parameters():
        assert parameter.grad is not None
        torch.testing.assert_close(server.known.phi.weights[name], parameter.detach() - parameter.grad)


def test_one_player_alone_is_plain_training() -> None:
    clients, architecture = random_clients(100), perceptrons()
    method = Game(architecture, FLGamesConfig(batch_size=16, memory=5))
    server = seat(method, clients)
    plain = architecture.predictor()
    plain.load_state_dict(initial_weights(architecture.predictor, 0, "a"))
    adam = torch.optim.Adam(plain.parameters(), lr=2.5e-4, fused=True)
    stream = BatchStream(100, 16, 0, "a", "moves")
    for number in range(20):
        inputs, targets = clients["a"].batch(stream.batch(number))
        adam.zero_grad()
        functional.cross_entropy(plain(inputs), targets).backward()  # type: ignore[no-untyped-call]
        adam.step()
        method.round(server, number, 0)
    weights = torch.cat([parameter.detach().flatten() for _, parameter in sorted(plain.named_parameters())])
    assert torch.equal(flat(server), weights)


@pytest.mark.parametrize("memory", [0, 3])
def test_a_full_batch_step_is_gradient_descent_on_all_samples(memory: int) -> None:
    sizes = (600, 20)
    clients, architecture = random_clients(*sizes), perceptrons()
    method = Game(
        architecture, FLGamesConfig(full_batch=True, optimiser="sgd", learning_rate=0.3, local_steps=2, memory=memory)
    )
    server = seat(method, clients)
    for round_ in range(4):
        expected = {}
        for player, samples in clients.items():
            own = architecture.predictor()
            own.load_state_dict(server.known.buffers[player].current.weights)
            (opponent,) = (buffer for name, buffer in server.known.buffers.items() if name != player)
            inputs, targets = samples.batch(torch.arange(len(samples)))
            terms = opponent.history() if memory else [(1.0, opponent.current)]
            others = sum(w * torch.func.functional_call(own, a.weights, inputs) for w, a in terms).detach()
            sgd = torch.optim.SGD(own.parameters(), lr=0.3)
            for _ in range(2):
                sgd.zero_grad()
                functional.cross_entropy((own(inputs) + others) / 2, targets).backward()  # type: ignore[no-untyped-call]
                sgd.step()
            expected[player] = own.state_dict()
        method.round(server, round_, 0)
        for player, weights in expected.items():
            for name, tensor in weights.items():
                torch.testing.assert_close(
                    server.known.buffers[player].current.weights[name], tensor, rtol=1e-4, atol=1e-6
                )


def test_fast_and_all_batches_use_every_sample_once() -> None:
    seen: list[int] = []

    class Watched(ArraySamples):
        def batch(self, index: Tensor) -> tuple[Tensor, Tensor]:
            seen.extend(index.tolist())
            return super().batch(index)

    samples = random_clients(600)["a"]
    assert isinstance(samples, ArraySamples)
    method = Game(perceptrons(variable=True), FLGamesConfig(representation="variable", phi_batches="all"))
    server = seat(method, {"a": Watched(samples.inputs, samples.targets)})
    seen.clear()  # it introduced itself
    method.round(server, 0, 0)
    assert sorted(seen) == list(range(600))


class Counting(nn.Linear):
    """Counts the samples that go through any copy of it."""

    passed = 0

    def forward(self, features: Tensor) -> Tensor:
        Counting.passed += len(features)
        return super().forward(features)


def test_only_predictors_that_moved_are_evaluated_again() -> None:
    method = Game(Architecture(lambda: Counting(6, 2)), FLGamesConfig(schedule="clockwise", batch_size=10))
    server = seat(method, random_clients(50, 50))
    method.round(server, 0, 0)
    server.measure(100)
    Counting.passed = 0
    server.measure(100)
    assert Counting.passed == 0, "nobody moved"
    method.round(server, 1, 0)
    assert Counting.passed == 10 + 10, "one batch through the mover and through its opponent"
    Counting.passed = 0
    server.measure(100)
    assert Counting.passed == 50 + 50, "only the mover, on both clients"


def test_full_batch_moves_look_opponents_up() -> None:
    method = Game(Architecture(lambda: Counting(6, 2)), FLGamesConfig(full_batch=True, local_steps=5, memory=4))
    server = seat(method, random_clients(50, 50))
    for round_ in range(6):
        method.round(server, round_, 0)
        server.measure(100)
    Counting.passed = 0
    method.round(server, 6, 0)
    assert Counting.passed == 2 * 5 * 50, "each player's own five passes; the opponent's four actions are known"


class Normalised(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(6)

    def forward(self, inputs: Tensor) -> Tensor:
        result: Tensor = self.norm(inputs)
        return result


def test_buffers_of_phi_are_averaged_by_samples_and_rest_during_predictor_moves() -> None:
    clients = random_clients(30, 10)
    method = Game(
        Architecture(lambda: nn.Linear(6, 2), Normalised), FLGamesConfig(representation="variable", phi_batches="all")
    )
    server = seat(method, clients)
    method.round(server, 0, 0)
    means = {name: samples.batch(torch.arange(len(samples)))[0].mean(0) for name, samples in clients.items()}
    assert server.known.phi is not None
    expected = 0.1 * (30 * means["a"] + 10 * means["b"]) / 40
    torch.testing.assert_close(server.known.phi.weights["norm.running_mean"], expected)
    before = server.known.phi.weights["norm.running_mean"].clone()
    method.round(server, 1, 0)
    assert torch.equal(server.known.phi.weights["norm.running_mean"], before)


def test_batchnorm_never_meets_a_chunk_of_one() -> None:
    config = FLGamesConfig(representation="variable", phi_batches="all")
    method = Game(Architecture(lambda: nn.Linear(6, 2), Normalised), config)
    server = seat(method, random_clients(257, 513))
    method.round(server, 0, 0)
    assert server.measure(770).exact


def test_a_variable_phi_needs_parameters() -> None:
    with pytest.raises(ValueError, match="needs parameters"):
        Game(perceptrons(), FLGamesConfig(representation="variable"))


def test_phi_is_published_under_its_own_name() -> None:
    method = Game(perceptrons(variable=True), FLGamesConfig(representation="variable"))
    server = seat(method, random_clients(20, 20))
    assert server.known.phi is not None
    assert server.known.phi.key == (PHI, 0)
    assert tuple(server.known.players) == ("a", "b")
    method.round(server, 0, 0)
    assert server.known.phi.key == (PHI, 1)


def test_devices_draw_their_own_number_of_steps_once() -> None:
    names = [f"client-{k}" for k in range(1, 11)]
    steps = [steps_of("1-10", 6000, 256, 0, name) for name in names]
    assert steps == [steps_of("1-10", 6000, 256, 0, name) for name in names]
    assert len(set(steps)) > 3
    assert set(steps) <= set(range(1, 11))
    assert steps_of("10%", 6000, 256, 0, "client-1") == 2
    with pytest.raises(ValidationError, match="from few steps to more"):
        FLGamesConfig(local_steps="10-1")

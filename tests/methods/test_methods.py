"""Baselines equal what they claim to be, to numerical precision: pooled gradients, and each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from flgames.core.messages import MODEL
from flgames.core.method import Method
from flgames.core.records import Traffic
from flgames.core.server import Server
from flgames.data.samples import ArraySamples, Samples
from flgames.methods import irm
from flgames.methods.fedavg import FedAvg, FedAvgConfig
from flgames.methods.fedbn import FedBN, FedBNConfig, normalisation_in
from flgames.methods.fedgma import FedGMA, FedGMAConfig
from flgames.methods.fedprox import FedProx, FedProxConfig
from flgames.methods.fedsgd import FedSGD, FedSGDConfig
from flgames.methods.group_dro import GroupDRO, GroupDROConfig
from flgames.methods.irm import IRM, IRMConfig
from flgames.methods.registry import METHODS, make
from flgames.methods.vrex import VREx, VRExConfig
from flgames.models.architecture import Architecture, Weights
from flgames.models.ensemble import Ensemble
from tests.toys import perceptrons, random_clients, seat, suited

SIZES = (2500, 1100, 40)
"""The first two clients go through their samples in several chunks."""

RATE = 0.1


def clients() -> dict[str, Samples]:
    """Clients whose risks differ."""
    found = random_clients(*SIZES)
    return {
        name: ArraySamples(samples.inputs * (k + 1), samples.targets)
        for k, (name, samples) in enumerate(found.items())
        if isinstance(samples, ArraySamples)
    }


def weights_of(server: Server) -> Weights:
    return server.known.buffers[MODEL].current.weights


def played(method: Method, rounds: int = 1, data: dict[str, Samples] | None = None) -> tuple[Weights, Weights]:
    """The shared weights before the first round and after the last."""
    server = seat(method, data or clients())
    before = weights_of(server)
    for round_ in range(rounds):
        method.round(server, round_, 0)
    return before, weights_of(server)


def same(one: Mapping[str, Tensor], two: Mapping[str, Tensor]) -> None:
    for name, tensor in one.items():
        torch.testing.assert_close(tensor, two[name], rtol=1e-5, atol=1e-7)


def pooled_step(before: Weights, objective: Callable[[list[Tensor]], Tensor], scale: float = 1.0) -> Weights:
    """One step of plain gradient descent on an objective of all clients' risks, in one piece, by autograd.

    The objective is given the risk of each client as a function of a factor of the logits: [R_k(s)].
    """
    module = perceptrons().predictor()
    module.load_state_dict(before)
    loss = objective([functional.cross_entropy(module(s.inputs), s.targets) for s in clients().values()])  # type: ignore[attr-defined]
    module.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    return {name: (p - RATE * scale * p.grad).detach() for name, p in module.named_parameters() if p.grad is not None}


FULL: dict[str, Any] = {"batches": "all", "optimiser": "sgd", "learning_rate": RATE}


def test_fedsgd_with_full_batches_is_pooled_gradient_descent() -> None:
    before, after = played(FedSGD(perceptrons(), FedSGDConfig(**FULL)))
    total = sum(SIZES)
    same(after, pooled_step(before, lambda risks: sum(n / total * r for n, r in zip(SIZES, risks, strict=True))))  # type: ignore[arg-type, return-value]


def test_fedsgd_adds_a_penalty_on_the_weights() -> None:
    before, after = played(FedSGD(perceptrons(), FedSGDConfig(**FULL, l2=0.3)))
    _, plain = played(FedSGD(perceptrons(), FedSGDConfig(**FULL)))
    same(after, {name: plain[name] - RATE * 2 * 0.3 * before[name] for name in plain})


@pytest.mark.parametrize("beta", [0.5, 40.0])
def test_vrex_is_its_pooled_gradient_and_may_weigh_a_client_negatively(beta: float) -> None:
    method = VREx(perceptrons(), VRExConfig(**FULL, penalty=beta))
    before, after = played(method)

    def objective(risks: list[Tensor]) -> Tensor:
        stacked = torch.stack(risks)
        return stacked.mean() + beta * stacked.var(unbiased=False)

    same(after, pooled_step(before, objective, scale=1 / max(beta, 1)))
    shares = method.shares({"a": 0.2, "b": 0.9}, {}, 0)
    assert sum(shares.values()) == pytest.approx(1)
    assert (shares["a"] < 0) == (beta == 40.0)


def test_group_dro_is_its_pooled_gradient_and_remembers_q() -> None:
    method = GroupDRO(perceptrons(), GroupDROConfig(**FULL, eta=0.7))
    before, after = played(method)

    def objective(risks: list[Tensor]) -> Tensor:
        q = torch.softmax(0.7 * torch.stack(risks).detach(), 0)
        return (q * torch.stack(risks)).sum()

    same(after, pooled_step(before, objective))
    assert sum(method.q.values()) == pytest.approx(1)
    once = dict(method.q)
    method.shares({"a": 1.0, "b": 0.0, "c": 0.0}, {}, 1)
    assert method.q["a"] / method.q["b"] == pytest.approx(once["a"] / once["b"] * torch.tensor(0.7).exp().item())


@pytest.mark.parametrize("kept", [32, 1])
@pytest.mark.parametrize("penalty", [0.5, 30.0])
def test_irm_is_its_pooled_gradient_though_clients_go_in_chunks(
    penalty: float, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(irm, "KEPT", kept)  # the others are gone through twice
    before, after = played(IRM(perceptrons(), IRMConfig(**FULL, penalty=penalty)))
    module = perceptrons().predictor()
    module.load_state_dict(before)
    total = torch.zeros(())
    for samples in clients().values():
        factor = torch.ones((), requires_grad=True)
        risk = functional.cross_entropy(module(samples.inputs) * factor, samples.targets)  # type: ignore[attr-defined]
        (g,) = torch.autograd.grad(risk, factor, create_graph=True)
        total = total + (risk + penalty * g**2) / len(SIZES)
    total.backward()  # type: ignore[no-untyped-call]
    step = RATE / max(penalty, 1)
    same(after, {name: (p - step * p.grad).detach() for name, p in module.named_parameters() if p.grad is not None})


def test_penalties_wait_for_their_round() -> None:
    late, never = (VREx(perceptrons(), VRExConfig(**FULL, penalty=p, anneal=2)) for p in (50.0, 1.0))
    same(played(late, 2)[1], played(never, 2)[1])
    assert not torch.equal(*(next(iter(played(m, 3)[1].values())) for m in (late, never)))


LOCAL: dict[str, Any] = {"local_steps": 3, "batch_size": 32, "learning_rate": 0.05}


def test_fedavg_with_one_plain_step_is_fedsgd() -> None:
    averaged = FedAvg(perceptrons(), FedAvgConfig(local_steps=1, batch_size=32, learning_rate=RATE, optimiser="sgd"))
    summed = FedSGD(perceptrons(), FedSGDConfig(batch_size=32, learning_rate=RATE, optimiser="sgd"))
    same(played(averaged, 4)[1], played(summed, 4)[1])


def test_fedprox_without_mu_is_fedavg_and_with_it_stays_nearer() -> None:
    before, averaged = played(FedAvg(perceptrons(), FedAvgConfig(**LOCAL)), 2)
    same(played(FedProx(perceptrons(), FedProxConfig(**LOCAL, mu=0)), 2)[1], averaged)
    held = played(FedProx(perceptrons(), FedProxConfig(**LOCAL, mu=50)), 2)[1]

    def distance(after: Weights) -> float:
        return float(sum((after[name] - before[name]).square().sum() for name in before))

    assert distance(held) < 0.5 * distance(averaged)


def test_fedprox_adds_half_mu_times_the_squared_distance() -> None:
    """Two plain steps on one sample, y = w x with x = 1, target 0: w <- w - r (2 w + mu (w - w0))."""

    class Slope(nn.Linear):
        def __init__(self) -> None:
            super().__init__(1, 1, bias=False)
            nn.init.ones_(self.weight)

    data: dict[str, Samples] = {"a": ArraySamples(torch.ones(1, 1), torch.zeros(1, 1))}
    config = FedProxConfig(local_steps=2, batch_size=1, learning_rate=0.1, optimiser="sgd", mu=1.0)
    _, after = played(FedProx(Architecture(Slope, loss=functional.mse_loss), config), 1, data)
    first = 1 - 0.1 * 2
    assert after["weight"].item() == pytest.approx(first - 0.1 * (2 * first + (first - 1)))


def test_fedgma_without_threshold_is_fedavg() -> None:
    _, averaged = played(FedAvg(perceptrons(), FedAvgConfig(**LOCAL)), 3)
    same(played(FedGMA(perceptrons(), FedGMAConfig(**LOCAL, tau=0)), 3)[1], averaged)


def test_fedgma_damps_what_clients_disagree_on() -> None:
    method = FedGMA(perceptrons(), FedGMAConfig(tau=0.8, server_rate=2.0))
    server = seat(method, clients())
    old = weights_of(server)
    moved = [{name: tensor + step for name, tensor in old.items()} for step in (0.3, 0.6, -0.3)]
    by_size = dict(zip("abc", (0.5, 0.25, 0.25), strict=True))
    merged = method.merge(server, dict(zip("abc", moved, strict=True)), by_size)
    # Two of three go up: an agreement of 1/3, below 0.8. The mean step is 0.5 x 0.3 + 0.25 x 0.6 - 0.25 x 0.3.
    same(merged, {name: tensor + 2.0 * (1 / 3) * 0.225 for name, tensor in old.items()})
    agreed = method.merge(server, {"a": moved[0], "b": moved[1]}, {"a": 0.5, "b": 0.5})
    same(agreed, {name: tensor + 2.0 * 0.45 for name, tensor in old.items()})


def normalised() -> Architecture:
    return Architecture(lambda: nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.ELU(), nn.Linear(5, 2)))


def test_fedbn_without_normalisation_is_fedavg() -> None:
    _, averaged = played(FedAvg(perceptrons(), FedAvgConfig(**LOCAL)), 3)
    same(played(FedBN(perceptrons(), FedBNConfig(**LOCAL)), 3)[1], averaged)


def test_fedbn_keeps_normalisation_at_home() -> None:
    assert normalisation_in(normalised().predictor()) == {
        "1.weight", "1.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked",
    }  # fmt: skip
    method = FedBN(normalised(), FedBNConfig(**LOCAL))
    server = seat(method, clients())
    for round_ in range(3):
        method.round(server, round_, 0)
    shared = weights_of(server)
    assert set(shared) == {"0.weight", "0.bias", "3.weight", "3.bias"}, "nothing private travels"
    ensemble = method.ensemble(server)
    inputs = torch.randn(7, 6)
    logits = []
    for client in server.clients:
        module = normalised().predictor().eval()
        module.load_state_dict(shared | method.own[client])
        logits.append(module(inputs))
    torch.testing.assert_close(ensemble(inputs), torch.stack(logits).mean(0))
    variances = [method.own[client]["1.running_var"] for client in server.clients]
    assert not torch.allclose(variances[0], variances[2])


def test_fedbn_can_use_the_statistics_of_an_unseen_batch() -> None:
    method = FedBN(normalised(), FedBNConfig(**LOCAL, unseen="batch"))
    data = clients()
    server = seat(method, data)
    for round_ in range(2):
        method.round(server, round_, 0)
    inputs = 5 + torch.randn(50, 6)
    shares = dict(zip(data, [n / sum(SIZES) for n in SIZES], strict=True))
    weights = dict(weights_of(server))
    for name in ("1.weight", "1.bias"):
        weights[name] = torch.stack([share * method.own[client][name] for client, share in shares.items()]).sum(0)
    hidden = functional.linear(inputs, weights["0.weight"], weights["0.bias"])
    centred = (hidden - hidden.mean(0)) / (hidden.var(0, unbiased=False) + 1e-5).sqrt()
    last = functional.elu(centred * weights["1.weight"] + weights["1.bias"])
    expected = functional.linear(last, weights["3.weight"], weights["3.bias"])
    ensemble = method.ensemble(server)
    torch.testing.assert_close(ensemble(inputs), expected)
    again = Ensemble.from_tensors(method.learnt, ensemble.tensors())
    assert torch.equal(again(inputs), ensemble(inputs)), "it can be saved and loaded"


def test_fedbn_counts_each_client_with_its_own_normalisation() -> None:
    method = FedBN(normalised(), FedBNConfig(**LOCAL))
    data = clients()
    server = seat(method, data)
    for round_ in range(2):
        method.round(server, round_, 0)
    counted = server.measure(10_000).clients
    for client, samples in data.items():
        module = normalised().predictor().eval()
        module.load_state_dict(weights_of(server) | method.own[client])
        predictions = module(samples.inputs).argmax(1)  # type: ignore[attr-defined]
        assert counted[client].correct == int((predictions == samples.targets).sum())  # type: ignore[attr-defined]


BYTES = 4 * (6 * 5 + 5 + 5 * 2 + 2)
"""Of the toy perceptron: 47 numbers of four bytes."""


NUMBER = 8

LINEAR_BYTES = 4 * (6 * 2 + 2)
"""Of one linear layer instead."""

OTHERWISE = {
    # Down: the actions of two opponents, and t.
    "fl-games": Traffic(down=2 * BYTES + NUMBER, up=BYTES + NUMBER),
    # As long as it is a game.
    "settled": Traffic(down=2 * BYTES + NUMBER, up=BYTES + NUMBER),
    # The same: nobody answers them, but everybody counts with the mean of all.
    "local-mean": Traffic(down=2 * BYTES + NUMBER, up=BYTES + NUMBER),
    # One model and its loss, of a layer.
    "logistic": Traffic(down=LINEAR_BYTES, up=LINEAR_BYTES + NUMBER),
    # Down: the penalty too.
    "irm": Traffic(down=BYTES + NUMBER, up=BYTES + NUMBER),
    # Down: without normalisation. Up: with 5 weights, 5 biases, 5 means, 5 variances and a counter of 8 bytes.
    "fedbn": Traffic(down=BYTES, up=BYTES + 4 * 20 + 8 + NUMBER),
}
"""Of methods that send something else than one model down, and one like it with its loss up."""


@pytest.mark.parametrize("name", METHODS)
def test_bytes_by_hand_of_every_method(name: str) -> None:
    method = make(name, normalised() if name == "fedbn" else suited(name), {})
    server = seat(method, clients())
    method.round(server, 0, 0)
    server.take_traffic()
    method.round(server, 1, 0)
    expected = OTHERWISE.get(name, Traffic(down=BYTES, up=BYTES + NUMBER))
    assert server.take_traffic() == dict.fromkeys("abc", expected)


def test_group_dro_survives_a_huge_loss() -> None:
    method = GroupDRO(perceptrons(), GroupDROConfig(eta=10.0))
    shares = method.shares({"a": 1e6, "b": 1.0}, {"a": 0.5, "b": 0.5}, 0)
    assert shares == {"a": 1.0, "b": 0.0}

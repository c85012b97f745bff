from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from flgames.data.benchmarks.registry import by_name
from flgames.data.benchmarks.clients import HeldOut
from flgames.core.counts import Counts, TrainingMeasure, oscillation
from flgames.evaluation.profile import InvarianceProfile, invariance_profile
from flgames.methods.fedbn import by_batch

CPU = torch.device("cpu")


class ByColour(nn.Module):
    """Says 1 for red and 0 for green, or the other way round, and never looks at the shape."""

    def __init__(self, reverse: bool = False) -> None:
        super().__init__()
        self.reverse = reverse

    def forward(self, inputs: Tensor) -> Tensor:
        red, green = inputs[:, 0].sum((1, 2)), inputs[:, 1].sum((1, 2))
        logits = torch.stack([green, red], 1)
        return logits.flip(1) if self.reverse else logits


class Constant(nn.Module):
    def forward(self, inputs: Tensor) -> Tensor:
        return torch.tensor([1.0, 0.0]).repeat(len(inputs), 1)


@pytest.fixture(scope="module")
def held_out() -> HeldOut:
    return by_name("colored-digits").held_out_client(0)


def test_a_shortcut_learner_is_steep(held_out: HeldOut) -> None:
    profile = invariance_profile(ByColour(), held_out, CPU, chunk=100)
    assert (profile.agree, profile.conflict, profile.flip_rate) == (1, 0, 1)
    assert profile.mean == 0.5
    assert profile.slope == -1
    assert profile.worst == 0
    assert profile.unseen == pytest.approx(0.1, abs=0.05)
    assert not profile.reversed


def test_a_reversed_shortcut_is_not_called_better(held_out: HeldOut) -> None:
    profile = invariance_profile(ByColour(reverse=True), held_out, CPU)
    assert profile.unseen > 0.75
    assert profile.reversed


def test_a_constant_is_flat_at_chance(held_out: HeldOut) -> None:
    profile = invariance_profile(Constant(), held_out, CPU)
    assert profile.agree == profile.conflict == profile.unseen
    assert profile.flip_rate == 0
    assert profile.agree == pytest.approx(0.5, abs=0.1)


def test_a_flat_model_above_the_ceiling_is_lucky_not_reversed() -> None:
    assert not InvarianceProfile(0.753, 0.753, 0.0, unseen=0.753, unseen_p=0.9, ceiling=0.75).reversed
    assert InvarianceProfile(0.70, 0.76, 0.1, unseen=0.753, unseen_p=0.9, ceiling=0.75).reversed


def test_what_depends_on_the_batch_is_measured_on_the_clients_own(held_out: HeldOut) -> None:
    model = by_batch(nn.Sequential(nn.Flatten(), nn.LazyBatchNorm1d(), nn.LazyLinear(2))).eval()
    agreeing, conflicting, labels, agrees = next(held_out.pairs(10_000))
    torch.manual_seed(0)
    mixed = torch.where(agrees[:, None, None, None], agreeing, conflicting)
    expected = (model(mixed).argmax(1) == labels).float().mean().item()
    profile = invariance_profile(model, held_out, torch.device("cpu"), chunk=10_000)
    assert profile.unseen == pytest.approx(expected)


def test_the_profile_is_a_straight_line() -> None:
    profile = InvarianceProfile(0.9, 0.3, 0.6, unseen=0.36, unseen_p=0.9, ceiling=0.75)
    assert profile.at(0) == 0.9
    assert profile.at(1) == 0.3
    assert profile.at(0.5) == pytest.approx(profile.mean) == pytest.approx(0.6)


def test_counts() -> None:
    logits = torch.tensor([[2.0, 1.0], [0.0, 1.0], [3.0, 0.0]])
    counts = Counts.of(logits, torch.tensor([0, 0, 1]), functional.cross_entropy)
    assert counts.confusion.tolist() == [[1, 1], [1, 0]]
    assert (counts.correct, counts.samples) == (1, 3)
    assert counts.loss_sum == pytest.approx(0.3133 + 1.3133 + 3.0486, abs=1e-3)


def test_pooled_accuracy_and_spread() -> None:
    measure = TrainingMeasure(
        {"a": Counts(torch.tensor([[8, 2], [0, 0]]), 1.0), "b": Counts(torch.tensor([[15, 5], [5, 5]]), 1.0)},
        {"a": 10, "b": 30},
    )
    assert measure.accuracy == 28 / 40
    assert measure.spread == pytest.approx(0.8 - 20 / 30)
    assert measure.exact


def test_each_client_stands_for_its_own_size() -> None:
    counts = {"a": Counts(torch.tensor([[50, 50], [0, 0]]), 1.0), "b": Counts(torch.tensor([[90, 10], [0, 0]]), 1.0)}
    measure = TrainingMeasure(counts, {"a": 9000, "b": 1000})
    assert measure.accuracy == pytest.approx(0.9 * 0.5 + 0.1 * 0.9)
    variance = 0.81 * (51 / 102) ** 2 / 100 * 0.98889 + 0.01 * (91 / 102) * (11 / 102) / 100 * 0.9
    assert measure.standard_error == pytest.approx(variance**0.5, rel=1e-4)
    assert not measure.exact


def test_oscillation() -> None:
    assert oscillation([0.8, 0.6, 0.8]) == pytest.approx(0.2)
    assert oscillation([0.5]) == 0

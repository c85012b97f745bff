from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from flgames.data.benchmarks.clients import HeldOut
from flgames.data.benchmarks.registry import by_name
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
    flat = InvarianceProfile(agree=0.753, conflict=0.753, flip_rate=0.0, unseen=0.753, unseen_p=0.9, ceiling=0.75)
    assert not flat.reversed
    assert not flat.model_copy(update={"agree": flat.conflict - 0.005}).reversed, "by chance"
    assert flat.model_copy(update={"agree": 0.70, "conflict": 0.76, "flip_rate": 0.1}).reversed


def test_what_depends_on_the_batch_is_measured_on_the_clients_own(held_out: HeldOut) -> None:
    model = by_batch(nn.Sequential(nn.Flatten(), nn.LazyBatchNorm1d(), nn.LazyLinear(2))).eval()
    agreeing, conflicting, labels, agrees = next(held_out.pairs(10_000))
    torch.manual_seed(0)
    mixed = torch.where(agrees[:, None, None, None], agreeing, conflicting)
    expected = (model(mixed).argmax(1) == labels).float().mean().item()
    profile = invariance_profile(model, held_out, torch.device("cpu"), chunk=10_000)
    assert profile.unseen == pytest.approx(expected)


def test_the_profile_is_a_straight_line() -> None:
    profile = InvarianceProfile(agree=0.9, conflict=0.3, flip_rate=0.6, unseen=0.36, unseen_p=0.9, ceiling=0.75)
    assert profile.at(0) == 0.9
    assert profile.at(1) == 0.3
    assert profile.at(0.5) == pytest.approx(profile.mean) == pytest.approx(0.6)

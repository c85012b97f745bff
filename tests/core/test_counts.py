from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from flgames.core.counts import Counts, TrainingMeasure, oscillation


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


@pytest.mark.parametrize("clients", [2, 10])
@pytest.mark.parametrize("confidence", [2.0, 3.0])
def test_margins_hold_for_what_is_drawn(clients: int, confidence: float) -> None:
    """Spread and bias of 200 samples a client are seldom further below those of all 1,000 than their margins."""
    torch.manual_seed(0)
    wrong = torch.linspace(0.2, 0.3, clients)
    everything = [(torch.rand(1000) < share).long() * torch.randint(1, 3, (1000,)) for share in wrong]
    targets = torch.randint(0, 3, (1000,))

    def counted(samples: Tensor) -> TrainingMeasure:
        found = {}
        for number, shifted in enumerate(everything):
            pairs = 3 * targets[samples] + (targets[samples] + shifted[samples]) % 3
            found[str(number)] = Counts(torch.bincount(pairs, minlength=9).reshape(3, 3), 0.0)
        return TrainingMeasure(found, dict.fromkeys(found, 1000))

    true = counted(torch.arange(1000))
    assert true.spread_margin(confidence) == true.bias_margin(confidence) == 0

    drawn = [counted(torch.randperm(1000)[:200]) for _ in range(500)]
    chance = math.erfc(confidence / math.sqrt(2))
    for off in (
        [each.spread - each.spread_margin(confidence) > true.spread for each in drawn],
        [each.bias - each.bias_margin(confidence) > true.bias for each in drawn],
    ):
        assert sum(off) / len(off) <= chance + 3 * math.sqrt(chance / len(off))

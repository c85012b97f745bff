from __future__ import annotations

import pytest
import torch
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

"""Figures of one client, worked out by hand or by scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss, roc_auc_score

from flgames.core.figures import Figures, Spread, wilson

SAID = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]], dtype=torch.float64)
TRUE = torch.tensor([0, 1, 1, 0])
"""Of four answers the third is wrong."""


def of_second(*said: float, true: tuple[int, ...]) -> Figures:
    """Figures of two classes, by the probability of the second one."""
    second = torch.tensor(said, dtype=torch.float64)
    return Figures.of(torch.stack([1 - second, second], dim=1), torch.tensor(true))


def drawn(samples: int, classes: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(seed)
    targets = torch.randint(0, classes, (samples,), generator=draw)
    logits = torch.randn(samples, classes, generator=draw, dtype=torch.float64)
    logits[torch.arange(samples), targets] += 0.7
    return logits.softmax(1), targets


def test_counts_and_the_constant_answer() -> None:
    found = Figures.of(SAID, TRUE)
    assert found.confusion == [[2, 0], [1, 1]], "by label, then by what was said"
    assert (found.n, found.accuracy) == (4, 0.75)
    assert found.rates.balanced_accuracy == pytest.approx((1 + 0.5) / 2)
    assert (found.constant(0), found.constant(1)) == (0.5, 0.5)
    uneven = of_second(0.1, 0.1, 0.1, 0.9, true=(0, 0, 0, 1))
    assert (uneven.constant(0), uneven.constant(1)) == (0.75, 0.25)


def test_the_log_loss_by_hand() -> None:
    found = Figures.of(SAID, TRUE)
    losses = [-math.log(p) for p in (0.9, 0.8, 0.4, 0.7)]
    assert found.log_loss == pytest.approx(sum(losses) / 4)
    assert found.log_loss_error == pytest.approx(np.std(losses, ddof=1) / 2)


def test_an_impossible_answer_costs_much_and_not_everything() -> None:
    assert of_second(0.0, 1.0, true=(1, 1)).log_loss == pytest.approx(-math.log(1e-12) / 2)


def test_one_sample_has_figures() -> None:
    found = of_second(0.8, true=(1,))
    assert (found.n, found.accuracy, found.auc) == (1, 1.0, None)
    assert found.log_loss == pytest.approx(-math.log(0.8))
    assert found.log_loss_error == 0


@pytest.mark.parametrize(("said", "true", "expected"), [
    ((0.1, 0.3, 0.4, 0.8), (0, 0, 1, 1), 1.0),
    ((0.8, 0.4, 0.3, 0.1), (0, 0, 1, 1), 0.0),
    ((0.5, 0.2, 0.5, 0.8), (0, 0, 1, 1), 3.5 / 4),
    ((0.5, 0.5, 0.5, 0.5), (0, 0, 1, 1), 0.5),
    ((0.6, 0.7, 0.1, 0.65), (0, 1, 0, 0), 1.0),
    ((0.6, 0.6, 0.6, 0.7), (0, 1, 0, 1), (2 * 0.5 + 2 * 1) / 4),
])  # fmt: skip
def test_the_auc_is_the_share_of_pairs_in_the_right_order(
    said: tuple[float, ...], true: tuple[int, ...], expected: float
) -> None:
    """A pair of equal values counts half."""
    assert of_second(*said, true=true).auc == pytest.approx(expected)


@pytest.mark.parametrize("label", [0, 1])
def test_of_one_class_there_is_no_auc(label: int) -> None:
    found = of_second(0.2, 0.7, 0.9, true=(label,) * 3)
    assert (found.auc, found.auc_error, found.auc_interval) == (None, None, None)
    assert found.accuracy == pytest.approx(1 / 3 if label == 0 else 2 / 3)


def test_the_error_of_the_auc_by_hand() -> None:
    """Hanley and McNeil's, for 7/8 on two samples of each class."""
    found = of_second(0.5, 0.2, 0.5, 0.8, true=(0, 0, 1, 1))
    auc = 7 / 8
    both_above, both_below = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    variance = (auc * (1 - auc) + (both_above - auc**2) + (both_below - auc**2)) / 4
    assert found.auc_error == pytest.approx(variance**0.5)
    assert found.auc_error == pytest.approx(0.2077, abs=1e-4)
    assert found.auc_interval == pytest.approx((auc - 1.96 * variance**0.5, 1.0)), "no AUC is above 1"


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_auc_and_log_loss_are_those_of_scikit_learn(classes: int) -> None:
    said, true = drawn(200, classes)
    found = Figures.of(said, true)
    scores = said[:, 1] if classes == 2 else said
    assert found.auc == pytest.approx(roc_auc_score(true, scores, multi_class="ovr", average="macro"))
    assert found.log_loss == pytest.approx(log_loss(true, said))
    assert found.accuracy == pytest.approx(float((said.argmax(1) == true).double().mean()))


def test_a_class_without_a_sample_is_left_out_of_the_auc() -> None:
    said, true = drawn(60, 3)
    there = true != 2
    found = Figures.of(said[there], true[there])
    each = [roc_auc_score(true[there] == label, said[there, label]) for label in (0, 1)]
    assert found.auc == pytest.approx(sum(each) / 2)


def test_an_auc_of_many_samples_is_surer_than_one_of_few() -> None:
    few, many = (Figures.of(*drawn(samples, 3)) for samples in (60, 6000))
    assert few.auc_error is not None
    assert many.auc_error is not None
    assert many.auc_error == pytest.approx(few.auc_error / 10, rel=0.2)


def test_the_calibration_error_by_hand() -> None:
    assert Figures.of(SAID, TRUE).calibration_error == pytest.approx((0.1 + 0.2 + 0.6 + 0.3) / 4)
    three_of_four = of_second(0.75, 0.75, 0.75, 0.75, true=(1, 1, 1, 0))
    assert three_of_four.calibration_error == pytest.approx(0), "right as often as it says"
    assert of_second(0.75, 0.75, true=(0, 0)).calibration_error == pytest.approx(0.75)
    two_bins = of_second(0.65, 0.65, 0.95, 0.95, true=(1, 0, 1, 0))
    assert two_bins.calibration_error == pytest.approx((2 * 0.15 + 2 * 0.45) / 4)
    assert of_second(1.0, 1.0, true=(1, 1)).calibration_error == 0, "1 is in the last bin"


def test_answers_below_a_half_are_sure_of_the_other_class() -> None:
    assert of_second(0.1, 0.1, true=(0, 0)).calibration_error == pytest.approx(0.1)


@pytest.mark.parametrize(("right", "n", "low", "high"), [
    (5, 10, 0.2366, 0.7634),
    (0, 10, 0.0, 0.2775),
    (10, 10, 0.7225, 1.0),
    (81, 263, 0.2553, 0.3662),
    (50, 100, 0.4038, 0.5962),
])  # fmt: skip
def test_wilsons_interval_as_it_is_printed_elsewhere(right: int, n: int, low: float, high: float) -> None:
    """81 of 263 is Newcombe's example (1998)."""
    assert wilson(right / n, n) == pytest.approx((low, high), abs=1e-4)


def test_the_interval_of_an_accuracy_is_wilsons() -> None:
    assert Figures.of(SAID, TRUE).accuracy_interval == wilson(0.75, 4)


def test_figures_survive_a_file() -> None:
    for found in (Figures.of(SAID, TRUE), of_second(0.2, true=(1,))):
        assert Figures.model_validate_json(found.model_dump_json()) == found


def test_a_spread_is_the_mean_the_tenth_percentile_and_the_worst() -> None:
    values = [0.3, 0.0, 0.9, 0.1, 0.5, 1.0, 0.2, 0.8, 0.4, 0.7, 0.6]
    found = Spread.of(values)
    assert (found.mean, found.tenth, found.worst) == pytest.approx((0.5, 0.1, 0.0))
    two = Spread.of([0.8, 0.6])
    assert (two.mean, two.tenth, two.worst) == pytest.approx((0.7, 0.62, 0.6)), "between the two of them"
    assert Spread.of([0.7]) == Spread(mean=0.7, tenth=0.7, worst=0.7)

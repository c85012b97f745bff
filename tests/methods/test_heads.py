"""A client's own head: scikit-learn's logistic regression, and how sure its effects are."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor
from torch.nn import functional

from flgames.methods.heads import L2, Head, fit_head


def drawn(samples: int, classes: int, seed: int = 0, columns: int = 4) -> tuple[Tensor, Tensor]:
    """Samples whose log-odds are linear in what is known of them."""
    draw = torch.Generator().manual_seed(seed)
    truth = torch.randn(classes, columns, generator=draw)
    features = torch.randn(samples, columns, generator=draw)
    odds = features @ truth.T + torch.linspace(0, 1, classes)
    return features, torch.multinomial(odds.softmax(1), 1, generator=draw)[:, 0]


def probabilities(head: Head, features: Tensor) -> np.ndarray:
    said: np.ndarray = (features.double() @ head.weight.T + head.bias).softmax(1).numpy()
    return said


@pytest.mark.parametrize("l2", [1e-4, L2, 0.1])
@pytest.mark.parametrize("classes", [2, 3])
def test_it_is_the_logistic_regression_of_scikit_learn(classes: int, l2: float) -> None:
    """Of two classes the penalty is on the effect; of more on the weights of every class, and twice as large."""
    features, targets = drawn(300, classes)
    inverse = 2 * l2 * len(features) * (1 if classes == 2 else 2)
    theirs = LogisticRegression(C=1 / inverse, tol=1e-10, max_iter=10_000).fit(features.double(), targets)
    head = fit_head(features, targets, classes, l2)
    assert np.abs(probabilities(head, features) - theirs.predict_proba(features.double())).max() < 1e-4
    if classes == 2:
        assert head.effects().numpy() == pytest.approx(theirs.coef_, abs=1e-3)
        assert float(head.bias[1] - head.bias[0]) == pytest.approx(theirs.intercept_[0], abs=1e-3)
    else:
        assert head.weight.numpy() == pytest.approx(theirs.coef_, abs=1e-3)


def test_effects_are_log_odds_of_the_second_class_or_of_each_against_the_others() -> None:
    two = Head(torch.tensor([[-1.0, 0.5], [1.0, 2.5]]), torch.zeros(2))
    assert two.effects().tolist() == [[2.0, 2.0]]
    three = Head(torch.tensor([[3.0], [0.0], [0.0]]), torch.zeros(3))
    assert three.effects()[:, 0].tolist() == pytest.approx([3.0, -1.5, -1.5])


def test_nothing_is_drawn() -> None:
    features, targets = drawn(50, 3)
    one, other = (fit_head(features, targets, 3) for _ in range(2))
    assert torch.equal(one.weight, other.weight)
    assert torch.equal(one.bias, other.bias)


def test_a_class_that_does_not_occur_is_not_expected() -> None:
    features, targets = drawn(80, 2)
    head = fit_head(features, targets, classes=3)
    assert head.weight.shape == (3, 4)
    assert torch.isfinite(head.weight).all()
    assert probabilities(head, features)[:, 2].max() < 0.05
    one_class = fit_head(features, torch.zeros(80, dtype=torch.int64), classes=2)
    assert float(one_class.effects().abs().max()) < 0.05, "no column tells what is always so"
    assert probabilities(one_class, features)[:, 0].min() > 0.9


def hessian(head: Head, features: Tensor, targets: Tensor, l2: float) -> Tensor:
    """Of the sum of losses and n times the penalty, in the effects and the log-odds of a sample that is all zeros."""
    exact = features.double()

    def loss(parameters: Tensor) -> Tensor:
        odds = exact @ parameters[:-1] + parameters[-1]
        penalty = l2 * len(exact) * parameters[:-1].square().sum()
        return functional.binary_cross_entropy_with_logits(odds, targets.double(), reduction="sum") + penalty

    found = torch.cat([head.effects()[0], (head.bias[1] - head.bias[0])[None]])
    second: Tensor = torch.autograd.functional.hessian(loss, found)  # type: ignore[no-untyped-call]
    return second


def test_variances_are_those_of_the_inverse_hessian() -> None:
    features, targets = drawn(400, 2)
    head = fit_head(features, targets, 2, l2=1e-9)
    inverse = torch.linalg.inv(hessian(head, features, targets, 0.0))
    assert head.variances(features, l2=1e-9)[0].numpy() == pytest.approx(inverse.diagonal()[:-1].numpy(), rel=1e-4)


def test_what_the_penalty_holds_does_not_vary() -> None:
    """With a penalty, the variance is that of an estimate which it pulls to zero: H^-1 I H^-1."""
    features, targets = drawn(400, 2)
    head = fit_head(features, targets, 2, l2=0.02)
    whole, without = (hessian(head, features, targets, l2) for l2 in (0.02, 0.0))
    sandwich = torch.linalg.inv(whole) @ without @ torch.linalg.inv(whole)
    assert head.variances(features, l2=0.02)[0].numpy() == pytest.approx(sandwich.diagonal()[:-1].numpy(), rel=1e-4)
    assert (sandwich.diagonal() < torch.linalg.inv(without).diagonal())[:-1].all()


@pytest.mark.parametrize("classes", [2, 3])
def test_samples_that_are_drawn_again_vary_as_much(classes: int) -> None:
    """The bootstrap agrees to a third. With three classes each is taken as if it were alone."""
    features, targets = drawn(300, classes, columns=2)
    head = fit_head(features, targets, classes)
    draw = torch.Generator().manual_seed(1)
    again = []
    for _ in range(60):
        rows = torch.randint(0, 300, (300,), generator=draw)
        again.append(fit_head(features[rows], targets[rows], classes).effects())
    told = head.variances(features).sqrt()
    assert told.shape == head.effects().shape
    ratio = torch.stack(again).std(0) / told
    assert float(ratio.min()) > 0.67
    assert float(ratio.max()) < 1.5


def test_four_times_the_samples_halve_the_error() -> None:
    features, targets = drawn(200, 2)
    head = fit_head(features, targets, 2)
    many = head.variances(features.repeat(4, 1))
    assert (head.variances(features) / many).numpy() == pytest.approx(np.full((1, 4), 4.0), rel=1e-6)


@pytest.mark.parametrize("value", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_column_that_is_the_same_for_all_is_uncertain(value: float, classes: int) -> None:
    """Its effect is zero because it is held there: what the penalty leaves open is 1 / (2 l2 n)."""
    features, targets = drawn(250, classes)
    features[:, 1] = value
    head = fit_head(features, targets, classes)
    variances = head.variances(features)
    assert variances[:, 1].tolist() == pytest.approx([1 / (2 * L2 * 250)] * len(variances), rel=0.01)
    others = variances[:, [0, 2, 3]]
    assert float(others.max()) < 0.2 < float(variances[:, 1].min())
    assert float(head.effects()[:, 1].abs().max()) < 0.01


def test_a_column_that_hardly_ever_differs_is_uncertain_too() -> None:
    features, targets = drawn(250, 2)
    features[:, 1] = 0.0
    features[7, 1] = 1.0
    variance = float(fit_head(features, targets, 2).variances(features)[0, 1])
    assert variance > 1

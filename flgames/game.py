"""The game as pure functions: the ensemble, the loss a player answers with, and the loss of the representation.

``R^k`` is the mean loss on client k's samples, ``w_av`` the mean of the players' predictors, as functions: their
logits are averaged, never their weights (DECISIONS 1 in docs/decisions.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor, nn

from flgames.federation import Weights
from flgames.memory import Term

Loss = Callable[[Tensor, Tensor], Tensor]
"""From logits and targets to the mean loss of the batch, as ``torch.nn.functional.cross_entropy``."""


def predict(predictor: nn.Module, weights: Weights, features: Tensor) -> Tensor:
    """Logits of a predictor that plays these weights."""
    logits: Tensor = torch.func.functional_call(predictor, weights, (features,))
    return logits


def average(logits: Sequence[Tensor]) -> Tensor:
    """w_av: the mean of the players' logits."""
    return weighted_sum([(1 / len(logits), each) for each in logits])


def weighted_sum(terms: Iterable[tuple[float, Tensor]]) -> Tensor:
    """The sum of weight x logits, in the order given, so that it is the same bits everywhere."""
    total: Tensor | None = None
    for weight, logits in terms:
        total = logits * weight if total is None else total.add_(logits, alpha=weight)
    if total is None:
        raise ValueError("an ensemble needs at least one player")
    return total


@torch.no_grad()
def opponents_logits(predictor: nn.Module, terms: Sequence[Term], features: Tensor) -> Tensor | None:
    """The opponents' part of a player's ensemble, without gradients; None for a player alone.

    One pass an action: on a CPU this is as fast as one wide product over stacked weights, because each
    intermediate result stays in the cache, and it works for any module.
    """
    if not terms:
        return None
    return weighted_sum((weight, predict(predictor, action.weights, features)) for weight, action in terms)


def best_response_loss(own_weight: float, own: Tensor, opponents: Tensor | None, targets: Tensor, loss: Loss) -> Tensor:
    """R^k of the ensemble in which only player k's logits carry gradients: eq. (1) and its memory variants."""
    ensemble = own * own_weight
    return loss(ensemble if opponents is None else ensemble + opponents, targets)


def representation_loss(
    representation: nn.Module,
    predictor: nn.Module,
    actions: Sequence[Weights],
    inputs: Tensor,
    targets: Tensor,
    loss: Loss,
) -> Tensor:
    """R^k(w_av o phi), with gradients for phi only: the actions are constants, and memory has no part in it."""
    features = representation(inputs)
    return loss(average([predict(predictor, weights, features) for weights in actions]), targets)

"""The losses of a game as pure functions: what a player answers with, and what phi descends.

``R^k`` is the mean loss on client k's samples, ``w_av`` the mean of the players' logits.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from flgames.core.information import Term
from flgames.models.architecture import Loss, Weights
from flgames.models.ensemble import average, predict, weighted_sum


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

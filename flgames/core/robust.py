"""How a server makes one of what its clients send, where some of them may lie. The mean is what it is by default.

Coordinate median and trimmed mean: Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates.
Dong Yin, Yudong Chen, Kannan Ramchandran, Peter Bartlett, 2018, https://arxiv.org/abs/1803.01498

In both every client counts once, however many samples it says that it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

import torch
from torch import Tensor

from flgames.core.gradients import combine
from flgames.core.knobs import MergedBy
from flgames.core.norms import norm_of
from flgames.models.architecture import Weights

TRIMMED = 0.2
"""The share of clients that a trimmed mean leaves out at either end, at least one; never all."""


def merged(
    tensors: Mapping[str, Weights],
    shares: Mapping[str, float],
    by: MergedBy = "mean",
    clip: float = 0.0,
    around: Weights | None = None,
) -> Weights:
    """One of all clients' tensors: their mean by these shares, their median or their trimmed mean.

    ``clip`` is how many times the median of the clients' norms each of them may have, 0 is any number of times; norms
    are those of the differences to ``around``, if it is given.
    """
    if clip:
        tensors = clipped(tensors, clip, None if around is None else dict.fromkeys(tensors, around))
    if by == "mean":
        return combine(tensors, shares)
    first = next(iter(tensors.values()))
    middle = _median if by == "median" else _trimmed
    return {
        name: middle(torch.stack([own[name] for own in tensors.values()])) if like.is_floating_point() else like
        for name, like in first.items()
    }


def _median(stacked: Tensor) -> Tensor:
    """Of an even number of clients, the mean of the two in the middle."""
    return torch.quantile(stacked, 0.5, dim=0)


def _trimmed(stacked: Tensor) -> Tensor:
    clients = len(stacked)
    out = min(max(1, int(TRIMMED * clients)), (clients - 1) // 2)
    return stacked.sort(dim=0).values[out : clients - out].mean(0)


def clipped(
    tensors: Mapping[str, Weights], times: float, around: Mapping[str, Weights] | None = None
) -> dict[str, Weights]:
    """The same, each at most so many times as far from where it began as the client in the middle is from there; what
    is not further is the same object."""
    moved = {client: _minus(own, around[client] if around else None) for client, own in tensors.items()}
    norms = {client: norm_of(own) for client, own in moved.items()}
    most = times * median(norms.values())
    return {
        client: own if norms[client] <= most else _shortened(own, moved[client], most / norms[client])
        for client, own in tensors.items()
    }


def _minus(own: Weights, around: Weights | None) -> Weights:
    """What has moved; counters have not."""
    floating = {name: tensor for name, tensor in own.items() if tensor.is_floating_point()}
    return floating if around is None else {name: tensor - around[name].to(tensor) for name, tensor in floating.items()}


def _shortened(own: Weights, moved: Weights, factor: float) -> Weights:
    """The same in the same direction, and nearer to where it started."""
    return own | {name: own[name] - (1 - factor) * change for name, change in moved.items()}

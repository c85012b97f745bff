"""A linear layer that does not multiply by channels that are empty."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

WORTH_LOOKING = 2**17
"""Numbers in a batch from which on it pays to look for empty channels."""

LEAST_CHANNELS = 4
"""With two channels, one of them empty, small products gain little (1.1 to 1.5 times, against 3 to 5 with ten)."""

MOST_FILLED = 0.75
"""Above this share of filled channels one large product is faster than several small ones."""


class ChannelLinear(nn.Linear):
    """``nn.Linear`` on flattened images of several channels.

    Where colour is the spurious feature of ten classes, an image fills one channel of ten, and the others multiply
    zeros. Each channel's weights meet only those images that have something there; the result is the same sum.
    """

    def __init__(self, channels: int, in_features: int, out_features: int) -> None:
        super().__init__(in_features, out_features)
        self.channels = channels

    def forward(self, inputs: Tensor) -> Tensor:
        if self.channels < LEAST_CHANNELS or inputs.numel() < WORTH_LOOKING or inputs.requires_grad:
            return functional.linear(inputs, self.weight, self.bias)
        planes = inputs.reshape(len(inputs), self.channels, -1)
        filled = torch.linalg.vector_norm(planes, dim=2) > 0
        counts = filled.sum(0).tolist()
        if sum(counts) > MOST_FILLED * filled.numel():
            return functional.linear(inputs, self.weight, self.bias)
        rows = filled.T.nonzero()[:, 1]
        weights = self.weight.reshape(self.out_features, self.channels, -1).unbind(1)
        products = [
            planes[:, channel].index_select(0, own) @ weights[channel].T
            for channel, own in enumerate(rows.split(counts))
        ]
        return self.bias.expand(len(inputs), -1).index_add(0, rows, torch.cat(products))

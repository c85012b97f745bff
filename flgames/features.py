"""phi of a client's samples, computed once while phi stands still; and features of one size for linear players."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from flgames.data.clients import Samples
from flgames.standardise import Standardise

CHUNK = 256
"""Samples a forward pass. The grid is fixed, so that every engine computes the same bits."""

MOST_BYTES = 2**30
"""Features that would take more than this are computed anew for every batch."""


class FeatureScale(Standardise):
    """The last layer of a phi whose features shall have mean 0 and deviation 1 over the samples of all clients.

    When a game starts, every client tells the sums and the sums of squares of its features, and the server fits it.
    """

    def __init__(self, features: int) -> None:
        super().__init__((features,))


class FrozenFeatures:
    """What a frozen representation makes of a client's samples. The identity, which costs nothing, is not stored."""

    def __init__(self, samples: Samples, representation: nn.Module, device: torch.device) -> None:
        self.samples = samples
        self.representation = representation
        self.device = device
        self.forget()

    def forget(self) -> None:
        """Phi has changed."""
        self._features: Tensor | None = None
        self._targets: Tensor | None = None
        self._fits = not isinstance(self.representation, nn.Identity)

    @torch.no_grad()
    def batch(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Features and targets of these samples."""
        if self._features is None and self._fits:
            self._fill()
        if self._features is None or self._targets is None:
            inputs, targets = self._inputs(index)
            return self.representation(inputs), targets
        index = index.to(self._features.device)
        return self._features.index_select(0, index), self._targets.index_select(0, index)

    def _fill(self) -> None:
        """All samples, in chunks, if there is room."""
        size = len(self.samples)
        stored: Tensor | None = None
        targets = []
        for first in range(0, size, CHUNK):
            inputs, labels = self._inputs(torch.arange(first, min(first + CHUNK, size)))
            features = self.representation(inputs)
            if stored is None:
                if size * features[0].numel() * features.element_size() > MOST_BYTES:
                    self._fits = False
                    return
                stored = features.new_empty((size, *features.shape[1:]))
            stored[first : first + len(features)] = features
            targets.append(labels)
        self._features, self._targets = stored, torch.cat(targets)

    def _inputs(self, index: Tensor) -> tuple[Tensor, Tensor]:
        inputs, targets = self.samples.batch(index)
        return inputs.to(self.device), targets.to(self.device)

"""What actions answer on a client's own samples, computed once.

Counting correct predictions costs far more than a training step, so a client keeps the logits of every action that
it may need again and evaluates only those that are new.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import torch
from torch import Tensor, nn

from flgames.data.clients import Samples
from flgames.federation import Action
from flgames.game import predict

CHUNK = 256
"""Samples a forward pass. The grid is fixed, so that a resumed run computes the same bits."""

FEATURE_CACHE_BYTES = 64 * 2**20


class LogitCache:
    """Logits of actions on a client's samples, in one fixed random order.

    Asking for the first n samples costs only those chunks that were not computed before. ``order`` is a random
    permutation, so that the first n samples are a fair sample of all.
    """

    def __init__(self, samples: Samples, order: Tensor, predictor: nn.Module, device: torch.device) -> None:
        self.samples = samples
        self.order = order
        self.predictor = predictor
        self.device = device
        self._logits: dict[tuple[str, int], list[Tensor]] = {}
        self._features: dict[int, Tensor] = {}
        self._feature_bytes = 0
        self._phi_version = -1
        self._targets: Tensor | None = None

    def chunks(self, samples: int) -> int:
        """How many chunks hold at least so many samples."""
        return -(-min(samples, len(self.order)) // CHUNK)

    def inputs(self, chunk: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets of one chunk of the fixed order."""
        inputs, targets = self.samples.batch(self.order[chunk * CHUNK : (chunk + 1) * CHUNK])
        return inputs.to(self.device), targets.to(self.device)

    @torch.no_grad()
    def logits(
        self,
        actions: Sequence[Action],
        chunks: int,
        represent: Callable[[Tensor], Tensor],
        phi_version: int,
        keep: Collection[tuple[str, int]],
    ) -> list[Tensor]:
        """Logits of each action on the first chunks, ``(samples, classes)`` each.

        ``represent`` is phi, of which ``phi_version`` tells when it has changed; actions not in ``keep`` are forgotten.
        """
        if phi_version != self._phi_version:
            self._phi_version = phi_version
            self._logits.clear()
            self._features.clear()
            self._feature_bytes = 0
        self._logits = {key: kept for key, kept in self._logits.items() if key in keep}
        for chunk in range(chunks):
            wanting = [action for action in actions if len(self._logits.setdefault(action.key, [])) == chunk]
            if not wanting:
                continue
            features = self._represented(chunk, represent)
            for action in wanting:
                self._logits[action.key].append(predict(self.predictor, action.weights, features))
        return [torch.cat(self._logits[action.key][:chunks]) for action in actions]

    def targets(self, chunks: int) -> Tensor:
        """Targets of the first chunks."""
        if self._targets is None:
            # Targets are small, and inputs are painted only to be thrown away here: read them once.
            parts = [self.inputs(chunk)[1] for chunk in range(self.chunks(len(self.order)))]
            self._targets = torch.cat(parts)
        return self._targets[: chunks * CHUNK]

    def _represented(self, chunk: int, represent: Callable[[Tensor], Tensor]) -> Tensor:
        if chunk in self._features:
            return self._features[chunk]
        inputs, _ = self.inputs(chunk)
        features = represent(inputs)
        size = features.numel() * features.element_size()
        # phi = I gives back the inputs, which are cheap to paint and large to keep.
        if features is not inputs and self._feature_bytes + size <= FEATURE_CACHE_BYTES:
            self._features[chunk] = features
            self._feature_bytes += size
        return features

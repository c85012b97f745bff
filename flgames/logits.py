"""What actions answer on a client's own samples, computed once.

Counting correct predictions costs far more than a training step, so a client keeps the logits of every action that
it may need again and evaluates only those that are new.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

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

    def __init__(
        self, samples: Samples, order: Tensor, representation: nn.Module, predictor: nn.Module, device: torch.device
    ) -> None:
        self.samples = samples
        self.representation = representation
        self.predictor = predictor
        self.device = device
        self._chunks = in_chunks(order)
        self._targets: list[Tensor] = []
        self.forget()

    def forget(self) -> None:
        """Phi or all actions have changed: nothing that was computed is true any more."""
        self._logits: dict[tuple[str, int], list[Tensor]] = {}
        self._features: dict[int, Tensor] = {}
        self._feature_bytes = 0

    def chunks(self, samples: int | None = None) -> int:
        """How many chunks hold at least so many samples; None: all."""
        if samples is None:
            return len(self._chunks)
        return min(-(-samples // CHUNK), len(self._chunks))

    def inputs(self, chunk: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets of one chunk of the fixed order."""
        inputs, targets = self.samples.batch(self._chunks[chunk])
        return inputs.to(self.device), targets.to(self.device)

    @torch.no_grad()
    def features(self, chunk: int) -> Tensor:
        """phi of one chunk's inputs, kept while there is room."""
        if chunk in self._features:
            return self._features[chunk]
        inputs, _ = self.inputs(chunk)
        features: Tensor = self.representation(inputs)
        size = features.numel() * features.element_size()
        # phi = I gives back the inputs, which are cheap to paint and large to keep.
        if features is not inputs and self._feature_bytes + size <= FEATURE_CACHE_BYTES:
            self._features[chunk] = features
            self._feature_bytes += size
        return features

    @torch.no_grad()
    def logits(self, actions: Sequence[Action], chunks: int, keep: Collection[tuple[str, int]]) -> list[Tensor]:
        """Logits of each action on the first chunks, ``(samples, classes)`` each; those not in ``keep`` are dropped."""
        self._logits = {key: kept for key, kept in self._logits.items() if key in keep}
        for chunk in range(chunks):
            wanting = [action for action in actions if len(self._logits.setdefault(action.key, [])) == chunk]
            if not wanting:
                continue
            features = self.features(chunk)
            for action in wanting:
                self._logits[action.key].append(predict(self.predictor, action.weights, features))
        return [torch.cat(self._logits[action.key][:chunks]) for action in actions]

    def targets(self, chunks: int) -> Tensor:
        """Targets of the first chunks, read once."""
        for chunk in range(len(self._targets), chunks):
            self._targets.append(self.inputs(chunk)[1])
        return torch.cat(self._targets[:chunks])


def in_chunks(order: Tensor, size: int = CHUNK) -> list[Tensor]:
    """The order in chunks. A last chunk of one sample joins the one before it: BatchNorm can't train on one."""
    chunks = list(torch.split(order, size))
    if len(chunks) > 1 and len(chunks[-1]) == 1:
        chunks[-2:] = [torch.cat(chunks[-2:])]
    return chunks

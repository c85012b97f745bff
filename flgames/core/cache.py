"""What is known of a client's own samples and need not be computed again: phi of them, and what actions answer.

Counting correct predictions costs far more than a training step, so a client keeps the logits of every action that
it may need again and evaluates only those that are new.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import torch
from torch import Tensor, nn

from flgames.core.messages import Action
from flgames.data.samples import CHUNK, Samples, in_chunks
from flgames.models.ensemble import predict

MOST_BYTES = 2**30
"""Features that would take more than this are computed anew whenever they are needed."""


class FeatureCache:
    """What phi makes of a client's samples, computed once while phi stands still.

    Samples are gone through in one fixed random order, a chunk at a time, so that the first n are a fair sample of
    all and every engine computes the same bits. The identity, which costs nothing, is not stored.
    """

    def __init__(self, samples: Samples, order: Tensor, representation: nn.Module, device: torch.device) -> None:
        self.samples = samples
        self.representation = representation
        self.device = device
        self.chunks = in_chunks(order)
        self._starts = [number * CHUNK for number in range(len(self.chunks))]
        self._places = torch.empty_like(order)
        self._places[order] = torch.arange(len(order))
        self._targets: Tensor | None = None
        self.forget()

    def forget(self) -> None:
        """Phi has changed: nothing that was computed from it is true any more."""
        self._stored: Tensor | None = None
        self._filled: set[int] = set()
        self._fits = not isinstance(self.representation, nn.Identity)

    def inputs(self, chunk: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets of one chunk."""
        return self._read(self.chunks[chunk])

    @torch.no_grad()
    def features(self, chunk: int) -> Tensor:
        """phi of one chunk's inputs."""
        part = slice(self._starts[chunk], self._starts[chunk] + len(self.chunks[chunk]))
        if chunk in self._filled and self._stored is not None:
            return self._stored[part]
        inputs, _ = self.inputs(chunk)
        features: Tensor = self.representation(inputs)
        if self._has_room(features):
            assert self._stored is not None
            self._stored[part] = features
            self._filled.add(chunk)
        return features

    @torch.no_grad()
    def batch(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Features and targets of these samples."""
        for chunk in range(len(self.chunks)):
            if not self._fits:
                break
            if chunk not in self._filled:
                self.features(chunk)
        if not self._fits or self._stored is None:
            inputs, targets = self._read(index)
            return self.representation(inputs), targets
        places = self.places(index)
        return self._stored.index_select(0, places), self._all_targets().index_select(0, places)

    def places(self, index: Tensor) -> Tensor:
        """Where these samples stand in the order."""
        return self._places[index].to(self.device)

    def _has_room(self, features: Tensor) -> bool:
        if self._fits and self._stored is None:
            size = len(self.samples)
            self._fits = size * features[0].numel() * features.element_size() <= MOST_BYTES
            if self._fits:
                self._stored = features.new_empty((size, *features.shape[1:]))
        return self._fits

    def _all_targets(self) -> Tensor:
        if self._targets is None:
            self._targets = torch.cat([self.inputs(chunk)[1] for chunk in range(len(self.chunks))])
        return self._targets

    def _read(self, index: Tensor) -> tuple[Tensor, Tensor]:
        inputs, targets = self.samples.batch(index)
        return inputs.to(self.device), targets.to(self.device)


class LogitCache:
    """Logits of actions on a client's samples. Asking for the first n costs only what was not computed before."""

    def __init__(self, features: FeatureCache, predictor: nn.Module) -> None:
        self.features = features
        self.predictor = predictor
        self._targets: list[Tensor] = []
        self.forget()

    def forget(self) -> None:
        """Phi or all actions have changed: nothing that was computed is true any more."""
        self._logits: dict[tuple[str, int], list[Tensor]] = {}

    def chunks(self, samples: int | None = None) -> int:
        """How many chunks hold at least so many samples; None: all."""
        most = len(self.features.chunks)
        return most if samples is None else min(-(-samples // CHUNK), most)

    @torch.no_grad()
    def logits(self, actions: Sequence[Action], chunks: int, keep: Collection[tuple[str, int]]) -> list[Tensor]:
        """Logits of each action on the first chunks, ``(samples, classes)`` each; those not in ``keep`` are dropped."""
        self._logits = {key: kept for key, kept in self._logits.items() if key in keep}
        for chunk in range(chunks):
            wanting = [action for action in actions if len(self._logits.setdefault(action.key, [])) == chunk]
            if not wanting:
                continue
            features = self.features.features(chunk)
            for action in wanting:
                self._logits[action.key].append(predict(self.predictor, action.weights, features))
        return [torch.cat(self._logits[action.key][:chunks]) for action in actions]

    def targets(self, chunks: int) -> Tensor:
        """Targets of the first chunks, read once."""
        for chunk in range(len(self._targets), chunks):
            self._targets.append(self.features.inputs(chunk)[1])
        return torch.cat(self._targets[:chunks])

"""The samples of a training client. Everything that trains, stops or selects takes :class:`Samples`.

A client that is held out is another type on purpose: it has no batches to learn from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from flgames.seeds import generator

CHUNK = 256
"""Samples a forward pass when all of a client's samples are gone through. The grid is fixed: it decides the bits of
what comes out, so that every engine and every resumed run computes the same."""

EVALUATED = 512
"""Samples a forward pass where nothing is learnt from what comes out."""


@runtime_checkable
class Samples(Protocol):
    """What a training client learns from.

    Examples
    --------
    >>> import torch
    >>> from flgames.data.samples import Samples
    >>> class Squares:
    ...     def __len__(self):
    ...         return 10
    ...     def batch(self, index):
    ...         return index[:, None].float() ** 2, index % 2
    >>> isinstance(Squares(), Samples)
    True
    """

    def __len__(self) -> int: ...

    def batch(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Inputs and targets of these samples."""


Clients = Mapping[str, Samples]
"""Training clients by name, in the order in which they play."""


POOLED = "pooled"
"""The one client that has everything, where there is no federation."""


def input_shape(clients: Clients) -> tuple[int, ...]:
    """The shape of one input, as a model sees it.

    Examples
    --------
    >>> import torch
    >>> from flgames.data.samples import ArraySamples, input_shape
    >>> input_shape({"north": ArraySamples(torch.randn(5, 3, 8, 8), torch.zeros(5))})
    (3, 8, 8)
    """
    inputs, _ = next(iter(clients.values())).batch(torch.tensor([0]))
    return tuple(inputs.shape[1:])


@dataclass(frozen=True)
class ArraySamples:
    """Inputs and targets as they are.

    Examples
    --------
    >>> import torch
    >>> from flgames.data.samples import ArraySamples
    >>> inputs, targets = ArraySamples(torch.randn(5, 3), torch.arange(5)).batch(torch.tensor([4, 0]))
    >>> targets.tolist()
    [4, 0]
    """

    inputs: Tensor
    targets: Tensor

    def __len__(self) -> int:
        return len(self.inputs)

    def batch(self, index: Tensor) -> tuple[Tensor, Tensor]:
        # index_select is ten times as fast as indexing by a tensor.
        return self.inputs.index_select(0, index), self.targets.index_select(0, index)


@dataclass(frozen=True)
class Subset:
    """Some of another client's samples."""

    samples: Samples
    rows: Tensor

    def __len__(self) -> int:
        return len(self.rows)

    def batch(self, index: Tensor) -> tuple[Tensor, Tensor]:
        return self.samples.batch(self.rows[index])


def held_back(samples: Samples, share: float, seed: int, client: str) -> tuple[Samples, Samples | None]:
    """A client's samples in two: those to train on, and a share that nothing is learnt from.

    Samples of one group, such as a patient, stay on one side, and groups are held back while they fit into the share.
    Who has one sample, or one group, trains on it.

    Examples
    --------
    >>> import torch
    >>> from flgames.data.samples import ArraySamples, held_back
    >>> train, back = held_back(ArraySamples(torch.randn(10, 3), torch.arange(10)), 0.2, seed=0, client="north")
    >>> len(train), len(back)
    (8, 2)
    """
    if not share:
        return samples, None
    groups: Tensor | None = getattr(samples, "groups", None)
    # Pooled samples are held back as they are where clients are apart.
    sources: tuple[tuple[str, int], ...] = getattr(samples, "sources", ()) or ((client, len(samples)),)
    first, backs = 0, []
    for name, size in sources:
        own = None if groups is None else groups[first : first + size]
        backs.append(_is_back(size, own, share, generator(seed, "held back", name)))
        first += size
    is_back = torch.cat(backs)
    if not is_back.any():
        return samples, None
    return Subset(samples, torch.nonzero(~is_back)[:, 0]), Subset(samples, torch.nonzero(is_back)[:, 0])


def _is_back(size: int, groups: Tensor | None, share: float, draw: np.random.Generator) -> Tensor:
    """Which of a client's samples are held back."""
    whose = torch.arange(size) if groups is None else torch.unique(groups, return_inverse=True)[1]
    order = draw.permutation(int(whose.max()) + 1).tolist()
    if len(order) < 2:
        return torch.zeros(size, dtype=torch.bool)
    sizes = torch.bincount(whose).tolist()
    room, back = min(max(1, round(share * size)), size - 1), list[int]()
    for group in order:
        if sizes[group] <= room:  # a person with most of the samples does not fit, and is trained on
            back.append(group)
            room -= sizes[group]
    return torch.isin(whose, torch.tensor(back or [sizes.index(min(sizes))]))


class BatchStream:
    """An endless stream of full mini-batches: shuffled epochs, one after the other.

    Batch number b is a pure function of (seed, client, purpose, b), so a resumed or rejoining client draws what it
    would have drawn.
    """

    def __init__(self, samples: int, batch_size: int, seed: int, client: str, purpose: str) -> None:
        self.samples = samples
        self.batch_size = min(batch_size, samples)
        self._origin = (seed, purpose, client)
        self._epochs: dict[int, np.ndarray] = {}

    def weighted(self, weights: Tensor) -> WeightedStream:
        """The same stream, in which samples come up as often as their weights say."""
        seed, purpose, client = self._origin
        return WeightedStream(weights, self.batch_size, seed, client, purpose)

    def batch(self, number: int) -> Tensor:
        start = number * self.batch_size
        first, offset = divmod(start, self.samples)
        index = self._epoch(first)[offset : offset + self.batch_size]
        if len(index) < self.batch_size:
            index = np.concatenate([index, self._epoch(first + 1)[: self.batch_size - len(index)]])
        return torch.from_numpy(index)

    def _epoch(self, number: int) -> np.ndarray:
        if number not in self._epochs:
            seed, purpose, client = self._origin
            # Two epochs at most are in use; older ones can be drawn again.
            self._epochs = {k: v for k, v in self._epochs.items() if k == number - 1}
            self._epochs[number] = generator(seed, "batches", purpose, client, number).permutation(self.samples)
        return self._epochs[number]


class WeightedStream(BatchStream):
    """A :class:`BatchStream` in whose epochs a sample comes up as often as its weight says, but for rounding.

    Which samples are rounded up is drawn anew for every epoch. With even weights it is the plain stream, bit for bit.
    """

    def __init__(self, weights: Tensor, batch_size: int, seed: int, client: str, purpose: str) -> None:
        super().__init__(len(weights), batch_size, seed, client, purpose)
        self.weights = weights.double().cpu()

    def _epoch(self, number: int) -> np.ndarray:
        if number in self._epochs:
            return self._epochs[number]
        order = super()._epoch(number)
        seed, purpose, client = self._origin
        drawn = torch.from_numpy(generator(seed, "weighted epoch", purpose, client, number).permutation(self.samples))
        rows = drawn[resampled(self.weights[drawn])].sort().values.numpy()
        self._epochs[number] = rows[order]
        return self._epochs[number]


def effective_share(weights: Tensor) -> float:
    """Kish's effective sample size, as a share of the samples that there are.

    Examples
    --------
    >>> import torch
    >>> from flgames.data.samples import effective_share
    >>> effective_share(torch.tensor([1.0, 1.0, 0.0, 0.0]))
    0.5
    """
    return float(weights.sum() ** 2 / weights.square().sum() / len(weights))


def resampled(weights: Tensor) -> Tensor:
    """As many samples as there are, each as often as its weight says, but for rounding. Nothing is drawn.

    Examples
    --------
    >>> import torch
    >>> from flgames.data.samples import resampled
    >>> resampled(torch.tensor([1.0, 0.0, 3.0, 0.0]))
    tensor([0, 2, 2, 2])
    """
    until = np.cumsum(weights.double().cpu().numpy())
    steps = (np.arange(len(until)) + 0.5) / len(until) * until[-1]
    return torch.from_numpy(np.searchsorted(until, steps, side="right"))


def in_chunks(order: Tensor, size: int = CHUNK) -> list[Tensor]:
    """The order in chunks. A last chunk of one sample joins the one before it: BatchNorm can't train on one."""
    chunks = list(torch.split(order, size))
    if len(chunks) > 1 and len(chunks[-1]) == 1:
        chunks[-2:] = [torch.cat(chunks[-2:])]
    return chunks

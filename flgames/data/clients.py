"""The samples of a training client, and of the client that is held out. They are different types on purpose.

Everything that trains, stops or selects takes :class:`Samples`. A :class:`HeldOut` client is not one: it has no
batches to learn from, and only measures know how to read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from flgames.data.spurious import SpuriousFeature
from flgames.seeds import generator


@runtime_checkable
class Samples(Protocol):
    """What a training client learns from.

    Examples
    --------
    >>> import torch
    >>> from flgames import Samples
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


def input_shape(clients: Clients) -> tuple[int, ...]:
    """The shape of one input, as a model sees it.

    Examples
    --------
    >>> import torch
    >>> from flgames import ArraySamples, input_shape
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
    >>> from flgames import ArraySamples
    >>> inputs, targets = ArraySamples(torch.randn(5, 3), torch.arange(5)).batch(torch.tensor([4, 0]))
    >>> targets.tolist()
    [4, 0]
    """

    inputs: Tensor
    targets: Tensor

    def __len__(self) -> int:
        return len(self.inputs)

    def batch(self, index: Tensor) -> tuple[Tensor, Tensor]:
        return self.inputs[index], self.targets[index]


@dataclass(frozen=True)
class Subset:
    """Some of another client's samples."""

    samples: Samples
    rows: Tensor

    def __len__(self) -> int:
        return len(self.rows)

    def batch(self, index: Tensor) -> tuple[Tensor, Tensor]:
        return self.samples.batch(self.rows[index])


@dataclass(frozen=True)
class PaintedSamples:
    """uint8 images with a spurious feature, painted when a batch is asked for.

    Clients share ``images``; ``rows`` are this one's.
    """

    images: Tensor
    rows: Tensor
    labels: Tensor
    codes: Tensor
    feature: SpuriousFeature

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, index: Tensor) -> tuple[Tensor, Tensor]:
        # index_select is ten times as fast as indexing by a tensor.
        images = self.images.index_select(0, self.rows.index_select(0, index))
        codes, labels = self.codes.index_select(0, index).long(), self.labels.index_select(0, index).long()
        return self.feature.paint(images, codes), labels


@dataclass(frozen=True)
class HeldOut:
    """A client that nobody trains on: its images with the spurious feature agreeing and conflicting with the label.

    Examples
    --------
    >>> from flgames.data.catalogue import by_name
    >>> held_out = by_name("colored-digits").held_out_client(seed=0)
    >>> held_out.flip, held_out.ceiling, held_out.input_shape
    (0.9, 0.75, (2, 8, 8))
    """

    images: Tensor
    labels: Tensor
    codes: Tensor
    feature: SpuriousFeature
    classes: int
    flip: float
    ceiling: float

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one painted image, as a model sees it."""
        return tuple(self.feature.paint(self.images[:1], self.codes[:1].long()).shape[1:])

    def pairs(self, chunk: int) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
        """In chunks: images that agree, the same images in conflict, labels, and which of the two the client has."""
        for start in range(0, len(self.labels), chunk):
            part = slice(start, start + chunk)
            images, labels = self.images[part], self.labels[part].long()
            agreeing = self.feature.paint(images, labels)
            conflicting = self.feature.paint(images, (labels + 1) % self.classes)
            yield agreeing, conflicting, labels, self.codes[part] == labels


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

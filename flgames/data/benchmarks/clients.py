"""A benchmark's clients: those that train, and the one that is held out. They are different types on purpose.

A :class:`HeldOut` client has no batches to learn from, and only measures know how to read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor

from flgames.data.benchmarks.spurious import SpuriousFeature


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
    >>> from flgames.data.benchmarks.registry import by_name
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

"""A benchmark is a small composition: images x label rule x label noise x spurious feature x clients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from flgames.data.clients import HeldOut, PaintedSamples
from flgames.data.images import ImageSet
from flgames.data.spurious import SpuriousFeature, noisy_labels, spurious_codes
from flgames.errors import UserError
from flgames.seeds import generator

HELD_OUT = "held-out"
"""The client that nobody trains on."""


POOLED = "pooled"
"""The one client that has everything, where there is no federation."""


@dataclass(frozen=True)
class Portion:
    """What one client is dealt: rows of the train or test images, their clean labels, noisy labels and codes."""

    rows: np.ndarray
    clean: np.ndarray
    labels: np.ndarray
    codes: np.ndarray

    @classmethod
    def joined(cls, portions: Sequence[Portion]) -> Portion:
        """Several clients' portions as one."""
        parts = ("rows", "clean", "labels", "codes")
        return cls(*(np.concatenate([getattr(portion, part) for portion in portions]) for part in parts))

    @property
    def noise(self) -> float:
        """The share of labels that were moved, as measured."""
        return float(np.mean(self.labels != self.clean))

    @property
    def flip(self) -> float:
        """The share of codes that contradict the label, as measured."""
        return float(np.mean(self.codes != self.labels))


@dataclass(frozen=True)
class Benchmark:
    """A declared benchmark. Its training clients and its held-out client are built apart, from the same seed.

    Parameters
    ----------
    images
        Loads the images for a seed; published ones are the same for all seeds.
    labels
        The label of every kind of image, by the kind's name, in the order of its number; None drops the kind.
    feature
        Paints the code into the image.
    flips
        The training clients and the probability with which each one's code is flipped.
    sizes
        Samples of each training client; without it they are dealt evenly.
    held_out_flip
        The flip probability of the client that nobody trains on.
    available
        Train and test images that are left after kinds were dropped, where this is known without loading them.
    origin
        Where the images come from, for people; published ones know it themselves.
    stride
        Every so manyth pixel is used, across and down.
    pooled
        One training client has the samples of all, as if there were no federation.

    Examples
    --------
    >>> from flgames.data.catalogue import by_name
    >>> digits = by_name("colored-digits", clients=3)
    >>> digits.flips
    {'client-1': 0.3, 'client-2': 0.2, 'client-3': 0.1}
    >>> [len(samples) for samples in digits.training_clients(seed=0).values()]
    [434, 433, 433]
    """

    name: str
    title: str
    images: Callable[[int], ImageSet]
    labels: Mapping[str, int | None]
    feature: SpuriousFeature
    noise: float = 0.25
    flips: Mapping[str, float] = field(default_factory=lambda: {"client-1": 0.2, "client-2": 0.1})
    sizes: Sequence[int] | None = None
    held_out_flip: float = 0.9
    available: tuple[int, int] | None = None
    origin: str = "your own"
    stride: int = 1
    pooled: bool = False
    _last: dict[int, ImageSet] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.flips:
            raise UserError(f"{self.title} has no training client: name them in flips.")
        labels = {label for label in self.labels.values() if label is not None}
        if labels != set(range(len(labels))) or len(labels) < 2:
            raise UserError(
                f"{self.title}: labels are 0, 1, ... without a gap, and two at least; not {sorted(labels)}."
            )
        if len(self.feature.names) < len(labels):
            raise UserError(f"{self.title} has {len(labels)} labels, and its feature {len(self.feature.names)} codes.")
        wrong = [flip for flip in (*self.flips.values(), self.held_out_flip, self.noise) if not 0 <= flip <= 1]
        if wrong:
            raise UserError(f"{self.title}: {wrong[0]} is not a probability.")
        if HELD_OUT in self.flips:
            raise UserError(f"{self.title}: {HELD_OUT} is the name of the client that nobody trains on.")
        if self.sizes is not None and min(self.sizes, default=0) < 1:
            raise UserError(f"--sizes {','.join(map(str, self.sizes))}: every client needs a sample.")
        if self.sizes is not None and len(self.sizes) != len(self.flips):
            raise UserError(f"--sizes names {len(self.sizes)} clients, and there are {len(self.flips)}.")
        if self.available:
            self._check_sizes(self.available[0])

    @property
    def classes(self) -> int:
        return 1 + max(label for label in self.labels.values() if label is not None)

    def input_shape(self, seed: int) -> tuple[int, ...]:
        """The shape of one input, as a model sees it."""
        images = torch.from_numpy(self.prepared(seed).train_images[:1])
        return tuple(self.feature.paint(images, torch.zeros(1, dtype=torch.long)).shape[1:])

    def prepared(self, seed: int) -> ImageSet:
        """The images as they are used. The last ones are remembered: both parts of a seed are built from them."""
        if seed not in self._last:
            self._last.clear()
            images = self.images(seed)
            most = max(int(kinds.max()) for kinds in (images.train_kinds, images.test_kinds))
            if most >= len(self.labels):
                raise UserError(f"{self.title} has images of kind {most}, and labels for {len(self.labels)} kinds.")
            self._last[seed] = images if self.stride == 1 else images.every(self.stride)
        return self._last[seed]

    def training_clients(self, seed: int) -> dict[str, PaintedSamples]:
        """The training clients. They share the images in memory, each with rows of its own."""
        images = torch.from_numpy(self.prepared(seed).train_images)
        portions = self.training_portions(seed)
        if self.pooled:
            portions = {POOLED: Portion.joined(list(portions.values()))}
        return {
            client: PaintedSamples(
                images, torch.from_numpy(portion.rows), _bytes(portion.labels), _bytes(portion.codes), self.feature
            )
            for client, portion in portions.items()
        }

    def held_out_client(self, seed: int) -> HeldOut:
        """The test images, as the unseen client has them."""
        portion = self.held_out_portion(seed)
        images = torch.from_numpy(self.prepared(seed).test_images[portion.rows])
        return HeldOut(
            images, _bytes(portion.labels), _bytes(portion.codes), self.feature,
            self.classes, self.held_out_flip, ceiling=1 - self.noise,
        )  # fmt: skip

    def training_portions(self, seed: int) -> dict[str, Portion]:
        """The train images, dealt to the clients in random order."""
        kinds = self.prepared(seed).train_kinds
        kept = self._kept(kinds)
        order = kept[generator(seed, "partition").permutation(len(kept))]
        if self.sizes is None:
            parts = np.array_split(order, len(self.flips))
        else:
            self._check_sizes(len(order))
            parts = np.split(order, np.cumsum(self.sizes))[:-1]
        return {
            client: self._portion(rows, kinds, flip, seed, client)
            for (client, flip), rows in zip(self.flips.items(), parts, strict=True)
        }

    def held_out_portion(self, seed: int) -> Portion:
        kinds = self.prepared(seed).test_kinds
        return self._portion(self._kept(kinds), kinds, self.held_out_flip, seed, HELD_OUT)

    def _kept(self, kinds: np.ndarray) -> np.ndarray:
        return np.flatnonzero(np.array([label is not None for label in self.labels.values()])[kinds])

    def _portion(self, rows: np.ndarray, kinds: np.ndarray, flip: float, seed: int, client: str) -> Portion:
        table = np.array([-1 if label is None else label for label in self.labels.values()])
        clean = table[kinds[rows]]
        labels = noisy_labels(clean, self.classes, self.noise, seed, client)
        return Portion(rows, clean, labels, spurious_codes(labels, self.classes, flip, seed, client))

    def _check_sizes(self, available: int) -> None:
        if self.sizes is not None and sum(self.sizes) > available:
            raise UserError(f"--sizes asks for {sum(self.sizes)} images, and {self.title} has {available} to train on.")
        if len(self.flips) > available:
            raise UserError(f"{self.title} has {available} images to train on, too few for {len(self.flips)} clients.")


def _bytes(values: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(values.astype(np.uint8))

"""A benchmark is a small composition: images x label rule x label noise x spurious feature x clients.

:class:`Benchmark` declares it and holds no images. :class:`BenchmarkData` is what it is with one seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from flgames.data.benchmarks.clients import HeldOut, PaintedSamples
from flgames.data.benchmarks.images import ImageSet
from flgames.data.benchmarks.spurious import SpuriousFeature, noisy_labels, spurious_codes
from flgames.data.samples import POOLED
from flgames.errors import UserError
from flgames.seeds import generator

if TYPE_CHECKING:
    from flgames.data.benchmarks.published import Published

HELD_OUT = "held-out"
"""The client that nobody trains on."""


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
    """A declared benchmark.

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
    check
        Refuses images that can't be had, before anything is made for them.
    needs
        Published data that images are made from, where they are not these themselves.
    stride
        Every so manyth pixel is used, across and down.
    pooled
        One training client has the samples of all, as if there were no federation.
    random_codes
        At training clients every code is drawn evenly, whatever the label: there is no shortcut.

    Examples
    --------
    >>> from flgames.data.benchmarks.registry import by_name
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
    check: Callable[[], object] = lambda: None
    needs: tuple[Published[Any], ...] = ()
    stride: int = 1
    pooled: bool = False
    random_codes: bool = False

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
            raise UserError(f"`sizes` {','.join(map(str, self.sizes))}: every client needs a sample.")
        if self.sizes is not None and len(self.sizes) != len(self.flips):
            raise UserError(f"`sizes` names {len(self.sizes)} clients, and there are {len(self.flips)}.")
        if self.available:
            self._check_sizes(self.available[0])

    @property
    def published(self) -> tuple[Published[Any], ...]:
        """What must be fetched before its images can be had."""
        from flgames.data.benchmarks.published import Published  # it loads what downloads need

        return (self.images,) if isinstance(self.images, Published) else self.needs

    @property
    def players(self) -> tuple[str, ...]:
        """The training clients, in playing order."""
        return tuple(self.flips)

    @property
    def classes(self) -> int:
        return 1 + max(label for label in self.labels.values() if label is not None)

    def data(self, seed: int) -> BenchmarkData:
        """Its images, loaded once, and how they are dealt with this seed."""
        images = self.images(seed)
        most = max(int(kinds.max()) for kinds in (images.train_kinds, images.test_kinds))
        if most >= len(self.labels):
            raise UserError(f"{self.title} has images of kind {most}, and labels for {len(self.labels)} kinds.")
        return BenchmarkData(self, seed, images if self.stride == 1 else images.every(self.stride))

    def training_clients(self, seed: int) -> dict[str, PaintedSamples]:
        """The training clients with this seed; :meth:`data` is for those who need more than these."""
        return self.data(seed).training_clients()

    def held_out_client(self, seed: int) -> HeldOut:
        """The client that nobody trains on, with this seed."""
        return self.data(seed).held_out_client()

    def _check_sizes(self, available: int) -> None:
        if self.sizes is not None and sum(self.sizes) > available:
            raise UserError(f"`sizes` asks for {sum(self.sizes)} images, and {self.title} has {available} to train on.")
        if len(self.flips) > available:
            raise UserError(f"{self.title} has {available} images to train on, too few for {len(self.flips)} clients.")


@dataclass(frozen=True)
class BenchmarkData:
    """A benchmark with its images and a seed. Training clients and the held-out client are built apart."""

    benchmark: Benchmark
    seed: int
    images: ImageSet

    @property
    def title(self) -> str:
        return self.benchmark.title

    @property
    def classes(self) -> int:
        return self.benchmark.classes

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one input, as a model sees it."""
        images = torch.from_numpy(self.images.train_images[:1])
        return tuple(self.benchmark.feature.paint(images, torch.zeros(1, dtype=torch.long)).shape[1:])

    def training_clients(self) -> dict[str, PaintedSamples]:
        """The training clients. They share the images in memory, each with rows of its own."""
        images = torch.from_numpy(self.images.train_images)
        portions = self.training_portions()
        if self.benchmark.pooled:
            portions = {POOLED: Portion.joined(list(portions.values()))}
        feature = self.benchmark.feature
        return {
            client: PaintedSamples(
                images, torch.from_numpy(portion.rows), _bytes(portion.labels), _bytes(portion.codes), feature
            )
            for client, portion in portions.items()
        }

    def held_out_client(self) -> HeldOut:
        """The test images, as the unseen client has them."""
        portion, declared = self.held_out_portion(), self.benchmark
        images = torch.from_numpy(self.images.test_images[portion.rows])
        return HeldOut(
            images, _bytes(portion.labels), _bytes(portion.codes), declared.feature,
            declared.classes, declared.held_out_flip, ceiling=1 - declared.noise,
        )  # fmt: skip

    def unseen_clients(self) -> tuple[HeldOut]:
        """The held-out client: a planted benchmark has one."""
        return (self.held_out_client(),)

    def training_portions(self) -> dict[str, Portion]:
        """The train images, dealt to the clients in random order."""
        kinds, declared = self.images.train_kinds, self.benchmark
        kept = self._kept(kinds)
        order = kept[generator(self.seed, "partition").permutation(len(kept))]
        declared._check_sizes(len(order))
        if declared.sizes is None:
            parts = np.array_split(order, len(declared.flips))
        else:
            parts = np.split(order, np.cumsum(declared.sizes))[:-1]
        return {
            client: self._portion(rows, kinds, None if declared.random_codes else flip, client)
            for (client, flip), rows in zip(declared.flips.items(), parts, strict=True)
        }

    def held_out_portion(self) -> Portion:
        kinds = self.images.test_kinds
        return self._portion(self._kept(kinds), kinds, self.benchmark.held_out_flip, HELD_OUT)

    def _kept(self, kinds: np.ndarray) -> np.ndarray:
        return np.flatnonzero(np.array([label is not None for label in self.benchmark.labels.values()])[kinds])

    def _portion(self, rows: np.ndarray, kinds: np.ndarray, flip: float | None, client: str) -> Portion:
        """``flip``: None draws codes evenly."""
        declared = self.benchmark
        table = np.array([-1 if label is None else label for label in declared.labels.values()])
        clean = table[kinds[rows]]
        labels = noisy_labels(clean, declared.classes, declared.noise, self.seed, client)
        return Portion(rows, clean, labels, spurious_codes(labels, declared.classes, flip, self.seed, client))


def _bytes(values: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(values.astype(np.uint8))

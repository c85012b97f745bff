"""Benchmarks: images x label rule x label noise x spurious feature x clients."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch

from flgames.data import sources
from flgames.data.clients import HeldOut, PaintedSamples, Samples
from flgames.data.sources import ImageSet
from flgames.data.spurious import Colour, SpuriousFeature, noisy_labels, spurious_codes
from flgames.errors import UserError, unknown
from flgames.seeds import generator

Pixels = Literal["grey", "binary"]


def upper_half(kinds: np.ndarray) -> np.ndarray:
    """The paper's label: 1 for the digits 5 to 9."""
    return (kinds >= 5).astype(np.int64)


@dataclass(frozen=True)
class Benchmark:
    """A declared benchmark. Its training clients and its held-out client are built apart, from the same seed.

    Parameters
    ----------
    images
        Loads the published images; called for every part that is built, so let it remember them.
    feature
        Paints the code into the image.
    flips
        The training clients and the probability with which each one's code is flipped.
    held_out_flip
        The same for the client that nobody trains on.
    """

    name: str
    title: str
    images: Callable[[], ImageSet]
    feature: SpuriousFeature
    label: Callable[[np.ndarray], np.ndarray] = upper_half
    classes: int = 2
    noise: float = 0.25
    flips: Mapping[str, float] = field(default_factory=lambda: {"client-1": 0.2, "client-2": 0.1})
    held_out_flip: float = 0.9
    stride: int = 1

    def training_clients(self, seed: int) -> dict[str, PaintedSamples]:
        """The training images, dealt evenly to the clients in random order."""
        published = self.images()
        order = generator(seed, "partition").permutation(len(published.train_digits))
        parts = np.array_split(order, len(self.flips))
        return {
            client: PaintedSamples(
                *self._draw(published.train_images[part], published.train_digits[part], flip, seed, client),
                self.feature,
            )
            for (client, flip), part in zip(self.flips.items(), parts, strict=True)
        }

    def held_out_client(self, seed: int) -> HeldOut:
        """The test images, as the unseen client has them."""
        published = self.images()
        drawn = self._draw(published.test_images, published.test_digits, self.held_out_flip, seed, "held-out")
        return HeldOut(*drawn, self.feature, self.classes, self.held_out_flip, ceiling=1 - self.noise)

    def input_shape(self, clients: Mapping[str, Samples]) -> tuple[int, ...]:
        inputs, _ = next(iter(clients.values())).batch(torch.tensor([0]))
        return tuple(inputs.shape[1:])

    def _draw(
        self, images: np.ndarray, kinds: np.ndarray, flip: float, seed: int, client: str
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        labels = noisy_labels(self.label(kinds), self.classes, self.noise, seed, client)
        codes = spurious_codes(labels, self.classes, flip, seed, client)
        smaller = images[:, :: self.stride, :: self.stride].copy()
        return torch.from_numpy(smaller), _bytes(labels), _bytes(codes)


def _bytes(values: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(values.astype(np.uint8))


NAMES = ("colored-digits", "colored-mnist")


def benchmark(name: str, pixels: Pixels = "grey", side: int | None = None) -> Benchmark:
    """A benchmark by name.

    ``pixels="binary"`` sets every pixel that is not black to white, as IRM Games does; ``side=14`` takes every second
    pixel of Colored MNIST, as Arjovsky et al. do.
    """
    binary = pixels == "binary"
    if name == "colored-digits":
        if side not in (None, 8):
            raise UserError(f"colored-digits has 8 x 8 pixels; --side {side} can't be had.")
        return Benchmark(name, "Colored Digits", functools.cache(sources.digits), Colour(white=16, binary=binary))
    if name == "colored-mnist":
        if side not in (None, 14, 28):
            raise UserError(f"colored-mnist has a side of 28 or 14 pixels, not {side}.")
        stride = 2 if side == 14 else 1
        return Benchmark(name, "Colored MNIST", functools.cache(sources.mnist), Colour(binary=binary), stride=stride)
    raise unknown("benchmark", name, NAMES)

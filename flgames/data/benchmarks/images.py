"""Decoded images: a train and a test part, as published."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flgames.errors import UserError
from flgames.files import replacing

PARTS = ("train_images", "train_kinds", "test_images", "test_kinds")


@dataclass(frozen=True)
class ImageSet:
    """Images and what each of them shows.

    Parameters
    ----------
    train_images, test_images
        uint8, n x height x width if they are grey, n x 3 x height x width if they are in colour.
    train_kinds, test_kinds
        The number of each image's kind: the digit, the piece of clothing, the animal.

    Examples
    --------
    >>> import numpy as np
    >>> from flgames.data.benchmarks.images import ImageSet
    >>> pixels, kinds = np.zeros((6, 4, 4), np.uint8), np.arange(6) % 3
    >>> len(ImageSet(pixels[:4], kinds[:4], pixels[4:], kinds[4:]).train_images)
    4
    """

    train_images: np.ndarray
    train_kinds: np.ndarray
    test_images: np.ndarray
    test_kinds: np.ndarray

    def __post_init__(self) -> None:
        for part in ("train", "test"):
            images, kinds = getattr(self, f"{part}_images"), getattr(self, f"{part}_kinds")
            if images.dtype != np.uint8:
                raise UserError(f"The {part} images are {images.dtype}: give bytes (uint8) from 0 to 255.")
            if len(images) != len(kinds) or len(images) == 0:
                raise UserError(f"There are {len(images)} {part} images and {len(kinds)} kinds for them.")

    @classmethod
    def split(cls, images: np.ndarray, kinds: np.ndarray, train: int) -> ImageSet:
        """The first ``train`` images and the others, as copies: who holds one part can't reach the other."""
        return cls(images[:train].copy(), kinds[:train].copy(), images[train:].copy(), kinds[train:].copy())

    def sha256(self) -> str:
        """Of shapes and values, whatever file they came from."""
        digest = hashlib.sha256()
        for part in PARTS:
            array = getattr(self, part)
            digest.update(str(array.shape).encode())
            digest.update(np.ascontiguousarray(array, dtype=np.uint8).data)
        return digest.hexdigest()

    def every(self, stride: int) -> ImageSet:
        """Every so manyth pixel, across and down."""
        train, test = (
            np.ascontiguousarray(images[..., ::stride, ::stride]) for images in (self.train_images, self.test_images)
        )
        return ImageSet(train, self.train_kinds, test, self.test_kinds)

    def save(self, path: Path) -> None:
        with replacing(path) as file:
            np.savez(file, **{part: getattr(self, part) for part in PARTS})

    @classmethod
    def load(cls, path: Path) -> ImageSet:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return cls(**{part: arrays[part] for part in PARTS})

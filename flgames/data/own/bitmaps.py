"""Images as numbers: a file is decoded, and many of them lie in one array of bytes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageOps

from flgames.errors import UserError

LARGEST_SIDE = 64
"""Pixels: larger images are made smaller, unless --side says otherwise."""

FORMATS = ("PNG", "JPEG", "TIFF", "BMP")
"""What is opened, whatever a file is called."""

BYTE = 8
"""Bits a pixel of what a model sees."""

BLOCK = 256
"""Images of one shape that are counted at once."""

Shape = tuple[int, int, int]
"""Channels, height and width."""


class Bitmap(NamedTuple):
    """One image."""

    pixels: np.ndarray
    """Channels, rows, columns; a byte each."""
    is_whole: bool
    """Whether it has every pixel of its file."""
    largest: int | None
    """The brightest value, of files with more than a byte a pixel."""


@dataclass(frozen=True)
class Bitmaps:
    """A client's images, one after the other, in the order of its files."""

    values: np.ndarray
    shapes: np.ndarray
    """Of every image: channels, height, width."""
    is_whole: np.ndarray
    """Of every image, whether it has every pixel of its file."""
    bits: int
    """Bits a pixel that are in use, where files have more than a byte."""
    shape: Shape | None = None
    """What they were decoded for; None: for a survey, before that was known."""

    @classmethod
    def of(cls, images: list[Bitmap], bits: int, shape: Shape | None) -> Bitmaps:
        values = np.concatenate([image.pixels.ravel() for image in images])
        shapes = np.array([image.pixels.shape for image in images])
        return cls(values, shapes, np.array([image.is_whole for image in images]), bits, shape)

    def histograms(self) -> np.ndarray:
        """How often each value occurs in red, green and blue; grey is all three."""
        found = np.zeros((3, 256), dtype=np.int64)
        for pixels in self._blocks():
            for channel in range(pixels.shape[1]):
                counts = np.bincount(pixels[:, channel].ravel(), minlength=256)
                found[slice(None) if pixels.shape[1] == 1 else channel] += counts
        return found

    def serves(self, shape: Shape | None) -> bool:
        """Whether no file must be read again to have all images in a shape, bit for bit; None: for a survey."""
        if shape is None or self.shape is not None:
            return self.shape == shape
        fits = (self.shapes[:, 1:] == shape[1:]).all(1) & (self.shapes[:, 0] <= shape[0])
        return bool((fits | self.is_whole).all())

    def fitted(self, shape: Shape) -> np.ndarray:
        """All images in a shape that they serve."""
        if (self.shapes == shape).all():
            return self.values.reshape(-1, *shape)
        channels, height, width = shape
        images = (image for block in self._blocks() for image in block)
        return np.stack([_pixels(_sized(_in(_picture(image), channels), (width, height))) for image in images])

    def _blocks(self) -> Iterator[np.ndarray]:
        """Neighbours of one shape together, but not too many."""
        first = 0
        for shape, alike in groupby(map(tuple, self.shapes.tolist())):
            left, size = len(list(alike)), int(np.prod(shape))
            while left:
                count = min(left, BLOCK)
                yield self.values[first : first + count * size].reshape(count, *shape)
                first, left = first + count * size, left - count


def bitmap(client: str, path: Path, content: bytes, shape: Shape | None, least_bits: int) -> Bitmap:
    """A file as a model sees it: in one shape, or, before that is known, as it is but for the largest side.

    Files with more than a byte a pixel are scaled by the bits that they use, at least ``least_bits``.
    """
    image = _opened(client, path, content)
    largest = None
    if image.mode.startswith("I"):
        values = np.asarray(image)
        largest = int(values.max())
        top = 2 ** bits_in_use(largest, least_bits) - 1
        image = Image.fromarray((values.clip(0, top).astype(np.float64) * (255 / top)).astype(np.uint8))
    size = _capped(image.size) if shape is None else (shape[2], shape[1])
    small = _sized(image if shape is None else _in(image, shape[0]), size)
    return Bitmap(_pixels(small), (small.size, small.mode) == (image.size, image.mode), largest)


def bits_in_use(largest: int, least_bits: int) -> int:
    """Bits that a value takes: scanners write 12 bits into 16."""
    return max(least_bits, largest.bit_length())


def _opened(client: str, path: Path, content: bytes) -> Image.Image:
    """An image the right way up, in front of white where it is transparent: as L, RGB, or I with its own depth."""
    try:
        image: Image.Image = Image.open(io.BytesIO(content), formats=FORMATS)
        image.load()
        if image.info or image.format == "TIFF":  # where else nothing says how it stands
            ImageOps.exif_transpose(image, in_place=True)
    except Exception:  # damaged files fail in many ways
        raise unreadable(client, path) from None
    if image.mode.startswith("I"):
        return image
    if image.mode == "F":
        raise UserError(f"{client}: {path} has pixels with fractions: write them as whole numbers.")
    if image.has_transparency_data:
        front = image.convert("RGBA")
        flat = Image.alpha_composite(Image.new("RGBA", front.size, "white"), front)
        return flat.convert("L" if image.mode == "LA" else "RGB")
    return _in(image, 1 if image.mode in ("1", "L") else 3)


def unreadable(client: str, path: Path) -> UserError:
    return UserError(f"{client}: {path} can't be read as {', '.join(FORMATS)}.")


def _in(image: Image.Image, channels: int) -> Image.Image:
    mode = "L" if channels == 1 else "RGB"
    return image if image.mode == mode else image.convert(mode)


def _capped(size: tuple[int, int]) -> tuple[int, int]:
    shrink = min(1.0, LARGEST_SIDE / max(size))
    return max(1, round(size[0] * shrink)), max(1, round(size[1] * shrink))


def _sized(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    return image if image.size == size else image.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)


def _pixels(image: Image.Image) -> np.ndarray:
    values = np.asarray(image)
    return values[None] if values.ndim == 2 else values.transpose(2, 0, 1)


def _picture(pixels: np.ndarray) -> Image.Image:
    """The image that has these pixels."""
    return Image.fromarray(pixels[0] if len(pixels) == 1 else np.ascontiguousarray(pixels.transpose(1, 2, 0)))

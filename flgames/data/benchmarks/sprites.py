"""dSprites (Matthey et al., 2017), read from the published file, or rendered here from its factors.

The published set has 737,280 binary images of 64 x 64 pixels, one for every combination of six factors, and the
image's number tells its factors: the last one, the vertical position, changes fastest. Our renderings have the same
numbers, factors and values. Their pixels are not the published ones: they were made before we had the file, and sized
to its mean brightness of 4.25%. They need no download.
"""

from __future__ import annotations

import functools
import hashlib
import io
import zipfile
import zlib
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

import numpy as np

from flgames.data.benchmarks.images import ImageSet
from flgames.errors import UserError
from flgames.files import write_atomically
from flgames.seeds import generator

FACTORS = {"colour": 1, "shape": 3, "scale": 6, "orientation": 40, "x": 32, "y": 32}
"""The factors in their published order, and how many values each has."""

SHAPES = ("square", "ellipse", "heart")
SCALES = np.linspace(0.5, 1, FACTORS["scale"])
ORIENTATIONS = np.linspace(0, 2 * np.pi, FACTORS["orientation"])

SIDE = 64
TOTAL = int(np.prod(list(FACTORS.values())))
RENDERED = TOTAL // FACTORS["shape"] * 2
"""Squares and ellipses, which come first."""

HALF_SQUARE = 9.0
HALF_AXES = (12.0, 7.0)
"""Of a square and of an ellipse of scale 1, in pixels."""

TRAVEL = FACTORS["x"] - 1
"""Pixels between the first and the last position: one a step. So a sprite's centre is 16.5 pixels or more from every
border, and no sprite is larger than that."""

PUBLISHED_FILE = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"

TRAIN, TEST = 30_000, 5_000
"""Pictures by default."""

DIFFERENT = {"published": 476_090, "rendered": 424_960}
"""Squares and ellipses that are not the same picture as another, of 491,520: the most that train and test can have."""


class Sprites(Hashable, Protocol):
    """Images by their published numbers."""

    def images(self, index: np.ndarray) -> np.ndarray:
        """uint8, n x 64 x 64, of zeros and ones."""


def factors(index: np.ndarray) -> dict[str, np.ndarray]:
    """Which value of each factor the images with these numbers have, counted from 0."""
    return dict(zip(FACTORS, np.unravel_index(index, tuple(FACTORS.values())), strict=True))


def picture(shape: str, scale: float, orientation: float, side: int = SIDE) -> np.ndarray:
    """One sprite in the middle of a canvas: a pixel is white if its centre lies in the shape.

    Turned clockwise by ``orientation``, in radians.
    """
    middle = (side - 1) / 2
    down, across = np.mgrid[:side, :side] - middle
    cos, sin = np.cos(orientation), np.sin(orientation)
    along, aside = across * cos + down * sin, down * cos - across * sin
    # A pixel's centre may lie on the edge: it counts as inside, whatever the last bit of a sine is on this machine.
    edge = 1 + 1e-9
    if shape == "square":
        inside = np.maximum(abs(along), abs(aside)) <= HALF_SQUARE * scale * edge
    elif shape == "ellipse":
        inside = np.hypot(along / HALF_AXES[0], aside / HALF_AXES[1]) <= scale * edge
    else:
        raise UserError(f"Squares and ellipses are rendered here, not a {shape}: it is in the published file.")
    return np.asarray(inside, dtype=np.uint8)


def _check_range(index: np.ndarray, total: int) -> None:
    if len(index) and (index.min() < 0 or index.max() >= total):
        raise UserError(f"Sprites here have the numbers 0 to {total - 1}, not {index.min()} to {index.max()}.")


class RenderedSprites:
    """Squares and ellipses, drawn once each and moved by whole pixels."""

    @functools.cached_property
    def _windows(self) -> np.ndarray:
        # A canvas so large that every position is a window of it.
        canvas = SIDE + TRAVEL
        drawn = [
            picture(shape, scale, orientation, canvas)
            for shape in SHAPES[:2]
            for scale in SCALES
            for orientation in ORIENTATIONS
        ]
        return np.lib.stride_tricks.sliding_window_view(np.stack(drawn), (SIDE, SIDE), axis=(1, 2))

    def images(self, index: np.ndarray) -> np.ndarray:
        index = np.asarray(index)
        _check_range(index, RENDERED)
        found = factors(index)
        which = (found["shape"] * len(SCALES) + found["scale"]) * len(ORIENTATIONS) + found["orientation"]
        return np.asarray(self._windows[which, TRAVEL - found["y"], TRAVEL - found["x"]])


@dataclass(frozen=True)
class SpriteFile:
    """The published file, as it is. Its images would take 3 GB, so they are read through, and those asked for kept."""

    raw: bytes

    @classmethod
    def load(cls, path: Path) -> SpriteFile:
        return cls(path.read_bytes())

    def save(self, path: Path) -> None:
        write_atomically(path, self.raw)

    def sha256(self) -> str:
        return hashlib.sha256(self.raw).hexdigest()

    def images(self, index: np.ndarray) -> np.ndarray:
        index = np.asarray(index)
        _check_range(index, TOTAL)
        chosen = np.empty((len(index), SIDE, SIDE), dtype=np.uint8)
        order = np.argsort(index, kind="stable")
        ordered = index[order]
        try:
            with zipfile.ZipFile(io.BytesIO(self.raw)) as archive, archive.open("imgs.npy") as file:
                self._check_header(file)
                chunk = 1024
                for start in range(0, int(ordered[-1]) + 1 if len(index) else 0, chunk):
                    raw = file.read(chunk * SIDE * SIDE)
                    images = np.frombuffer(raw, dtype=np.uint8).reshape(-1, SIDE, SIDE)
                    first, last = np.searchsorted(ordered, (start, start + chunk))
                    chosen[order[first:last]] = images[ordered[first:last] - start]
        except (OSError, KeyError, ValueError, IndexError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            raise UserError(f"{PUBLISHED_FILE} is not the published file of dSprites, or damaged: {error}.") from None
        return chosen

    @staticmethod
    def _check_header(file: IO[bytes]) -> None:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran, dtype = read(file)
        if shape != (TOTAL, SIDE, SIDE) or is_fortran or dtype != np.uint8:
            raise ValueError(f"its images are {dtype} {shape}, not uint8 {(TOTAL, SIDE, SIDE)}")


def sprites(seed: int, source: Sprites, train: int | None = None) -> ImageSet:
    """A random part of squares and ellipses in which no picture occurs twice, so train and test share none.

    With more to train on, the pictures of fewer are among them, and the unseen ones are the same.
    """
    train = train or TRAIN
    packed, kinds = _chosen(seed, source, train)
    images = (np.unpackbits(part, axis=1).reshape(-1, SIDE, SIDE) for part in (packed[:train], packed[train:]))
    return ImageSet(next(images), kinds[:train].copy(), next(images), kinds[train:].copy())


@functools.lru_cache(maxsize=2)
def _chosen(seed: int, source: Sprites, train: int) -> tuple[np.ndarray, np.ndarray]:
    """Pictures, a bit a pixel, and their shapes. The last ones are remembered: a match follows another.

    Pictures are compared by their pixels: orientations 0 and 2 pi are two numbers and one picture, and small sprites
    have more of these.
    """
    wanted = train + TEST
    index = generator(seed, "sprites").permutation(RENDERED)[: wanted * 5 // 4]
    images = source.images(index)
    packed = np.packbits(images.reshape(len(images), -1), axis=1)
    del images  # all of them are 2 GB
    _, first = np.unique(packed.view(f"V{packed.shape[1]}").ravel(), return_index=True)
    kept = np.sort(first)[:wanted]
    if len(kept) < wanted:
        raise UserError(f"Only {len(kept)} of {len(index)} sprites are different pictures; {wanted} are needed.")
    kept = np.concatenate([kept[:TRAIN], kept[TRAIN + TEST :], kept[TRAIN : TRAIN + TEST]])
    return packed[kept], factors(index[kept])["shape"].astype(np.uint8)

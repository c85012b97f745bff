"""A client's folder of images: CLIENT/CLASS/*.png or .jpg."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image, UnidentifiedImageError

from flgames.data.own.files import IMAGES
from flgames.data.own.records import InMemory
from flgames.data.own.survey import Layout, Survey
from flgames.errors import UserError

LARGEST_SIDE = 64
"""Pixels: larger images are made smaller, unless --side says otherwise."""


@dataclass(frozen=True)
class Pictures:
    """Image files, by class."""

    client: str
    files: list[Path]
    labels: list[str]
    groups: None = None

    def survey(self) -> Survey:
        sums, squares, count = np.zeros(3), np.zeros(3), 0
        height = width = 1
        grey = True
        for path in self.files:
            image = _opened(self.client, path)
            grey = grey and image.mode in ("1", "L", "LA")
            small = np.asarray(_sized(image.convert("RGB"), _capped(image.size)), dtype=np.float64)
            height, width = max(height, small.shape[0]), max(width, small.shape[1])
            sums += small.sum((0, 1))
            squares += (small**2).sum((0, 1))
            count += small.shape[0] * small.shape[1]
        return Survey(
            kind="images",
            shape=(1 if grey else 3, height, width),
            samples=Counter(self.labels),
            count=count,
            sums=tuple(sums),
            squares=tuple(squares),
        )

    def rows(self, layout: Layout) -> InMemory:
        channels, height, width = layout.shape
        pixels = np.empty((len(self.files), *layout.shape), dtype=np.uint8)
        for row, path in enumerate(self.files):
            image = _opened(self.client, path).convert("L" if channels == 1 else "RGB")
            values = np.asarray(_sized(image, (width, height)))
            pixels[row] = values[None] if channels == 1 else values.transpose(2, 0, 1)
        return InMemory(torch.from_numpy(pixels))


def pictures_in(client: str, folder: Path) -> Pictures:
    found = [
        (path, label.name)
        for label in sorted(folder.iterdir())
        if label.is_dir() and not label.name.startswith(".")
        for path in sorted(label.iterdir())
        if path.suffix.lower() in IMAGES
    ]
    if not found:
        raise UserError(f"{client} has no samples: {folder} needs a folder for each class, with .png or .jpg in it.")
    return Pictures(client, [path for path, _ in found], [label for _, label in found])


def _opened(client: str, path: Path) -> Image.Image:
    try:
        with Image.open(path) as image:
            image.load()
            if image.mode.startswith("I"):  # 16 bits a pixel, as scanners like it
                return Image.fromarray((np.asarray(image).clip(0, 65535) // 257).astype(np.uint8))
            return image
    except (OSError, SyntaxError, ValueError, UnidentifiedImageError, Image.DecompressionBombError):
        raise UserError(f"{client}: {path} can't be read as an image.") from None


def _capped(size: tuple[int, int]) -> tuple[int, int]:
    shrink = min(1.0, LARGEST_SIDE / max(size))
    return max(1, round(size[0] * shrink)), max(1, round(size[1] * shrink))


def _sized(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    return image if image.size == size else image.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)

"""A client's folder of images: CLIENT/CLASS/, with .png, .jpg, .tif or .bmp in it, at any depth."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps

from flgames.data.own.files import IMAGES
from flgames.data.own.layout import Layout
from flgames.data.own.records import InMemory
from flgames.data.own.survey import Survey
from flgames.errors import UserError

LARGEST_SIDE = 64
"""Pixels: larger images are made smaller, unless --side says otherwise."""

FORMATS = ("PNG", "JPEG", "TIFF", "BMP")
"""What is opened, whatever a file is called."""

BYTE = 8
"""Bits a pixel of what a model sees."""


@dataclass(frozen=True)
class Pictures:
    """Image files, by class."""

    client: str
    files: list[Path]
    labels: list[str]
    skipped: Counter[str] = field(default_factory=Counter)
    """What else lies in its folder, by why it is no image."""
    groups: list[str] | None = None
    """Whose each image is, where folders below the class's say so."""
    least_bits: int = BYTE
    """Bits a pixel that are in use where a model was trained: a few dark files of 16 bits don't show them."""

    def survey(self) -> Survey:
        sums, squares, count = np.zeros(3), np.zeros(3), 0
        height = width = 1
        grey = True
        for path in self.files:
            image = self._opened(path)
            grey = grey and image.mode == "L"
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
            bits=self.bits,
        )

    def rows(self, layout: Layout) -> InMemory:
        channels, height, width = layout.shape
        pixels = np.empty((len(self.files), *layout.shape), dtype=np.uint8)
        for row, path in enumerate(self.files):
            image = self._opened(path).convert("L" if channels == 1 else "RGB")
            values = np.asarray(_sized(image, (width, height)))
            pixels[row] = values[None] if channels == 1 else values.transpose(2, 0, 1)
        return InMemory(torch.from_numpy(pixels))

    @cached_property
    def bits(self) -> int:
        """Bits a pixel that are in use here, where files have more than a byte: scanners write 12 bits into 16."""
        deep = (read(self.client, path) for path in self.files if _is_deep(path))
        largest = max((int(np.asarray(image).max()) for image in deep), default=0)
        return max(self.least_bits, largest.bit_length())

    def _opened(self, path: Path) -> Image.Image:
        """Grey (L) or coloured (RGB), a byte a pixel and channel."""
        image = read(self.client, path)
        if image.mode.startswith("I"):
            values = np.asarray(image).clip(0, 2**self.bits - 1).astype(np.float64)
            return Image.fromarray((values * (255 / (2**self.bits - 1))).astype(np.uint8))
        return image


def pictures_in(client: str, folder: Path) -> Pictures:
    """All images of a client; the folder below its own is the class, and a folder below that is a patient's, say: its
    images are trained on or held back together."""
    files, labels, groups, skipped = list[Path](), list[str](), list[str](), Counter[str]()
    for path in sorted(_files_in(folder)):
        label, *rest = path.relative_to(folder).parts
        if why := _no_image(path, rest):
            skipped[why] += 1
        else:
            files.append(path)
            labels.append(label)
            groups.append(rest[0] if len(rest) > 1 else str(path))
    if not files:
        raise UserError(
            f"{client} has no samples: {folder} needs a folder for each class, with {', '.join(IMAGES)} in it"
            f"{''.join(f'; {said}' for said in _said(skipped))}."
        )
    apart = len(set(groups)) == len(groups)
    return Pictures(client, files, labels, skipped, None if apart else groups)


def _files_in(folder: Path) -> Iterator[Path]:
    """At any depth, also behind links; not in folders that the system hides."""
    for where, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(where, name) for name in names)


def left_out(pictures: Pictures) -> Iterator[str]:
    """What of a client's folder was not looked at, and why."""
    for said in _said(pictures.skipped):
        yield f"{pictures.client}: {said}."


def _said(skipped: Counter[str]) -> list[str]:
    return [f"{number} {'file' if number == 1 else 'files'} skipped, {why}" for why, number in skipped.items()]


def _no_image(path: Path, below_class: list[str]) -> str | None:
    if path.name.startswith((".", "~$")) or path.name in ("Thumbs.db", "desktop.ini"):
        return "which the system made"
    if not below_class:
        return "which are in no class's folder"
    if path.suffix.lower() not in IMAGES:
        return f"{path.suffix.lower() or 'no ending'}: images are {', '.join(IMAGES)}"
    return None


def read(client: str, path: Path) -> Image.Image:
    """An image the right way up, in front of white where it is transparent: as L, RGB, or I with its own depth."""
    try:
        with Image.open(path, formats=FORMATS) as image:
            image.load()
            upright = ImageOps.exif_transpose(image)
    except Exception:  # damaged files fail in many ways
        raise UserError(f"{client}: {path} can't be read as {', '.join(FORMATS)}.") from None
    if upright.mode.startswith("I"):
        return upright
    if upright.mode == "F":
        raise UserError(f"{client}: {path} has pixels with fractions: write them as whole numbers.")
    if upright.has_transparency_data:
        front = upright.convert("RGBA")
        flat = Image.alpha_composite(Image.new("RGBA", front.size, "white"), front)
        return flat.convert("L" if upright.mode == "LA" else "RGB")
    return upright.convert("L" if upright.mode in ("1", "L") else "RGB")


def _is_deep(path: Path) -> bool:
    """Whether a file has more than a byte a pixel; its head says so, and nothing is decoded."""
    try:
        with Image.open(path, formats=FORMATS) as image:
            return image.mode.startswith("I")
    except Exception:  # damaged files fail in many ways, and reading says which one it was
        return False


def _capped(size: tuple[int, int]) -> tuple[int, int]:
    shrink = min(1.0, LARGEST_SIDE / max(size))
    return max(1, round(size[0] * shrink)), max(1, round(size[1] * shrink))


def _sized(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    return image if image.size == size else image.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)

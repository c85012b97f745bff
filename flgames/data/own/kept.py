"""Decoded images in the user's cache, for the next process. Nothing is kept unless somebody said so: these are pixels
of people, outside the folder that their owner watches over."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass, field
from pathlib import Path

import PIL
import torch

from flgames.data.own.bitmaps import Bitmaps, Shape
from flgames.data.variables import cache_folder
from flgames.sealed import Damaged, Seal, read_tensors, write_tensors

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Kept:
    """What is kept of a folder of images: of its files as they are now, and of no earlier ones."""

    folder: Path
    cache: Path = field(default_factory=lambda: cache_folder() / "images")

    def read(self, contents: str, shape: Shape | None, least_bits: int) -> Bitmaps | None:
        """What was decoded of files with these contents; None if that is not at hand, or damaged, which is said."""
        path = self._path(contents, shape, least_bits)
        if not path.exists():
            return None
        try:
            found = read_tensors(path, _seal(contents, shape, least_bits))
        except Damaged as why:
            log.warning("%s The images are decoded again.", why)
            return None
        values, shapes, whole = (found[name].numpy() for name in ("values", "shapes", "whole"))
        return Bitmaps(values, shapes, whole, int(found["bits"]), shape)

    def write(self, contents: str, least_bits: int, bitmaps: Bitmaps) -> None:
        """Keep what was decoded, and drop what was kept of other contents: who was deleted there is deleted here."""
        path = self._path(contents, bitmaps.shape, least_bits)
        arrays = {"values": bitmaps.values, "shapes": bitmaps.shapes, "whole": bitmaps.is_whole}
        tensors = {name: torch.from_numpy(values) for name, values in arrays.items()}
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            for other in path.parent.glob(f"{self._name}-*"):
                if not other.name.startswith(f"{self._name}-{contents[:16]}-"):
                    other.unlink(missing_ok=True)
            seal = _seal(contents, bitmaps.shape, least_bits)
            write_tensors(path, tensors | {"bits": torch.tensor(bitmaps.bits)}, seal)
        except OSError as error:
            log.warning("%s can't be written, so images are not kept: %s.", path, error.strerror)

    @property
    def _name(self) -> str:
        return hashlib.sha256(str(self.folder.resolve()).encode()).hexdigest()[:16]

    def _path(self, contents: str, shape: Shape | None, least_bits: int) -> Path:
        what = "x".join(map(str, shape)) if shape else "survey"
        return self.cache / f"{self._name}-{contents[:16]}-{what}-{least_bits}.safetensors"


def _seal(contents: str, shape: Shape | None, least_bits: int) -> Seal:
    """Another version of what decodes may give other pixels."""
    told = json.dumps([contents, shape, least_bits, PIL.__version__])
    return Seal(match=hashlib.sha256(told.encode()).hexdigest(), seed=0, round=0)

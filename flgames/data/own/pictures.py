"""A client's folder of images: CLIENT/CLASS/, with .png, .jpg, .tif or .bmp in it, at any depth."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from flgames.data.own.bitmaps import BYTE
from flgames.data.own.files import IMAGES
from flgames.data.own.kept import Kept
from flgames.data.own.layout import Layout
from flgames.data.own.reader import Reader
from flgames.data.own.records import InMemory
from flgames.data.own.survey import Survey
from flgames.errors import UserError


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

    keep: Path | None = None
    """The folder of which decoded pixels are kept in the cache; None: of none."""

    def survey(self) -> Survey:
        found = self._reader.survey()
        counts, values = found.histograms(), np.arange(256)
        channels, height, width = found.shapes.max(0).tolist()
        return Survey(
            kind="images",
            shape=(channels, height, width),
            samples=Counter(self.labels),
            count=int(counts[0].sum()),
            sums=tuple((counts @ values).tolist()),
            squares=tuple((counts @ values**2).tolist()),
            bits=found.bits,
        )

    def rows(self, layout: Layout) -> InMemory:
        channels, height, width = layout.shape
        return InMemory(self._reader.fitted((channels, height, width)))

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self.client, self.files, self.least_bits, Kept(self.keep) if self.keep else None)


def pictures_in(client: str, folder: Path, keep: bool = False) -> Pictures:
    """All images of a client; the folder below its own is the class, and a folder below that is a patient's, say: its
    images are trained on or held back together."""
    files, labels, groups, skipped = list[Path](), list[str](), list[str](), Counter[str]()
    for parts in sorted(_files_in(folder)):
        label, *rest = parts
        if why := _no_image(parts[-1], rest):
            skipped[why] += 1
        else:
            files.append(folder.joinpath(*parts))
            labels.append(label)
            groups.append(rest[0] if len(rest) > 1 else str(files[-1]))
    if not files:
        raise UserError(
            f"{client} has no samples: {folder} needs a folder for each class, with {', '.join(IMAGES)} in it"
            f"{''.join(f'; {said}' for said in _said(skipped))}."
        )
    apart = len(set(groups)) == len(groups)
    return Pictures(client, files, labels, skipped, None if apart else groups, keep=folder if keep else None)


def _files_in(folder: Path) -> Iterator[tuple[str, ...]]:
    """The parts of their paths below it, at any depth, also behind links; not in folders that the system hides."""
    for where, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith(".")]
        below = Path(where).relative_to(folder).parts
        yield from ((*below, name) for name in names)


def left_out(pictures: Pictures) -> Iterator[str]:
    """What of a client's folder was not looked at, and why."""
    for said in _said(pictures.skipped):
        yield f"{pictures.client}: {said}."


def _said(skipped: Counter[str]) -> list[str]:
    return [f"{number} {'file' if number == 1 else 'files'} skipped, {why}" for why, number in skipped.items()]


def _no_image(name: str, below_class: list[str]) -> str | None:
    if name.startswith((".", "~$")) or name in ("Thumbs.db", "desktop.ini"):
        return "which the system made"
    if not below_class:
        return "which are in no class's folder"
    if (suffix := os.path.splitext(name)[1].lower()) not in IMAGES:
        return f"{suffix or 'no ending'}: images are {', '.join(IMAGES)}"
    return None

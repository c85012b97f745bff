"""Decoded records of several sites, as published: a table, or images of one size."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from flgames.data.own.stack import Stack
from flgames.data.own.table import Table
from flgames.errors import UserError, unknown
from flgames.files import replacing

PARTS = ("values", "labels", "places", "groups")
WORDS = ("sites", "columns")


@dataclass(frozen=True)
class SiteSet:
    """Samples of several sites.

    Parameters
    ----------
    values
        One row a sample: numbers of a table (float32), or a grey image (uint8, height x width).
    labels
        The number of each sample's class.
    sites
        The sites by name.
    places
        The number of each sample's site.
    columns
        What a table's numbers are called; images have none.
    groups
        Whose each sample is, where a person has several; empty where nobody has.

    Examples
    --------
    >>> import numpy as np
    >>> from flgames.data.benchmarks.site_set import SiteSet
    >>> ages, ill, where = np.array([[30.0], [40.0], [50.0]], np.float32), np.array([0, 1, 1]), np.array([0, 1, 1])
    >>> known = SiteSet(ages, ill, ("north", "south"), where, columns=("age",))
    >>> known.records("south", ("well", "ill")).labels
    ['ill', 'ill']
    """

    values: np.ndarray
    labels: np.ndarray
    sites: tuple[str, ...]
    places: np.ndarray
    columns: tuple[str, ...] = ()
    groups: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        lengths = {len(self.values), len(self.labels), len(self.places), len(self.groups) or len(self.values)}
        if len(lengths) > 1:
            raise UserError(f"Values, labels, sites and groups have {sorted(lengths)} rows: give one of each a sample.")

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def joined(cls, parts: Sequence[SiteSet]) -> SiteSet:
        """Sets of different sites as one."""
        first = np.cumsum([0, *(len(part.sites) for part in parts)])
        return cls(
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.labels for part in parts]),
            tuple(site for part in parts for site in part.sites),
            np.concatenate([part.places.astype(np.int64) + start for part, start in zip(parts, first, strict=False)]),
            parts[0].columns,
        )

    def only(self, columns: Sequence[str]) -> SiteSet:
        """The same samples with some of the columns."""
        kept = [self.columns.index(column) for column in columns]
        return replace(self, values=np.ascontiguousarray(self.values[:, kept]), columns=tuple(columns))

    def rows(self, site: str) -> np.ndarray:
        """The places of a site's samples."""
        if site not in self.sites:
            raise unknown("site", site, self.sites)
        return np.flatnonzero(self.places == self.sites.index(site))

    def records(self, site: str, classes: Sequence[str]) -> Table | Stack:
        """What one site has; ``classes`` name the labels."""
        rows = self.rows(site)
        labels = [classes[label] for label in self.labels[rows].tolist()]
        if self.columns:
            return Table(site, self.columns, self.values[rows], labels)
        return Stack(site, self.values[rows][:, None], labels)

    def groups_of(self, site: str) -> np.ndarray | None:
        """Whose each of a site's samples is, where that is known."""
        return self.groups[self.rows(site)] if len(self.groups) else None

    def sha256(self) -> str:
        """Of names, shapes and values, whatever file they came from."""
        digest = hashlib.sha256()
        for words in WORDS:
            digest.update("\n".join(getattr(self, words)).encode())
        for part in PARTS:
            array = getattr(self, part)
            digest.update(f"{array.dtype.str} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def save(self, path: Path) -> None:
        arrays: dict[str, Any] = {part: np.asarray(getattr(self, part)) for part in (*PARTS, *WORDS)}
        with replacing(path) as file:
            np.savez_compressed(file, **arrays)

    @classmethod
    def load(cls, path: Path) -> SiteSet:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            parts: dict[str, Any] = {part: arrays[part] for part in PARTS}
            return cls(**parts | {words: tuple(map(str, arrays[words].tolist())) for words in WORDS})

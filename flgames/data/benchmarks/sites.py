"""A benchmark of real sites: nothing is planted in its data, some sites train, and all others are unseen.

:class:`Sites` declares it and holds no data. :class:`SitesData` is what it is with one seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from flgames.data.benchmarks.site_set import SiteSet
from flgames.data.own.layout import Layout
from flgames.data.own.records import LaidOut, Unseen
from flgames.data.own.roles import Kind
from flgames.data.samples import POOLED
from flgames.errors import UserError

if TYPE_CHECKING:
    from flgames.data.benchmarks.published import Published


@dataclass(frozen=True)
class Sites:
    """A declared benchmark of real sites.

    Parameters
    ----------
    load
        The samples of all sites for a seed.
    players
        The sites that train, in playing order.
    unseen
        Every other site that is large enough to be measured on.
    class_names
        What labels are called, in their order.
    kind
        Whether samples are rows of a table or images.
    published
        What must be fetched before it can be loaded.
    sizes
        Samples of each site, as far as this is known without loading them.
    core_columns
        The columns of a table, by what stands before "=", whose meaning is the same everywhere. Empty: nobody knows.
    shown
        Columns that a picture of the sites compares, the last one by which unseen sites are put in order. Empty: the
        first two.
    origin
        Whose data they are, for people.
    check
        Refuses data that can't be had, before anything is made for them.
    pooled
        One training client has the samples of all, as if there were no federation.

    Examples
    --------
    >>> import numpy as np
    >>> from flgames.data.benchmarks.site_set import SiteSet
    >>> from flgames.data.benchmarks.sites import Sites
    >>> known = SiteSet(np.random.rand(6, 1), np.arange(6) % 2, ("a", "b", "c"), np.arange(6) // 2, columns=("age",))
    >>> clinics = Sites("clinics", "Clinics", lambda seed: known, ("a", "b"), ("c",), ("well", "ill"), "table")
    >>> list(clinics.data(seed=0).training_clients()), clinics.data(seed=0).unseen_clients()[0].name
    (['a', 'b'], 'c')
    """

    name: str
    title: str
    load: Callable[[int], SiteSet]
    players: tuple[str, ...]
    unseen: tuple[str, ...]
    class_names: tuple[str, ...]
    kind: Kind
    published: tuple[Published[Any], ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    core_columns: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    origin: str = "your own"
    check: Callable[[], object] = lambda: None
    pooled: bool = False
    is_core: bool = False
    """Whether only the core columns are there."""

    def __post_init__(self) -> None:
        if len(self.players) < 2:
            raise UserError(f"{self.title} needs two training sites at least, and has {len(self.players)}.")
        if both := set(self.players) & set(self.unseen):
            raise UserError(f"{self.title}: {sorted(both)[0]} can't train and be unseen.")

    @property
    def classes(self) -> int:
        return len(self.class_names)

    def core(self) -> Sites:
        """The reference that can't be misled: the same sites with the core columns only."""
        if not self.core_columns:
            raise UserError(f"{self.title} has no core columns: nobody knows which of its inputs can be trusted.")
        return replace(self, title=f"{self.title}, core columns only", is_core=True)

    def data(self, seed: int) -> SitesData:
        """Its samples, loaded once, and how all sites lay them out: by what the training sites tell."""
        samples = self.load(seed)
        if self.is_core:
            samples = samples.only([name for name in samples.columns if name.partition("=")[0] in self.core_columns])
        surveys = {site: samples.records(site, self.class_names).survey() for site in self.players}
        return SitesData(self, samples, Layout.of(surveys, classes=self.class_names))

    def class_counts(self, seed: int) -> list[int]:
        """How many samples of every class the training sites have together."""
        samples = self.load(seed)
        labels = np.concatenate([samples.labels[samples.rows(site)] for site in self.players])
        counts: list[int] = np.bincount(labels, minlength=self.classes).tolist()
        return counts


@dataclass(frozen=True)
class SitesData:
    """A benchmark of sites with its samples. Training clients and unseen clients are built apart."""

    sites: Sites
    samples: SiteSet
    layout: Layout

    @property
    def title(self) -> str:
        return self.sites.title

    @property
    def classes(self) -> int:
        return self.sites.classes

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one input, as a model sees it."""
        return self.layout.shape

    def training_clients(self) -> dict[str, LaidOut]:
        """The sites that train."""
        clients = {site: self._client(site) for site in self.sites.players}
        return {POOLED: LaidOut.joined(clients)} if self.sites.pooled else clients

    def unseen_clients(self) -> tuple[Unseen, ...]:
        """The sites that nobody trains on."""
        return tuple(Unseen(site, self._client(site)) for site in self.sites.unseen)

    def _client(self, site: str) -> LaidOut:
        laid_out = LaidOut.of(self.samples.records(site, self.sites.class_names), self.layout)
        groups = self.samples.groups_of(site)
        return laid_out if groups is None else replace(laid_out, groups=torch.from_numpy(groups))


def correlation(samples: SiteSet, site: str, column: str) -> float:
    """Of a column with the label at one site; 0 where one of them is the same for all."""
    rows = samples.rows(site)
    values, labels = samples.values[rows, samples.columns.index(column)].astype(float), samples.labels[rows]
    return float(np.corrcoef(values, labels)[0, 1]) if values.std() > 0 and labels.std() > 0 else 0.0

"""One client's data before they are laid out, whatever they came from, and its samples afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from flgames.data.own.layout import Layout
from flgames.data.own.survey import Survey


class Rows(Protocol):
    """Inputs with raw values, of all samples of a client."""

    def __len__(self) -> int: ...

    def take(self, index: Tensor) -> Tensor:
        """Those of these samples."""


class Records(Protocol):
    """One client's data as files or arrays have them."""

    @property
    def client(self) -> str: ...

    @property
    def labels(self) -> Sequence[str]: ...

    @property
    def groups(self) -> Sequence[str] | None:
        """Whose each sample is, if that is known."""

    def survey(self) -> Survey:
        """What others may know of them."""

    def rows(self, layout: Layout) -> Rows:
        """All inputs, in the shape that was agreed on."""


@dataclass(frozen=True)
class InMemory:
    """Rows that are all at hand."""

    values: Tensor

    def __len__(self) -> int:
        return len(self.values)

    def take(self, index: Tensor) -> Tensor:
        return self.values.index_select(0, index)


@dataclass(frozen=True)
class LaidOut:
    """A client's samples with raw values, made ready when a batch is asked for."""

    rows: Rows
    targets: Tensor
    ready: nn.Module
    groups: Tensor | None = None
    """Whose each sample is, where a person has several: they are never parted."""
    sources: tuple[tuple[str, int], ...] = ()
    """Of pooled samples: whose they were, one client after the other, and how many."""

    @classmethod
    def of(cls, records: Records, layout: Layout, ready: nn.Module | None = None) -> LaidOut:
        """``ready`` is for those who make inputs ready in their own way; None: as the layout says."""
        targets = layout.indices(records.client, records.labels)
        groups = None if records.groups is None else _numbered(records.groups)
        return cls(records.rows(layout), targets, layout.scale if ready is None else ready, groups)

    @classmethod
    def joined(cls, clients: Mapping[str, LaidOut]) -> LaidOut:
        """Several clients' samples as one's."""
        parts = list(clients.values())
        everything = [part.rows.take(torch.arange(len(part))) for part in parts]
        targets = torch.cat([part.targets for part in parts])
        sources = tuple((name, len(part)) for name, part in clients.items())
        return cls(InMemory(torch.cat(everything)), targets, parts[0].ready, _joined_groups(parts), sources)

    def __len__(self) -> int:
        return len(self.targets)

    @torch.no_grad()
    def batch(self, index: Tensor) -> tuple[Tensor, Tensor]:
        return self.ready(self.rows.take(index).float()), self.targets.index_select(0, index)


@dataclass(frozen=True)
class Unseen:
    """A client of one's own that nobody trains on: only measures know how to read it."""

    name: str
    samples: LaidOut

    def chunks(self, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        for first in range(0, len(self.samples), size):
            yield self.samples.batch(torch.arange(first, min(first + size, len(self.samples))))


def _numbered(groups: Sequence[str]) -> Tensor:
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    return torch.tensor([numbers[group] for group in groups])


def _joined_groups(parts: Sequence[LaidOut]) -> Tensor | None:
    """Groups of several clients: nobody is at two of them."""
    joined: list[Tensor] = []
    first = 0
    for part in parts:
        if part.groups is None:
            return None
        joined.append(part.groups + first)
        first = int(joined[-1].max()) + 1
    return torch.cat(joined)

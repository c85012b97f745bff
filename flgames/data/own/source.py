"""Own data as the source of a game: training clients, and one that nobody trains on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor

from flgames.data.benchmark import POOLED
from flgames.data.own.files import Records, clients_in, read
from flgames.data.own.layout import Layout, Survey
from flgames.errors import UserError, unknown
from flgames.standardise import Standardise

NAME = "own-data"
"""What is played instead of a benchmark."""


class OwnOptions(BaseModel):
    """Own data of one match: where they are, who plays, who is held out, and how all of them are laid out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: str
    target: str | None = None
    players: tuple[str, ...]
    holdout: str | None = None
    layout: Layout

    @property
    def benchmark(self) -> str:
        return NAME

    @classmethod
    def of(
        cls,
        data: str,
        target: str | None,
        side: int | None,
        holdout: str | None,
        surveys: Mapping[str, Survey],
    ) -> OwnOptions:
        """What follows from the surveys of all clients but the one that is held out."""
        playing = {name: survey for name, survey in surveys.items() if name != holdout}
        if len(playing) < 2:
            left = f" but {holdout}" if holdout else ""
            raise UserError(f"A game needs two clients at least, and there is {len(playing)}{left}.")
        return cls(data=data, target=target, players=tuple(playing), holdout=holdout, layout=Layout.of(playing, side))


@dataclass(frozen=True)
class LaidOut:
    """A client's samples with raw values, made ready when a batch is asked for."""

    inputs: Tensor
    targets: Tensor
    ready: Standardise

    @classmethod
    def of(cls, records: Records, layout: Layout) -> LaidOut:
        targets = layout.indices(records.client, records.labels)
        return cls(records.tensor(layout), targets, layout.ready)

    def __len__(self) -> int:
        return len(self.targets)

    def batch(self, index: Tensor) -> tuple[Tensor, Tensor]:
        return self.ready(self.inputs.index_select(0, index)), self.targets.index_select(0, index)


@dataclass(frozen=True)
class Unseen:
    """A client of one's own that nobody trains on: only measures know how to read it."""

    name: str
    samples: LaidOut

    def chunks(self, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        for first in range(0, len(self.samples), size):
            yield self.samples.batch(torch.arange(first, min(first + size, len(self.samples))))


@dataclass(frozen=True)
class OwnData:
    """The clients of a folder."""

    options: OwnOptions
    pooled: bool = False

    @property
    def title(self) -> str:
        held_out = f", {self.options.holdout} held out" if self.options.holdout else ""
        return f"{Path(self.options.data).name}{held_out}"

    @property
    def classes(self) -> int:
        return len(self.options.layout.classes)

    def input_shape(self, seed: int) -> tuple[int, ...]:
        return self.options.layout.shape

    def samples(self, client: str, path: Path | None = None) -> LaidOut:
        """What one client has, where the folder has it or at a path of its own."""
        path = path or path_of(self.options.data, client)
        return LaidOut.of(read(client, path, self.options.target), self.options.layout)

    def training_clients(self, seed: int) -> dict[str, LaidOut]:
        """All players; own data are the same with every seed."""
        clients = {name: self.samples(name) for name in self.options.players}
        if not self.pooled:
            return clients
        parts = list(clients.values())
        inputs, targets = torch.cat([part.inputs for part in parts]), torch.cat([part.targets for part in parts])
        return {POOLED: LaidOut(inputs, targets, parts[0].ready)}

    def held_out_client(self, seed: int) -> Unseen | None:
        holdout = self.options.holdout
        return Unseen(holdout, self.samples(holdout)) if holdout else None


def path_of(data: str, client: str) -> Path:
    """Where a folder has a client."""
    found = clients_in(Path(data))
    if client not in found:
        raise unknown(f"client in {data}:", client, found)
    return found[client]


def surveys_of(data: str, target: str | None) -> dict[str, Survey]:
    """The survey of every client in a folder."""
    return {name: read(name, path, target).survey() for name, path in clients_in(Path(data)).items()}

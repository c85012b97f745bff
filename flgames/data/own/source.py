"""Own data as the source of a game: training clients, and one that nobody trains on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from flgames.data.own import OWN_DATA
from flgames.data.own.files import clients_in, read
from flgames.data.own.records import LaidOut, Unseen
from flgames.data.own.survey import Layout, Survey
from flgames.data.samples import POOLED
from flgames.errors import UserError, unknown


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
        return OWN_DATA

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
class OwnData:
    """The clients of a folder. They are the same with every seed."""

    options: OwnOptions
    pooled: bool = False

    @property
    def title(self) -> str:
        held_out = f", {self.options.holdout} held out" if self.options.holdout else ""
        return f"{Path(self.options.data).name}{held_out}"

    @property
    def classes(self) -> int:
        return len(self.options.layout.classes)

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self.options.layout.shape

    def samples(self, client: str, path: Path | None = None) -> LaidOut:
        """What one client has, where the folder has it or at a path of its own."""
        path = path or path_of(self.options.data, client)
        return LaidOut.of(read(client, path, self.options.target), self.options.layout)

    def training_clients(self) -> dict[str, LaidOut]:
        """All players."""
        clients = {name: self.samples(name) for name in self.options.players}
        return {POOLED: LaidOut.joined(list(clients.values()))} if self.pooled else clients

    def held_out_client(self) -> Unseen | None:
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

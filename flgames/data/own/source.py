"""Own data as the source of a game: training clients, and those that nobody trains on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, field_validator

from flgames.data.own import OWN_DATA
from flgames.data.own.files import clients_in, read
from flgames.data.own.layout import Layout, taken
from flgames.data.own.records import LaidOut, Unseen
from flgames.data.own.roles import Roles
from flgames.data.own.survey import Survey
from flgames.data.own.table import Table
from flgames.data.samples import POOLED
from flgames.errors import UserError, unknown
from flgames.waiting.told import within

FEW = 3
"""Clients that a title names."""


class OwnOptions(BaseModel):
    """Own data of one match: where they are, who plays, who is held out, and how all of them are laid out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: str
    target: str | None = None
    group_column: str | None = None
    client_column: str | None = None
    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    players: tuple[str, ...]
    holdout: tuple[str, ...] = ()
    layout: Layout
    digest: str = ""
    """Of all clients' files, where a match is kept to be found again; "" in a run, which has its own folder."""

    @field_validator("holdout", mode="before")
    @classmethod
    def _of_before(cls, value: object) -> object:
        """Plans that were made before several could be held out name one, or none."""
        return (value,) if isinstance(value, str) else value or ()

    @property
    def benchmark(self) -> str:
        return OWN_DATA

    @property
    def roles(self) -> Roles:
        return Roles.of(self)

    def remarks(self, surveys: Mapping[str, Survey]) -> Iterator[str]:
        """What was made of the columns of tables."""
        if self.layout.columns:
            yield from taken({name: surveys[name] for name in self.players}, self.layout)

    def decides(self) -> dict[str, object]:
        """What decides the data, as keys are made of it: where they lie does not, if it is known what they are."""
        return self.model_dump(mode="json", exclude_defaults=True, exclude={"data"} if self.digest else None)

    @classmethod
    def of(
        cls,
        data: str,
        roles: Roles,
        side: int | None,
        holdout: tuple[str, ...],
        surveys: Mapping[str, Survey],
        train: tuple[str, ...] | None = None,
    ) -> OwnOptions:
        """What follows from the surveys of those who train: ``train``, or all but those that are held out."""
        for what, names in (("hold out", holdout), ("train on", train or ())):
            for name in names:
                if name not in surveys:
                    raise unknown(f"client to {what}:", name, surveys)
        if both := [name for name in train or () if name in holdout]:
            raise UserError(f"{both[0]} can't train and be held out.")
        playing = {
            name: survey for name, survey in surveys.items() if name in (train or surveys) and name not in holdout
        }
        if len(playing) < 2:
            left = f" but {' and '.join(holdout)}" if holdout else ""
            raise UserError(f"A game needs two clients at least, and there is {len(playing)}{left}.")
        layout = Layout.of(playing, side, kept=roles.columns)
        for name in holdout:
            for label, samples in surveys[name].samples.items():
                if label not in layout.classes:
                    raise UserError(
                        f"{name} is held out and has {samples} of the class {label!r}, which no training client has: "
                        "leave them out, or train on it."
                    )
        common = {"data": data, "players": tuple(playing), "holdout": holdout, "layout": layout}
        return cls.model_validate(roles.given | common)


@dataclass(frozen=True)
class OwnData:
    """The clients of a folder. They are the same with every seed."""

    options: OwnOptions
    pooled: bool = False

    @property
    def title(self) -> str:
        names = self.options.holdout
        whom = " and ".join(names) if len(names) <= FEW else f"{len(names)} clients"
        held_out = f", {whom} held out" if names else ""
        return f"{Path(self.options.data).name}{held_out}"

    @property
    def classes(self) -> int:
        return len(self.options.layout.classes)

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self.options.layout.shape

    def samples(self, client: str, path: Path | None = None, keep: bool | None = None) -> LaidOut:
        """What one client has, where the folder has it or at a path of its own; ``keep`` is as for ``read``."""
        path = path or path_of(self.options.data, client, self.options.roles)
        return LaidOut.of(read(client, path, self.options.roles, keep), self.options.layout)

    def training_clients(self) -> dict[str, LaidOut]:
        """All players."""
        clients = self._all(self.options.players)
        return {POOLED: LaidOut.joined(clients)} if self.pooled else clients

    def unseen_clients(self) -> tuple[Unseen, ...]:
        """Those that are held out."""
        return tuple(Unseen(name, samples) for name, samples in self._all(self.options.holdout).items())

    def _all(self, names: Sequence[str]) -> dict[str, LaidOut]:
        found = {}
        for number, name in enumerate(names):
            with within(number, len(names)):
                found[name] = self.samples(name)
        return found


def path_of(data: str, client: str, roles: Roles) -> Path:
    """Where a folder has a client, or the table that has all of them."""
    found = clients_in(Path(data), roles)
    if client not in found:
        raise unknown(f"client in {data}:", client, found)
    return found[client]


def remarks_on(data: str, roles: Roles) -> Iterator[str]:
    """What of the clients' files is not used, in sentences."""
    for name, path in clients_in(Path(data), roles).items():
        records = read(name, path, roles)
        if isinstance(records, Table):
            yield from records.remarks
        elif path.is_dir():
            from flgames.data.own.pictures import Pictures, left_out  # PIL is for those who have images

            assert isinstance(records, Pictures)
            yield from left_out(records)


def surveys_of(data: str, roles: Roles) -> dict[str, Survey]:
    """The survey of every client in a folder, or in a table that has all of them."""
    records = {name: read(name, path, roles) for name, path in clients_in(Path(data), roles).items()}
    headers = [each.header for each in records.values() if isinstance(each, Table)]
    for name in roles.drop if headers else ():
        if not any(name in header for header in headers):
            raise unknown("column to drop:", name, headers[0])
    surveys = {}
    for number, (name, each) in enumerate(records.items()):
        with within(number, len(records)):
            surveys[name] = each.survey()
    return surveys

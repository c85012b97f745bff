"""A match: one entry, played on one benchmark, or on own data, with one seed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict

from flgames.core.client import RESERVED
from flgames.data.benchmarks.benchmark import BenchmarkData
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import benchmark
from flgames.data.benchmarks.sites import Sites, SitesData
from flgames.data.own.source import OwnData, OwnOptions
from flgames.errors import UserError
from flgames.runs.entry import Entry


class Match(BaseModel):
    """One entry, played on one benchmark, or on own data, with one seed. It travels to other processes as a value."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    options: OwnOptions | BenchmarkOptions
    entry: Entry
    seed: int

    def data(self) -> BenchmarkData | SitesData | OwnData:
        """The data as the entry sees them. Images are loaded here, so ask once and hand them on."""
        if isinstance(self.options, BenchmarkOptions):
            return self.entry.benchmark(self.options).data(self.seed)
        if self.entry.feature != "kept" or self.entry.side:
            raise UserError(f"{self.entry.title} is for benchmarks, whose shortcut is known.")
        return OwnData(self.options, pooled=not self.entry.is_federated)

    @property
    def title(self) -> str:
        """What it is played on."""
        options = self.options
        return OwnData(options).title if isinstance(options, OwnOptions) else benchmark(options).title

    @property
    def classes(self) -> int:
        options = self.options
        return OwnData(options).classes if isinstance(options, OwnOptions) else benchmark(options).classes

    @property
    def players(self) -> tuple[str, ...]:
        """Who trains, where clients are apart."""
        options = self.options
        return options.players if isinstance(options, OwnOptions) else benchmark(options).players

    @property
    def holdout(self) -> str | None:
        """Whom of own data nobody trains on, as one name; a benchmark has no such name for its unseen clients."""
        return "+".join(self.options.holdout) or None if isinstance(self.options, OwnOptions) else None

    @property
    def has_columns(self) -> bool:
        """Whether it is played on a table whose columns mean something."""
        if isinstance(self.options, OwnOptions):
            return self.options.layout.kind == "table"
        source = benchmark(self.options)
        return isinstance(source, Sites) and source.kind == "table"

    @property
    def what(self) -> dict[str, object]:
        """Everything that decides the result; names don't."""
        named = {"benchmark": self.options.benchmark}
        options = named | self.options.decides()
        return {"benchmark": options, "entry": self.entry.decides(), "seed": self.seed}

    @property
    def key(self) -> str:
        return hashlib.sha256(json.dumps(self.what, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def stem(self) -> str:
        """Its place in a store."""
        return f"{self.options.benchmark}/{self.entry.slug}-seed-{self.seed}-{self.key}"


def check_clients(names: Iterable[str]) -> None:
    """Refuse clients that are called as something that travels."""
    if taken := [name for name in names if name in RESERVED]:
        raise UserError(f"No client can be called {taken[0]!r}: that is what a shared part is called.")

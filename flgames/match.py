"""A match: one entry, played on one benchmark, or on own data, with one seed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Self

from flgames.data.benchmark import Benchmark
from flgames.data.catalogue import BenchmarkOptions, benchmark
from flgames.data.own.source import OwnData, OwnOptions
from flgames.entry import Entry


@dataclass(frozen=True)
class Match:
    """One entry, played on one benchmark, or on own data, with one seed."""

    options: BenchmarkOptions | OwnOptions
    entry: Entry
    seed: int

    @property
    def source(self) -> Benchmark | OwnData:
        """The data as the entry sees them."""
        return self.entry.source(self.options)

    @property
    def what(self) -> dict[str, Any]:
        """Everything that decides the result; names don't."""
        named = {"benchmark": self.options.benchmark}
        options = named | self.options.model_dump(mode="json", exclude_defaults=True)
        return {"benchmark": options, "entry": self.entry.decides(), "seed": self.seed}

    @property
    def players(self) -> tuple[str, ...]:
        """Who trains, where clients are apart."""
        options = self.options
        return options.players if isinstance(options, OwnOptions) else tuple(benchmark(options).flips)

    @property
    def key(self) -> str:
        return hashlib.sha256(json.dumps(self.what, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def stem(self) -> str:
        return f"{self.options.benchmark}/{self.entry.slug}-seed-{self.seed}-{self.key}"

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values, for other processes."""
        return {"options": self.options.model_dump(mode="json"), "entry": self.entry.model_dump(), "seed": self.seed}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        kind = OwnOptions if "layout" in values["options"] else BenchmarkOptions
        return cls(kind.model_validate(values["options"]), Entry.model_validate(values["entry"]), int(values["seed"]))

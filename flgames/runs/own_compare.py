"""Every entry on data of one's own, each client held out in turn; what has been played before is in the store."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flgames.data.own.digest import digest_of
from flgames.data.own.files import likely_kind
from flgames.data.own.roles import Kind
from flgames.data.own.source import OwnOptions, surveys_of
from flgames.data.own.survey import Survey
from flgames.errors import UserError
from flgames.runs.baselines import ALL, ON_IMAGES, ON_OWN_DATA, UNDECLARED
from flgames.runs.command import compare_command
from flgames.runs.compare import called, in_turns, spelled
from flgames.runs.entries import ours, own_baseline, perceptrons
from flgames.runs.entry import Entry
from flgames.runs.match import Match, check_clients
from flgames.runs.names import FL_GAMES, PERCEPTRONS
from flgames.runs.resolve import resolve
from flgames.runs.settings import Settings

LEAST = 3
"""Clients: two play, and one is held out."""

DEFAULT_SEEDS = range(1)

MOST_BYTES = 150
"""Of a file's name; a longer one is cut, and told from others by a digest."""


def own_names(kind: Kind) -> tuple[str, ...]:
    """The names that are compared on data of one's own, of which nobody knows what is a shortcut."""
    return (*ON_IMAGES, FL_GAMES) if kind == "images" else (*ON_OWN_DATA, *UNDECLARED, PERCEPTRONS, FL_GAMES)


def own_entry(name: str, told: Mapping[str, object], kind: Kind) -> Entry:
    """The entry of this name on data that settings tell of. All of them hold back the same share of the samples."""
    settings = resolve(told)
    if name in ALL:
        return own_baseline(name, kind, settings.validation)
    if name == PERCEPTRONS and kind == "table":
        return perceptrons(own_baseline("fedavg", kind, settings.validation))
    return ours(name, {**told, "validation": settings.validation}, kind, Path(str(settings.data)).name)


@dataclass(frozen=True)
class OwnComparison:
    """Which entries meet on whose data, and with which seeds."""

    told: Mapping[str, object]
    """The settings that describe the data."""
    entries: tuple[Entry, ...]
    seeds: range
    surveys: Mapping[str, Survey]
    digest: str
    """Of the data: those that were changed are played on again."""

    @classmethod
    def of(cls, told: Mapping[str, object], methods: tuple[str, ...], seeds: range) -> OwnComparison:
        """Methods, or else those that suit the data, on data that are read here; or one sentence on what is wrong."""
        settings = resolve(told)
        kind = likely_kind(Path(str(settings.data)), settings.roles)
        entries = tuple(own_entry(name, told, kind) for name in methods or own_names(kind))
        digest = digest_of(str(settings.data), settings.roles)
        comparison = cls(told, entries, seeds, surveys_of(str(settings.data), settings.roles), digest)
        comparison.holdouts()
        return comparison

    @property
    def settings(self) -> Settings:
        return resolve(self.told)

    @property
    def name(self) -> str:
        """What the data are called."""
        return Path(str(self.settings.data)).name

    @property
    def clients(self) -> tuple[str, ...]:
        """Who is held out in turn."""
        return tuple(self.surveys)

    def holdouts(self) -> list[OwnOptions]:
        """The data, with each client held out in turn."""
        if len(self.clients) < LEAST:
            raise UserError(
                f"Each client is held out in turn while two others play, at least, and {self.name} has "
                f"{len(self.clients)} in all."
            )
        check_clients(self.clients)
        settings = self.settings
        data, roles, side = str(settings.data), settings.roles, settings.source.side
        made = (OwnOptions.of(data, roles, side, (client,), self.surveys) for client in self.clients)
        return [options.model_copy(update={"digest": self.digest}) for options in made]

    def by_entry(self) -> list[tuple[Entry, list[Match]]]:
        """Every entry and its matches: seed by seed, each client in turn."""
        holdouts = self.holdouts()
        cases = [(options, seed) for seed in self.seeds for options in holdouts]
        return [
            (each, [Match(options=options, entry=each, seed=seed) for options, seed in cases]) for each in self.entries
        ]

    def matches(self) -> list[Match]:
        """All of them, in playing order."""
        return in_turns(self.by_entry())

    @property
    def command(self) -> str:
        """What is typed to have it."""
        methods = tuple(each.slug for each in self.entries)
        named = {} if methods == own_names(self.holdouts()[0].layout.kind) else {"methods": methods}
        first = {"seed": self.seeds.start} if self.seeds.start else {}
        return compare_command([], {**self.told, **named, "seeds": len(self.seeds), **first})

    @property
    def label(self) -> str:
        """A name for its files: that of the data, what was said of them, and whatever is not as it is by default."""
        words = [self.name, *spelled({name: value for name, value in self.told.items() if name != "data"})]
        methods = tuple(each.slug for each in self.entries)
        if methods != own_names(self.holdouts()[0].layout.kind):
            words += called(methods)
        if self.seeds != DEFAULT_SEEDS:
            words.append(f"seeds-{self.seeds.start}-to-{self.seeds.stop - 1}")
        return _for_a_file("-".join(words))


def _for_a_file(label: str) -> str:
    """Columns may be called anything: their letters, as long as a name may be."""
    plain = re.sub(r"[^\w.-]+", "-", label)
    if len(plain.encode()) <= MOST_BYTES:
        return plain
    return f"{plain.encode()[:MOST_BYTES].decode(errors='ignore')}-{hashlib.sha256(label.encode()).hexdigest()[:8]}"

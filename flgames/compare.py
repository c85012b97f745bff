"""Every entry with every seed on the same clients; what has been played before is taken from the store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flgames.contest import Stage
from flgames.data.catalogue import BenchmarkOptions
from flgames.lineup import entry
from flgames.store import Match, Store


@dataclass(frozen=True)
class Comparison:
    """Which entries meet, where, and with which seeds."""

    options: BenchmarkOptions
    methods: tuple[str, ...]
    seeds: range

    def matches(self) -> list[Match]:
        """All of them, in playing order: every method has played a seed before the next one begins."""
        entries = [entry(name, self.options) for name in self.methods]
        return [Match(self.options, each, seed) for seed in self.seeds for each in entries]


def play_all(matches: Iterable[Match], store: Store, stage: Stage) -> None:
    """Play those matches that the store does not have."""
    for match in matches:
        if store.find(match) is None:
            folder = store.folder(match)
            if folder.result is None:
                stage.play(folder, match.entry, match.entry.benchmark(match.options), match.seed)
            store.keep(match)

"""Every entry with every seed on the same clients; what has been played before is taken from the store."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import fmean

from flgames.contest import Stage
from flgames.data.catalogue import BenchmarkOptions
from flgames.data.clients import input_shape
from flgames.entry import Entry
from flgames.errors import Diverged
from flgames.lineup import entry
from flgames.rules import batches_in
from flgames.store import Match, Store


@dataclass(frozen=True)
class Comparison:
    """Which entries meet, where, and with which seeds."""

    options: BenchmarkOptions
    methods: tuple[str, ...]
    seeds: range

    def by_entry(self) -> list[tuple[Entry, list[Match]]]:
        """Every entry and its matches."""
        entries = [entry(name, self.options) for name in self.methods]
        return [(each, [Match(self.options, each, seed) for seed in self.seeds]) for each in entries]

    def matches(self) -> list[Match]:
        """All of them, in playing order: every method has played a seed before the next one begins."""
        return [match for seed in zip(*(matches for _, matches in self.by_entry()), strict=True) for match in seed]

    @property
    def label(self) -> str:
        """A name for its files: the benchmark, and the options that are not its defaults."""
        changed = self.options.model_dump(exclude_defaults=True, exclude={"benchmark"})
        words = (
            (name, *map(str, value)) if isinstance(value, tuple) else (name, str(value))
            for name, value in changed.items()
        )
        return "-".join([self.options.benchmark, *("-".join(each) for each in words)])


def play_all(
    matches: Iterable[Match], store: Store, stage: Stage, on_end: Callable[[Match], None] = lambda _: None
) -> None:
    """Play those matches that the store does not have."""
    for match in matches:
        if store.find(match) is None:
            folder = store.folder(match)
            if folder.result is None:
                try:
                    stage.play(folder, match.entry, match.entry.benchmark(match.options), match.seed)
                except Diverged as error:
                    raise Diverged(f"{match.entry.title}, seed {match.seed}: {error}") from None
            store.keep(match)
            on_end(match)


USUAL_GAME = 200
"""Rounds after which a game that has a rule is guessed to stop."""

MACHINE = 5e10
"""Multiplications a second of a small machine. A wrong guess is corrected as the work goes on."""


def expected_seconds(match: Match, seeds: Iterable[Match], store: Store) -> float:
    """How long a match will take: as long as other seeds of it took, or a guess from its matrix products."""
    known = [result["seconds"] for result in map(store.find, seeds) if result]
    return fmean(known) if known else guessed_seconds(match.entry, match.options, match.seed)


def guessed_seconds(entry: Entry, options: BenchmarkOptions, seed: int) -> float:
    clients = entry.benchmark(options).training_clients(seed)
    rules, network = entry.rules, entry.network
    weights = network.width * (math.prod(input_shape(clients)) + network.width)
    samples = 0
    for client in clients.values():
        share = rules.get("batches", rules.get("local_steps", 1))
        samples += min(batches_in(share, len(client), rules["batch_size"]) * rules["batch_size"], len(client))
    rounds = min(entry.rounds, USUAL_GAME) if entry.stop_below else entry.rounds
    return rounds * (3 * samples + entry.measure_samples) * weights / MACHINE

"""Every entry with every seed on the same clients; what has been played before is taken from the store."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import fmean

from flgames.contest import Stage
from flgames.data.catalogue import BenchmarkOptions
from flgames.data.clients import input_shape
from flgames.entry import Clients, Entry
from flgames.errors import Diverged
from flgames.lineup import default_lineup, entry
from flgames.rules import batches_in
from flgames.store import Match, Store

DEFAULT_SEEDS = range(5)

MOST_NAMED = 3
"""Methods that a file is named by; of more, their number."""


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
        """A name for its files: the benchmark, and whatever is not as it is by default."""
        changed = self.options.model_dump(exclude_defaults=True, exclude={"benchmark"})
        words = [self.options.benchmark]
        for name, value in changed.items():
            words += [name, *map(str, value)] if isinstance(value, tuple) else [name, str(value)]
        if self.methods != default_lineup(self.options):
            words += self.methods if len(self.methods) <= MOST_NAMED else [f"{len(self.methods)}-methods"]
        if self.seeds != DEFAULT_SEEDS:
            words.append(f"seeds-{self.seeds.start}-to-{self.seeds.stop - 1}")
        return "-".join(words)


def play_all(
    matches: Iterable[Match], store: Store, stage: Stage, on_end: Callable[[Match], None] = lambda _: None
) -> None:
    """Play those matches that the store does not have. One that diverges is reported when all others have ended."""
    diverged = []
    for match in matches:
        if store.find(match) is None:
            folder = store.folder(match)
            if folder.result is None:
                try:
                    stage.play(folder, match.entry, match.entry.benchmark(match.options), match.seed)
                except Diverged as error:
                    diverged.append(f"{match.entry.title}, seed {match.seed}: {error}")
                    continue
            store.keep(match)
            on_end(match)
    if diverged:
        raise Diverged(" ".join(diverged) + " All others have been played: leave it out of --methods.")


USUAL_GAME = 200
"""Rounds after which a game that has a rule is guessed to stop."""

MACHINE = 5e10
"""Multiplications a second of a small machine. A wrong guess is corrected as the work goes on."""


def usual_rounds(entry: Entry) -> int:
    """After how many rounds an entry ends, as far as one can tell."""
    return min(entry.rounds, USUAL_GAME) if entry.stop_below else entry.rounds


def expected_seconds(entry: Entry, matches: Iterable[Match], store: Store, clients: Clients) -> float:
    """How long a match of this entry takes: as long as others did, or a guess from its matrix products."""
    known = [result["seconds"] for result in map(store.find, matches) if result]
    return fmean(known) if known else guessed_seconds(entry, clients)


def guessed_seconds(entry: Entry, clients: Clients) -> float:
    """From the matrix products of its rounds. ``clients`` are the benchmark's, whatever the entry makes of them."""
    rules, width = entry.rules, entry.network.width
    *channels, height, breadth = input_shape(clients)
    pixels = entry.side**2 if entry.side else height * breadth
    samples = entry.measure_samples / 3
    for client in clients.values():
        batches = batches_in(rules.get("batches", rules.get("local_steps", 1)), len(client), rules["batch_size"])
        samples += min(batches * rules["batch_size"], len(client))
    return 3 * usual_rounds(entry) * samples * width * (math.prod(channels) * pixels + width) / MACHINE

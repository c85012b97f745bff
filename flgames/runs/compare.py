"""Every entry with every seed on the same clients; what has been played before is taken from the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import benchmark
from flgames.data.benchmarks.sites import Sites
from flgames.errors import Diverged, UserError
from flgames.runs.command import compare_command
from flgames.runs.entries import default_names, entry
from flgames.runs.entry import Entry
from flgames.runs.match import Match
from flgames.runs.runner import Runner
from flgames.runs.store import Store

DEFAULT_SEEDS = range(5)

MOST_NAMED = 3
"""Methods that a file is named by; of more, their number."""


@dataclass(frozen=True)
class Comparison:
    """Which entries meet, where, and with which seeds."""

    options: BenchmarkOptions
    methods: tuple[str, ...]
    seeds: range
    states: int | None = None
    """So many training sites are drawn with every seed, of real sites."""

    def cases(self) -> list[tuple[BenchmarkOptions, int]]:
        """On what clients, and with which seed. Of real sites every seed has its own draw, if sites are drawn at all;
        or else every site is unseen in turn."""
        return [(options, seed) for seed in self.seeds for options in drawn(self.options, seed, self.states)]

    def by_entry(self) -> list[tuple[Entry, list[Match]]]:
        """Every entry and its matches."""
        entries = [entry(name, self.options) for name in self.methods]
        return [
            (each, [Match(options=options, entry=each, seed=seed) for options, seed in self.cases()])
            for each in entries
        ]

    def check(self) -> None:
        """Refuse what can't be played before anything is fetched or made."""
        for match in self.matches():
            assert isinstance(match.options, BenchmarkOptions)
            source = match.entry.benchmark(match.options)
            if isinstance(source, Sites) and not source.unseen:
                raise UserError(f"{source.title}: all sites train, and nobody is left to compare at: train on fewer.")

    def matches(self) -> list[Match]:
        """All of them, in playing order: every method has played a seed before the next one begins."""
        return in_turns(self.by_entry())

    @property
    def command(self) -> str:
        """What is typed to have it."""
        given = self.options.model_dump(exclude_defaults=True, exclude={"benchmark"})
        seeds = {"seeds": len(self.seeds)} if self.states is None else {"draws": len(self.seeds), "states": self.states}
        first = {"seed": self.seeds.start} if self.seeds.start else {}
        methods = {} if self.methods == default_names(self.options) else {"methods": self.methods}
        return compare_command([self.options.benchmark], given | methods | seeds | first)

    @property
    def label(self) -> str:
        """A name for its files: the benchmark, and whatever is not as it is by default."""
        words = [self.options.benchmark]
        words += spelled(self.options.model_dump(exclude_defaults=True, exclude={"benchmark"}))
        if self.methods != default_names(self.options):
            words += called(self.methods)
        if self.states is not None:
            first = f"-from-{self.seeds.start}" if self.seeds.start else ""
            words.append(f"{len(self.seeds)}-draws-of-{self.states}{first}")
        elif self.seeds != DEFAULT_SEEDS:
            words.append(f"seeds-{self.seeds.start}-to-{self.seeds.stop - 1}")
        return "-".join(words)


def in_turns(by_entry: Iterable[tuple[Entry, Sequence[Match]]]) -> list[Match]:
    """The matches of all entries: every entry has played a case before the next one begins."""
    return [match for case in zip(*(matches for _, matches in by_entry), strict=True) for match in case]


def spelled(options: Mapping[str, object]) -> list[str]:
    """Options in the words that a file is named by."""
    return [
        word
        for name, value in options.items()
        for word in ([name, *map(str, value)] if isinstance(value, list | tuple) else [name, str(value)])
    ]


def called(methods: Sequence[str]) -> list[str]:
    """Methods in the words that a file is named by."""
    return list(methods) if len(methods) <= MOST_NAMED else [f"{len(methods)}-methods"]


def drawn(options: BenchmarkOptions, seed: int, states: int | None = None) -> list[BenchmarkOptions]:
    """The clients of one seed: those of a planted benchmark, or training sites that were named, are always the same."""
    source = benchmark(options)
    if states is not None:
        return [options.model_copy(update={"draw": seed, "states": states})]
    if not isinstance(source, Sites) or options.train is not None or options.draw is not None:
        return [options]
    everyone = (*source.players, *source.unseen)
    return [
        options.model_copy(update={"train": tuple(name for name in everyone if name != unseen)}) for unseen in everyone
    ]


def play_all(
    matches: Iterable[Match],
    store: Store,
    runner: Callable[[Match], Runner],
    on_end: Callable[[Match], None] = lambda _: None,
) -> None:
    """Play matches to their ends. One that diverges is reported when all others have ended."""
    diverged = []
    for match in matches:
        folder = store.folder(match)
        if not folder.has_ended:
            try:
                runner(match).play(folder, match)
            except Diverged as error:
                diverged.append(f"{match.stem}: {error}")
                continue
        if store.find(match) is None:
            store.keep(match)
        on_end(match)
    if diverged:
        raise Diverged(" ".join(diverged) + " All others have been played.")

"""What a page needs of run folders, as plain values. What is missing in a folder is missing here, and nothing fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from flgames.core.records import RoundRecord
from flgames.data.benchmarks.benchmark import Benchmark
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import benchmark
from flgames.errors import UserError
from flgames.runs.entry import Entry
from flgames.runs.folder import GameFolder, RunFolder
from flgames.runs.match import Match
from flgames.runs.result import ProbeRecord, Result


@dataclass(frozen=True)
class Game:
    """One method with one seed: as far as it has been played."""

    match: Match
    folder: GameFolder
    result: Result | None
    rounds: Sequence[RoundRecord]
    probes: Sequence[ProbeRecord]

    @classmethod
    def of(cls, match: Match, folder: GameFolder) -> Game:
        result = folder.result() if folder.has_ended else None
        return cls(match, folder, result, folder.measures(), folder.probes())


@dataclass(frozen=True)
class Played:
    """A method of a run on one source, with all its seeds."""

    title: str
    entry: Entry
    games: Sequence[Game]
    run: RunFolder

    @property
    def results(self) -> list[Result]:
        """Of games that have ended."""
        return [game.result for game in self.games if game.result]

    @property
    def has_begun(self) -> bool:
        return any(game.rounds for game in self.games)


@dataclass(frozen=True)
class Source:
    """Whose data were played on, and who was held out."""

    match: Match
    """The first of its matches."""
    methods: list[Played] = field(default_factory=list)
    apart: str = ""
    """What tells its sections from those of other sources."""

    @cached_property
    def planted(self) -> Benchmark | None:
        """The benchmark, if its shortcut is known."""
        if not isinstance(self.match.options, BenchmarkOptions):
            return None
        source = benchmark(self.match.options)
        return source if isinstance(source, Benchmark) else None

    @property
    def ended(self) -> list[Played]:
        """Methods of which a game has ended."""
        return [method for method in self.methods if method.results]


@dataclass(frozen=True)
class Gathered:
    """All that run folders hold."""

    runs: Sequence[RunFolder]
    sources: Sequence[Source]
    damages: Sequence[str]
    """What could not be read, in sentences."""

    @property
    def games(self) -> list[Game]:
        return [game for source in self.sources for method in source.methods for game in method.games]

    @property
    def is_under_way(self) -> bool:
        return not self.games or any(game.result is None for game in self.games)


def gather(runs: Sequence[RunFolder]) -> Gathered:
    """Everything of these runs. Of several, a method is called by its run too."""
    sources: dict[str, Source] = {}
    damages: list[str] = []
    names = names_of([run.path for run in runs])
    for run in runs:
        methods: dict[tuple[str, str], list[Game]] = {}
        matches: dict[str, Match] = {}
        try:
            planned = run.games() if run.is_planned else []
        except UserError as error:
            damages.append(str(error))
            continue
        for match, folder in planned:
            try:
                game = Game.of(match, folder)
            except UserError as error:
                damages.append(str(error))
                continue
            key = match.options.model_dump_json()
            matches.setdefault(key, match)
            methods.setdefault((key, match.entry.slug), []).append(game)
        for (key, _), games in methods.items():
            source = sources.setdefault(key, Source(matches[key]))
            entry = games[0].match.entry
            title = f"{entry.title} ({names[run.path]})" if len(runs) > 1 else entry.title
            source.methods.append(Played(title, entry, games, run))
    if len(sources) > 1:
        sources = {
            key: replace(each, apart=f": {each.match.holdout or each.match.title}") for key, each in sources.items()
        }
    return Gathered(runs, list(sources.values()), damages)


def names_of(paths: Sequence[Path]) -> dict[Path, str]:
    """What folders are called, by as much of their paths as tells them apart."""
    for parts in range(1, max(len(path.resolve().parts) for path in paths) + 1):
        named = {path: str(Path(*path.resolve().parts[-parts:])) for path in paths}
        if len(set(named.values())) == len(set(paths)):
            return named
    return {path: str(path) for path in paths}

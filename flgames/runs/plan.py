"""The plan of a run: its matches, with everything that decides them. It is made once and stored as plan.json.

A later version may have other presets, networks or defaults; a run that was planned before means what it meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import benchmark
from flgames.data.benchmarks.sites import Sites
from flgames.data.own.files import likely_kind
from flgames.data.own.roles import Kind
from flgames.data.own.source import OwnOptions
from flgames.data.own.survey import Survey, class_counts
from flgames.models.class_weights import balanced_weights
from flgames.runs.entries import entries, kind_of
from flgames.runs.entry import Entry
from flgames.runs.match import Match, check_clients
from flgames.runs.own_settings import REST
from flgames.runs.settings import Settings

FORMAT = 1


class Plan(BaseModel):
    """The matches of a run, in playing order: every method has played a seed before the next one begins."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = FORMAT
    matches: tuple[Match, ...]

    @property
    def entries(self) -> list[Entry]:
        """Every entry once."""
        return list({match.entry.slug: match.entry for match in self.matches}.values())

    @property
    def holdouts(self) -> list[str | None]:
        """Whom of own data nobody trains on, one after the other."""
        return list(dict.fromkeys(match.holdout for match in self.matches))

    def folder(self, match: Match) -> Path:
        """Where a match is played, inside the run folder: by client, where each is held out in turn."""
        apart = Path(str(match.holdout)) if len(self.holdouts) > 1 else Path()
        return apart / match.entry.slug / f"seed-{match.seed}"


def make_plan(settings: Settings, surveys: Mapping[str, Survey] | None = None) -> Plan:
    """What follows from settings. On own data it takes the clients' surveys to know."""
    capped = {"share_cap": settings.share_cap}
    weighs = settings.class_weight == "balanced"
    return Plan(
        matches=tuple(
            Match(options=options, entry=entry.model_copy(update=weighted | capped), seed=seed)
            for options, kind in _sources(settings, surveys)
            for seed in settings.all_seeds
            for weighted in [{"class_weight": _balanced(options, seed, surveys)} if weighs else {}]
            for entry in entries(settings, kind)
        )
    )


def _balanced(
    options: BenchmarkOptions | OwnOptions, seed: int, surveys: Mapping[str, Survey] | None
) -> tuple[float, ...]:
    """What classes count for so that they count alike at all training clients together."""
    if isinstance(options, OwnOptions):
        assert surveys is not None
        told = [surveys[name] for name in options.players]
        return balanced_weights(class_counts(told, options.layout.classes))
    source = benchmark(options)
    assert isinstance(source, Sites)  # settings of planted ones are refused
    return balanced_weights(source.class_counts(seed))


def likely_entries(settings: Settings) -> list[Entry]:
    """The entries of a run before anything is read: of what kind own data are is guessed from their files."""
    kind: Kind = likely_kind(Path(settings.data), settings.roles) if settings.data else kind_of(settings.source)
    return entries(settings, kind)


def _sources(
    settings: Settings, surveys: Mapping[str, Survey] | None
) -> Iterator[tuple[BenchmarkOptions | OwnOptions, Kind]]:
    if settings.data is None:
        yield settings.source, kind_of(settings.source)
        return
    assert surveys is not None
    train = settings.source.train
    holdouts = [(name,) for name in surveys] if settings.holds_out_each else [settings.holdout]
    if settings.holdout == (REST,):
        holdouts = [tuple(name for name in surveys if name not in (train or ()))]
    check_clients(surveys)
    for holdout in holdouts:
        options = OwnOptions.of(settings.data, settings.roles, settings.source.side, holdout, surveys, train)
        yield options, options.layout.kind

"""Who plays: entries by name, and those of a run."""

from __future__ import annotations

from flgames import presets
from flgames.baselines import ALL as BASELINES
from flgames.baselines import PUBLISHED, PUBLISHED_FOR, baseline
from flgames.data.catalogue import BenchmarkOptions
from flgames.entry import Entry
from flgames.errors import unknown
from flgames.match import Match
from flgames.models import Network
from flgames.rules import Rules
from flgames.settings import Settings, resolve

SCHEDULES = {"sequential": "clockwise", "parallel": "simultaneous"}
"""As the paper's tables call them."""

GAMES = {
    f"{called}-{variant}": (schedule, variant) for variant in presets.VARIANTS for called, schedule in SCHEDULES.items()
}
"""Every variant of FL Games by the name of its row."""

NAMES = (*BASELINES, *GAMES)

DEFAULT = (*BASELINES, *(name for name, (_, variant) in GAMES.items() if variant.startswith("f-")))
"""What is compared unless others are asked for. The variants that learn phi take minutes to hours each."""


def default_lineup(options: BenchmarkOptions) -> tuple[str, ...]:
    """The names that are compared on a benchmark; authors published values for one of them only."""
    return tuple(name for name in DEFAULT if name not in PUBLISHED or options == PUBLISHED_FOR)


def is_declared(entry_: Entry, options: BenchmarkOptions) -> bool:
    """Whether an entry is as it is declared for a benchmark, under whatever name."""
    names = (name for name in NAMES if name not in PUBLISHED)
    return any(entry(name, options).decides() == entry_.decides() for name in names)


def entry(name: str, options: BenchmarkOptions) -> Entry:
    """The entry of this name, as it is set up for a benchmark."""
    options = _alone(options)
    if name in BASELINES:
        return baseline(name, options)
    if name not in GAMES:
        raise unknown("method", name, NAMES)
    schedule, variant = GAMES[name]
    chosen = options.model_dump() | {"schedule": schedule, "variant": variant}
    return game(resolve(chosen)).model_copy(update={"slug": name})


def game(settings: Settings) -> Entry:
    """The game that settings describe."""
    return Entry(
        slug=settings.name,
        title=settings.title,
        method="fl-games",
        rules=settings.model_dump(include=set(Rules.model_fields)),
        network=Network(variable=settings.representation == "variable", initialisation=settings.initialisation),
        rounds=settings.rounds,
        stop_below=None if settings.stop_below == "never" else settings.stop_below,
        stop_spread=settings.stop_spread,
        stop_bias=settings.stop_bias,
        warm_start=settings.warm_start,
        least_warm_start=presets.LEAST_WARM_START.get(settings.benchmark, 0),
        measure_samples=settings.measure_samples,
    )


def entries(settings: Settings) -> list[Entry]:
    """The entries of a run, in playing order."""
    own = game(settings)
    if settings.against == "none":
        return [own]
    other = entry(settings.against, settings)
    return [other.model_copy(update={"rounds": settings.against_rounds or other.rounds}), own]


def matches(settings: Settings) -> list[Match]:
    """The matches of a run, in playing order: every method has played a seed before the next one begins."""
    options = _alone(settings)
    return [Match(options, entry_, seed) for seed in settings.all_seeds for entry_ in entries(settings)]


def _alone(options: BenchmarkOptions) -> BenchmarkOptions:
    """A benchmark's options without the settings of a run that may come with them."""
    return BenchmarkOptions(**options.model_dump(include=set(BenchmarkOptions.model_fields)))

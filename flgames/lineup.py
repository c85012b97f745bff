"""Who plays: entries by name, and those of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from flgames import presets
from flgames.baselines import ALL as BASELINES
from flgames.baselines import PUBLISHED, PUBLISHED_FOR, baseline, baseline_on_own_data
from flgames.convolutions import ConvNetwork
from flgames.data.catalogue import BenchmarkOptions
from flgames.data.own.files import likely_kind
from flgames.data.own.layout import Kind, Survey
from flgames.data.own.source import OwnOptions
from flgames.entry import Entry
from flgames.errors import UserError, unknown
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


def game(settings: Settings, kind: Kind | None = None) -> Entry:
    """The game that settings describe; images of one's own get a convolutional network."""
    kind = kind or _likely_kind(settings)
    variable = settings.representation == "variable"
    mlp = Network(variable=variable, initialisation=settings.initialisation)
    phi_rounds = settings.phi_rounds
    if phi_rounds is None:
        phi_rounds = presets.PHI_ROUNDS if kind == "images" else 0
    if phi_rounds and not variable and kind != "images":
        raise UserError("--phi-rounds train a phi, and here phi is the identity: choose a v-fl-games variant.")
    return Entry(
        slug=settings.name,
        title=settings.title,
        method="fl-games",
        rules=settings.model_dump(include=set(Rules.model_fields)),
        network=ConvNetwork() if kind == "images" else mlp,
        rounds=settings.rounds,
        stop_below=None if settings.stop_below == "never" else settings.stop_below,
        stop_spread=settings.stop_spread,
        stop_bias=settings.stop_bias,
        patience=settings.patience,
        spread_penalty=settings.spread_penalty,
        bias_penalty=settings.bias_penalty,
        warm_start=settings.warm_start,
        least_warm_start=presets.LEAST_WARM_START.get(settings.benchmark, 0),
        phi_rounds=phi_rounds,
        measure_samples=settings.measure_samples,
    )


def before(entry_: Entry) -> Entry:
    """What is played before a game begins, to train its phi: FedAvg, on the same network."""
    declared = baseline_on_own_data("fedavg", "images")
    what = {"slug": "phi", "title": "FedAvg, for phi", "network": entry_.network, "rounds": entry_.phi_rounds}
    return declared.model_copy(update=what)


def entries(settings: Settings, kind: Kind | None = None) -> list[Entry]:
    """The entries of a run, in playing order; of what kind own data are is guessed where it is not known yet."""
    kind = kind or _likely_kind(settings)
    own = game(settings, kind)
    if settings.against == "none":
        return [own]
    other = baseline_on_own_data(settings.against, kind) if settings.data else entry(settings.against, settings)
    return [other.model_copy(update={"rounds": settings.against_rounds or other.rounds}), own]


def matches(settings: Settings, surveys: Mapping[str, Survey] | None = None) -> list[Match]:
    """The matches of a run, in playing order: every method has played a seed before the next one begins.

    On own data it takes the clients' surveys to know them.
    """
    return [
        Match(options, entry_, seed)
        for options, kind in _sources(settings, surveys)
        for seed in settings.all_seeds
        for entry_ in entries(settings, kind)
    ]


def _likely_kind(settings: Settings) -> Kind:
    return likely_kind(Path(settings.data), settings.target) if settings.data else "table"


EACH = "each"
"""Hold out every client in turn."""


def _sources(
    settings: Settings, surveys: Mapping[str, Survey] | None
) -> Iterator[tuple[BenchmarkOptions | OwnOptions, Kind]]:
    if settings.data is None:
        yield _alone(settings), "table"
        return
    assert surveys is not None
    for holdout in surveys if settings.holdout == EACH else [settings.holdout]:
        options = OwnOptions.of(settings.data, settings.target, settings.side, holdout, surveys)
        yield options, options.layout.kind


def _alone(options: BenchmarkOptions) -> BenchmarkOptions:
    """A benchmark's options without the settings of a run that may come with them."""
    return BenchmarkOptions(**options.model_dump(include=set(BenchmarkOptions.model_fields)))

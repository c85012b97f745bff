"""Entries by name: every baseline with its declared values, and every variant of FL Games."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from flgames.core.knobs import Plain
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import NAMES as BENCHMARKS
from flgames.data.benchmarks.registry import find
from flgames.data.own import OWN_DATA
from flgames.data.own.survey import Kind
from flgames.errors import UserError, unknown
from flgames.methods.fedavg import FedAvgConfig
from flgames.methods.registry import find as find_method
from flgames.models.networks import CNN, MLP, Linear
from flgames.runs import presets
from flgames.runs.baselines import (
    ALL,
    BASELINES,
    CHOSEN,
    GRIDS,
    LOCAL_STEPS,
    MEASURED,
    ON_OWN_DATA,
    PUBLISHED,
    PUBLISHED_FOR,
    SEARCHED,
    STEPS,
    UNDECLARED,
    UNSEARCHED,
)
from flgames.runs.entry import Entry
from flgames.runs.names import DEFAULT, GAMES, NAMES
from flgames.runs.settings import Settings, resolve


def default_names(options: BenchmarkOptions) -> tuple[str, ...]:
    """The names that are compared on a benchmark; authors published values for one of them only."""
    return tuple(name for name in DEFAULT if name not in PUBLISHED or options == PUBLISHED_FOR)


def is_declared(entry_: Entry, options: BenchmarkOptions) -> bool:
    """Whether an entry is as it is declared for a benchmark, under whatever name."""
    names = (name for name in NAMES if name not in PUBLISHED)
    return any(entry(name, options).decides() == entry_.decides() for name in names)


def is_searched(options: BenchmarkOptions) -> bool:
    """Whether the baselines' values were chosen on these very clients."""
    return options == BenchmarkOptions(benchmark=options.benchmark) and options.benchmark in SEARCHED


def entry(name: str, options: BenchmarkOptions) -> Entry:
    """The entry of this name, as it is set up for a benchmark."""
    if name in ALL:
        return baseline(name, options)
    if name not in GAMES:
        raise unknown("method", name, NAMES)
    schedule, variant = GAMES[name]
    chosen = options.model_dump() | {"schedule": schedule, "variant": variant}
    return game(resolve(chosen)).model_copy(update={"slug": name})


def baseline(name: str, options: BenchmarkOptions) -> Entry:
    """A baseline with the values that are declared for a benchmark."""
    if options.benchmark not in BENCHMARKS:
        raise unknown("benchmark", options.benchmark, BENCHMARKS)
    if name in PUBLISHED:
        if options != PUBLISHED_FOR:
            raise UserError(f"{name} has its authors' values, which are for {PUBLISHED_FOR.benchmark} as it is.")
        return Entry.model_validate({"slug": name, "measure_samples": MEASURED} | PUBLISHED[name])
    if name not in ALL:
        raise unknown("baseline", name, ALL)
    return _baseline(name, CHOSEN.get(options.benchmark, UNSEARCHED).get(name, {}))


def baseline_on_own_data(name: str, kind: Kind) -> Entry:
    """A baseline on data of one's own, with Colored MNIST's values."""
    if name not in (*ON_OWN_DATA, *UNDECLARED):
        raise unknown("baseline for own data", name, (*ON_OWN_DATA, *UNDECLARED))
    declared = _baseline(name, UNSEARCHED.get(name, {}))
    return declared.model_copy(update={"network": CNN()}) if kind == "images" else declared


def trials(name: str) -> Iterator[Entry]:
    """A baseline with each of the values that the search tries."""
    grid = GRIDS[name]
    for values in itertools.product(*grid.values()):
        yield _baseline(name, dict(zip(grid, values, strict=True)))


def _baseline(name: str, values: Mapping[str, Plain]) -> Entry:
    method = find_method(BASELINES[name]["method"] if name in BASELINES else name)
    declared = BASELINES.get(name, {"title": method.__name__, "method": name})
    averaging = "local_steps" in method.Config.model_fields
    local: Mapping[str, Plain] = {"local_steps": LOCAL_STEPS} if averaging else {}
    config = {**declared.get("config", {}), **local, **values}
    rounds = STEPS // LOCAL_STEPS if averaging else STEPS
    common = {"slug": name, "rounds": rounds, "measure_samples": MEASURED}
    return Entry.model_validate(common | declared | {"config": config})


def game(settings: Settings, kind: Kind = "table") -> Entry:
    """The game that settings describe; images of one's own get a convolutional network."""
    variable = settings.game.representation == "variable"
    phi_rounds = settings.phi_rounds
    if phi_rounds is None:
        phi_rounds = presets.PHI_ROUNDS if kind == "images" else 0
    if phi_rounds and not variable and kind != "images":
        raise UserError("`phi_rounds` train a phi, and here phi is the identity: choose a v-fl-games variant.")
    own = settings.benchmark == OWN_DATA
    return Entry(
        slug=settings.name,
        title=settings.title,
        method="fl-games",
        config=settings.game.model_dump(),
        network=_network(settings, kind),
        rounds=settings.rounds,
        rule=settings.rule,
        warm_start=settings.warm_start,
        least_warm_start=0 if own else find(settings.benchmark).preset.least_warm_start,
        phi_rounds=phi_rounds,
        phi_config=pretraining().model_dump() if phi_rounds else {},
        measure_samples=settings.measure_samples,
    )


def _network(settings: Settings, kind: Kind) -> MLP | CNN | Linear:
    variable = settings.game.representation == "variable"
    if settings.predictor == "linear":
        if variable or kind == "images":
            what = "images are seen through convolutions" if kind == "images" else "a v-fl-games variant learns phi"
            raise UserError(f"`predictor` linear is for players on the inputs themselves, and {what}.")
        return Linear()
    return CNN() if kind == "images" else MLP(variable=variable, initialisation=settings.initialisation)


def pretraining(batch_size: int = 256) -> FedAvgConfig:
    """How phi is trained before a game begins."""
    declared = baseline_on_own_data("fedavg", "images").config
    return FedAvgConfig.model_validate(declared | {"batch_size": batch_size})


def before(entry_: Entry) -> Entry:
    """What is played before a game begins, to train its phi: FedAvg, on the same network."""
    declared = baseline_on_own_data("fedavg", "images")
    what = {"slug": "phi", "title": "FedAvg, for phi", "network": entry_.network, "rounds": entry_.phi_rounds}
    return declared.model_copy(update=what | {"config": entry_.phi_config})


def entries(settings: Settings, kind: Kind = "table") -> list[Entry]:
    """The entries of a run, in playing order, on data of this kind."""
    own = game(settings, kind)
    if settings.against == "none":
        return [own]
    other = (
        baseline_on_own_data(settings.against, kind) if settings.data else baseline(settings.against, settings.source)
    )
    if settings.predictor == "linear" and other.network == MLP():
        other = other.model_copy(update={"network": own.network})  # a comparison on equal terms
    return [other.model_copy(update={"rounds": settings.against_rounds or other.rounds}), own]

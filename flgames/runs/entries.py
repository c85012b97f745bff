"""From names and settings to entries: every method as it is set up for a benchmark, or for data of one's own."""

from __future__ import annotations

from collections.abc import Mapping

from flgames.core.knobs import Plain
from flgames.core.stopping.early_round import EarlyRound
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import NAMES as BENCHMARKS
from flgames.data.benchmarks.registry import benchmark, find
from flgames.data.benchmarks.sites import Sites
from flgames.data.own.roles import Kind
from flgames.errors import UserError, unknown
from flgames.methods.fedavg import FedAvgConfig
from flgames.methods.registry import find as find_method
from flgames.models.networks import CNN, MLP, Linear, Network, PooledCNN
from flgames.runs import presets
from flgames.runs.baselines import (
    ALL,
    BASELINES,
    CHOSEN,
    CHOSEN_ON_REAL_DATA,
    EARLY,
    IMAGE_EARLY,
    IMAGE_RATE,
    IMAGE_STEPS,
    LOCAL_STEPS,
    MEASURED,
    ON_IMAGES,
    ON_OWN_DATA,
    ON_REAL_TABLES,
    PLANTED,
    PUBLISHED,
    PUBLISHED_FOR,
    REAL,
    REAL_STEPS,
    SEARCHED,
    STEPS,
    UNDECLARED,
    UNSEARCHED,
)
from flgames.runs.entry import Entry
from flgames.runs.names import (
    BALANCED,
    DEFAULT,
    DEFAULT_ON_REAL_DATA,
    FL_GAMES,
    GAMES,
    LINEAR_GAME,
    NAMES,
    NO_SHORTCUT,
    OURS,
    PERCEPTRONS,
    PLANTED_OURS,
    SETTLED,
    SETTLED_GAME,
    SETTLED_LOCALLY,
)
from flgames.runs.resolve import resolve
from flgames.runs.settings import NONE, Settings

CONVOLVED = {
    "spurious-cifar10": PooledCNN(),
    "colored-dsprites": PooledCNN(channels=(8, 16, 32, 64), group_norm=True),
}
"""Planted benchmarks whose truth the paper's perceptron hardly learns, and what learns it: docs/settling.md."""


def real_kind(options: BenchmarkOptions) -> Kind | None:
    """Of what kind the data of a benchmark are, if they are real; None: a shortcut was planted."""
    source = benchmark(options)
    return source.kind if isinstance(source, Sites) else None


def kind_of(options: BenchmarkOptions) -> Kind:
    """What a network for a benchmark must take: the paper's take images as rows of numbers."""
    return real_kind(options) or "table"


def default_names(options: BenchmarkOptions) -> tuple[str, ...]:
    """The names that are compared on a benchmark; authors published values for one of them only."""
    kind = real_kind(options)
    if kind is None:
        return tuple(name for name in DEFAULT if name not in PUBLISHED or options == PUBLISHED_FOR)
    if kind == "images":
        return (*ON_IMAGES, FL_GAMES)
    source = benchmark(options)
    has_core = isinstance(source, Sites) and bool(source.core_columns)
    return tuple(name for name in DEFAULT_ON_REAL_DATA if has_core or name != "core-only")


def is_declared(entry_: Entry, options: BenchmarkOptions) -> bool:
    """Whether an entry is as it is declared for a benchmark, under whatever name."""
    names = (name for name in (*PLANTED, *GAMES) if name not in PUBLISHED)
    return any(entry(name, options).decides() == entry_.decides() for name in names)


def is_searched(options: BenchmarkOptions) -> bool:
    """Whether the baselines' values were chosen on these very clients."""
    return options == BenchmarkOptions(benchmark=options.benchmark) and options.benchmark in SEARCHED


def entry(name: str, options: BenchmarkOptions) -> Entry:
    """The entry of this name, as it is set up for a benchmark."""
    if name in ALL:
        return baseline(name, options)
    return ours(name, options.model_dump(), real_kind(options), options.benchmark)


def ours(name: str, told: Mapping[str, object], kind: Kind | None, where: str) -> Entry:
    """A game, or what else is ours, on data that settings describe; of no kind: on a planted benchmark."""
    if name not in NAMES:
        raise unknown("method", name, NAMES)
    chosen = dict(told)
    if name in GAMES:
        schedule, variant = GAMES[name]
        chosen |= {"schedule": schedule, "variant": variant} | ({"predictor": "mlp"} if kind == "table" else {})
        chosen |= {"settle": "never"} if kind == "images" else {}
    elif name in PLANTED_OURS and kind is None:
        if name == NO_SHORTCUT:
            return no_shortcut_oracle(resolve(chosen | OURS_BY_KNOBS[SETTLED]))
        chosen |= OURS_BY_KNOBS[name]
    elif name in PLANTED_OURS:
        raise UserError(f"{name} is for planted shortcuts; {where} has real data.")
    elif name == PERCEPTRONS:
        raise UserError(f"{name} is for tables of your own, and not for {where}.")
    elif kind is None:
        raise UserError(f"{name} is for real data; {where} has the paper's: {', '.join(GAMES)}.")
    elif kind == "table":
        chosen |= {"settle": {FL_GAMES: "auto", LINEAR_GAME: "never", SETTLED_GAME: "always"}[name]}
    elif name != FL_GAMES:
        raise UserError(f"{name} is for tables, and {where} has images.")
    named = {"slug": name} | ({"title": OURS[name]} if name in OURS else {})
    return game(resolve(chosen), kind or "table").model_copy(update=named)


OURS_BY_KNOBS: dict[str, dict[str, object]] = {
    SETTLED: {"settle": "auto"},
    SETTLED_LOCALLY: {"settle": "auto", "found_by": "local"},
    BALANCED: {"ensemble": "balanced"},
}


def baseline(name: str, options: BenchmarkOptions) -> Entry:
    """A baseline with the values that are declared for a benchmark."""
    if options.benchmark not in BENCHMARKS:
        raise unknown("benchmark", options.benchmark, BENCHMARKS)
    kind = real_kind(options)
    if kind is not None:
        return real_baseline(name, kind, presets.VALIDATION if kind == "table" else 0.0)
    if name in PUBLISHED:
        if options != PUBLISHED_FOR:
            raise UserError(f"{name} has its authors' values, which are for {PUBLISHED_FOR.benchmark} as it is.")
        return Entry.model_validate({"slug": name, "measure_samples": MEASURED} | PUBLISHED[name])
    if name in REAL and name not in PLANTED:
        raise UserError(f"{name} is for real data, and {options.benchmark} has a planted feature.")
    if name not in PLANTED:
        raise unknown("baseline", name, PLANTED)
    return declared_with(name, CHOSEN.get(options.benchmark, UNSEARCHED).get(name, {}))


def real_baseline(name: str, kind: Kind, validation: float) -> Entry:
    """A baseline on real data: on tables linear, with the values that were chosen on fars; on images with convolutions
    and Colored MNIST's values."""
    allowed = (*ON_IMAGES, *UNDECLARED) if kind == "images" else REAL
    if name not in allowed:
        raise unknown(f"baseline for {'images' if kind == 'images' else 'tables'}", name, allowed)
    chosen = UNSEARCHED.get(name, IMAGE_RATE) if kind == "images" else CHOSEN_ON_REAL_DATA.get(name, {})
    return declared_on_real_data(name, chosen, kind, validation)


def own_baseline(name: str, kind: Kind, validation: float) -> Entry:
    """A baseline on data of one's own, where no columns are declared to be the core."""
    if name not in (*ON_OWN_DATA, *UNDECLARED):
        raise unknown("baseline for own data", name, (*ON_OWN_DATA, *UNDECLARED))
    return real_baseline(name, kind, validation)


def declared_with(name: str, values: Mapping[str, Plain]) -> Entry:
    """A baseline on a planted benchmark with these values. All of them take as many steps."""
    method = find_method(BASELINES[name]["method"] if name in BASELINES else name)
    declared = BASELINES.get(name, {"title": method.__name__, "method": name})
    averaging = "local_steps" in method.Config.model_fields
    local: Mapping[str, Plain] = {"local_steps": LOCAL_STEPS} if averaging else {}
    config = {**declared.get("config", {}), **local, **values}
    rounds = STEPS // LOCAL_STEPS if averaging else STEPS
    common = {"slug": name, "rounds": rounds, "measure_samples": MEASURED}
    return Entry.model_validate(common | declared | {"config": config})


def declared_on_real_data(name: str, values: Mapping[str, Plain], kind: Kind, validation: float) -> Entry:
    """All of them take as many steps at most, and return an early round by one rule on samples that were held back."""
    method = find_method(ON_REAL_TABLES[name]["method"] if name in ON_REAL_TABLES else name)
    declared = ON_REAL_TABLES.get(name, {"title": method.__name__, "method": name})
    averaging = name in ("fedavg", "fedprox", "fedgma", "fedmedian")
    steps = LOCAL_STEPS if averaging else 1
    config = {**declared.get("config", {}), **({"local_steps": steps} if averaging else {}), **values}
    early = (IMAGE_EARLY if kind == "images" else EARLY) // steps
    rule = EarlyRound(early=early) if validation and method.Config.model_fields.get("learning_rate") else None
    on_images: dict[str, object] = {"network": PooledCNN(), "rounds": IMAGE_STEPS // steps}
    on_tables: dict[str, object] = {"network": Linear(), "rounds": REAL_STEPS // steps}
    common = {"slug": name, "rule": rule, "validation": validation} | (on_images if kind == "images" else on_tables)
    return Entry.model_validate(common | declared | {"config": config})


def game(settings: Settings, kind: Kind = "table") -> Entry:
    """The game that settings describe; images of one's own get a convolutional network."""
    variable = settings.game.representation == "variable"
    is_planted = is_planted_images(settings)
    phi_rounds = settings.phi_rounds
    if phi_rounds is None:
        phi_rounds = presets.PHI_ROUNDS if kind == "images" else 0
    if phi_rounds and not variable and kind != "images":
        raise UserError("`phi_rounds` train a phi, and here phi is the identity: choose a v-fl-games variant.")
    network = _network(settings, kind)
    if settings.settles_games:
        return _settled(settings, kind)
    return Entry(
        slug=settings.slug,
        title=settings.title,
        method="fl-games",
        config=settings.game.model_dump(),
        network=network,
        rounds=settings.rounds,
        rule=settings.rule,
        warm_start=settings.warm_start,
        least_warm_start=find(settings.benchmark).preset.least_warm_start if is_planted else 0,
        phi_rounds=phi_rounds,
        phi_config=pretraining().model_dump() if phi_rounds else {},
        measure_samples=settings.measure_samples,
        validation=settings.validation,
    )


def _settled(settings: Settings, kind: Kind) -> Entry:
    """A game that is settled: its players are perceptrons, and the network is the one that is asked for."""
    if settings.phi_rounds:
        raise UserError("`phi_rounds` train a phi for a game, and a settled game trains its network after it.")
    if settings.network == "cnn" and kind == "table" and not is_planted_images(settings):
        raise UserError("`network` cnn is for images, and these are tables.")
    players, name = MLP(initialisation=settings.initialisation), settings.network
    if name is None:
        name = "cnn" if kind == "images" or settings.benchmark in CONVOLVED else "mlp"
    network = CONVOLVED.get(settings.benchmark, PooledCNN()) if name == "cnn" else players
    return Entry(
        slug=settings.slug,
        title=settings.title,
        method="settled",
        config=settings.game.model_dump() | settings.training.model_dump(),
        network=network,
        players=None if network == players else players,
        rounds=settings.rounds,
        rule=settings.rule,
        warm_start=settings.warm_start,
        measure_samples=settings.measure_samples,
        validation=settings.validation,
    )


def is_planted_images(settings: Settings) -> bool:
    """Whether it is played on a planted benchmark, which has images, though perceptrons take them as rows."""
    return settings.data is None and real_kind(settings.source) is None


def no_shortcut_oracle(settings: Settings) -> Entry:
    """The training of a settled game where nothing need be settled: at its clients the feature tells nothing."""
    like, training = game(settings), settings.training
    steps: dict[str, Plain] = {"local_steps": training.train_steps} if training.train_by == "fedavg" else {}
    config = {"learning_rate": training.train_rate, "batch_size": settings.game.batch_size} | steps
    return Entry(
        slug=NO_SHORTCUT,
        title="no-shortcut oracle",
        method=training.train_by,
        config=config,
        network=like.network,
        rounds=like.rounds - training.settle_after,
        rule=like.rule,
        measure_samples=like.measure_samples,
        validation=like.validation,
        feature="random",
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
    declared = declared_with("fedavg", UNSEARCHED["fedavg"]).config
    return FedAvgConfig.model_validate(declared | {"batch_size": batch_size})


def before(entry_: Entry) -> Entry:
    """What is played before a game begins, to train its phi: FedAvg, on the same network and the same samples."""
    declared = declared_with("fedavg", UNSEARCHED["fedavg"])
    what = {"slug": "phi", "title": "FedAvg, for phi", "network": entry_.network, "rounds": entry_.phi_rounds}
    same = {name: getattr(entry_, name) for name in ("validation", "class_weight", "share_cap")}
    return declared.model_copy(update=what | same | {"config": entry_.phi_config})


def entries(settings: Settings, kind: Kind = "table") -> list[Entry]:
    """The entries of a run, in playing order, on data of this kind."""
    own = game(settings, kind)
    names = () if settings.against == (NONE,) else settings.against
    others = [_beside(own, name, settings, kind) for name in names]
    if twice := [each.slug for each in others if each.slug == own.slug]:
        raise UserError(f"`against` {twice[0]}: that is what is played anyhow.")
    if settings.data is not None and isinstance(own.network, Linear) and "fedavg" in names:
        others.append(perceptrons(others[names.index("fedavg")]))
    return [*others, own]


def _beside(own: Entry, name: str, settings: Settings, kind: Kind) -> Entry:
    """A method to compare with, on equal terms."""
    if is_planted_images(settings):
        other = entry(name, settings.source)
    elif settings.data is not None:
        other = own_baseline(name, kind, settings.validation)
    else:
        other = real_baseline(name, kind, settings.validation)
    differ = isinstance(own.network, Linear) != isinstance(other.network, Linear) and other.method != "logistic"
    if name not in PLANTED_OURS and kind == "table" and differ:
        other = _with_network(other, own.network)
    rounds = settings.against_rounds or other.rounds
    if other.method == "settled" and rounds <= int(other.config["settle_after"] or 0):
        raise UserError(f"`against_rounds` {rounds} leave none for training after the game of {name}: give more.")
    return other.model_copy(update={"rounds": rounds})


def perceptrons(other: Entry) -> Entry:
    """FedAvg with the paper's perceptrons: whether linear models are enough for a table."""
    named = {"slug": PERCEPTRONS, "title": "FedAvg, perceptrons"}
    return _with_network(other, MLP()).model_copy(update=named)


def _with_network(other: Entry, network: Network) -> Entry:
    """The same method on another network: perceptrons have Colored MNIST's rate, not that of linear models."""
    rate = UNSEARCHED.get(other.slug, IMAGE_RATE)["learning_rate"]
    slower = {"learning_rate": rate} if isinstance(network, MLP) and "learning_rate" in other.config else {}
    return other.model_copy(update={"network": network, "config": other.config | slower})

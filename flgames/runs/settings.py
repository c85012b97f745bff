"""The settings of a run: presets, then a file, then the command line; validated once, written into every run folder.

A setting is a field, here or in the options, the configuration or the stopping rule that :class:`Settings` contains.
:func:`knobs` names all of them; people write them flat, as on the command line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo

from flgames.core.knobs import PHI, SETTLING, STOP, Plain
from flgames.core.stopping.rule import NEVER, SavedRule, StoppingRule, rule_from, rules
from flgames.data.benchmarks.options import DATA, WHAT, BenchmarkOptions
from flgames.errors import UserError, unknown
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.settled.config import Training
from flgames.models.networks import Initialisation, NetworkName, PredictorName
from flgames.runs import presets
from flgames.runs.baselines import ALL as BASELINES
from flgames.runs.names import BALANCED, PLANTED_OURS, SETTLED, SETTLED_LOCALLY
from flgames.runs.own_settings import Names, OwnSettings

RUN: JsonDict = {"panel": "The run"}
ENGINE: JsonDict = {"panel": "Where the clients are"}

MOST_THREADS = 8
"""More threads than this only get in each other's way on matrices of this size."""

THREADS_VARIABLE, THREADS_ALLOWED = "OMP_NUM_THREADS", 1024
"""Where people and schedulers of clusters say how many threads a process may have, and how many can be asked for."""

Values = dict[str, Plain | tuple[float, ...]]
"""Settings as people write them: flat, by name."""

NONE = "none"
"""Against nobody."""

SETTLED_TITLES = {
    ("game", False): "settled game",
    ("game", True): "settled game, always weighted",
    ("local", False): "settled by local models (control)",
    ("local", True): "settled by local models (control), always weighted",
}
"""What tables call a game that is settled, by who found what is contested, and whether it is weighted away anyhow."""


Model = TypeVar("Model", bound=BaseModel)
Made = TypeVar("Made")


def usable_threads() -> int:
    """As many as the environment says; or else the machine's cores, but not too many."""
    told = os.environ.get(THREADS_VARIABLE, "").strip()
    if told.isdecimal() and 1 <= int(told) <= THREADS_ALLOWED:
        return int(told)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return min(cores, MOST_THREADS)


class Settings(OwnSettings):
    """Everything that `flgames play` can be told. A run folder keeps it whole, so that a run can be repeated."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: BenchmarkOptions = BenchmarkOptions()
    game: FLGamesConfig = FLGamesConfig()
    training: Training = Training()
    rule: SavedRule | None = None

    variant: str = Field(
        default="f-fl-games-smooth",
        description=f"The paper's name for a choice of knobs: {', '.join(presets.VARIANTS)}. F keeps phi fixed at "
        "the identity, V learns it; Smooth answers to the opponents' memory; Fast moves phi by full-batch "
        "gradients. Each knob below overrides it.",
        json_schema_extra=WHAT,
    )
    against: Names = Field(
        default=("fedavg",),
        description="Play these methods first on the same clients, to compare: none, or names with commas between "
        f"them, of {', '.join((*BASELINES, *PLANTED_OURS))}. Default: fedavg. For all of them, see flgames compare.",
        json_schema_extra=WHAT,
    )
    against_rounds: int | None = Field(
        default=None, ge=1, description="Their rounds. Default: as declared for the benchmark.", json_schema_extra=WHAT
    )
    predictor: PredictorName = Field(
        default="mlp",
        description="A player's network on tables and benchmarks: mlp, the paper's perceptron, or linear, one layer on "
        "the inputs. Of linear players clients are told the mean only, so that traffic grows with their number, not "
        "with its square. Default: linear for real tables, mlp for the paper's benchmarks.",
        json_schema_extra=WHAT,
    )
    network: NetworkName | None = Field(
        default=None,
        description="The network that a settled game trains in the end: mlp, the paper's perceptron, or cnn, three "
        "convolutions. Its players have a network of their own: --predictor. Default: cnn for images of your own, "
        "spurious-cifar10 and colored-dsprites, else mlp.",
        json_schema_extra=SETTLING,
    )
    initialisation: Initialisation = Field(
        default="torch",
        description="torch (default), or glorot, as Keras starts and so IRM Games did.",
        json_schema_extra=WHAT,
    )
    validation: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="The share of every training client's samples that is held back: no weights are learnt from them, "
        "and training clients' figures are on them. Default: 0.2 for real data and settled games, else 0.",
        json_schema_extra=DATA,
    )
    class_weight: Literal["none", "balanced"] = Field(
        default="none",
        description="balanced: classes count alike in the loss of every method, however rare they are; their samples "
        "are counted over all training clients. For real data. Default: none, samples count alike.",
        json_schema_extra=DATA,
    )
    share_cap: float = Field(
        default=1.0,
        gt=0,
        le=1,
        description="The largest share of all samples that a client can have, whatever it says that it has: no site "
        "takes everything by its own count. Default: 1, as it says.",
        json_schema_extra=DATA,
    )
    phi_rounds: int | None = Field(
        default=None,
        ge=0,
        description="Train phi by so many rounds of FedAvg before the game begins; a fixed phi then stays as it is, "
        "and what it makes of the samples is computed once. Default: 10 for "
        "images of your own that are not settled, else 0.",
        json_schema_extra=PHI,
    )
    warm_start: int | None = Field(
        default=None,
        ge=0,
        description="Rounds in which it can't stop. Default: the number of players if phi is fixed, else the "
        "batches of an epoch; at least 88 for spurious-cifar10 and 59 for colored-dsprites.",
        json_schema_extra=STOP,
    )
    rounds: int = Field(
        default=500,
        ge=1,
        description="Rounds at most. Default: 500, or 1000 for a variant that learns phi and is not Fast; 400 of a "
        "settled game, the rounds before it is settled included, and 150 of a balanced one.",
        json_schema_extra=STOP,
    )
    measure_samples: int = Field(
        default=2048,
        ge=0,
        description="Training samples that a measure looks at first; more are counted, to the last one, where these "
        "can't decide. 0: always all.",
        json_schema_extra=STOP,
    )
    seed: int = Field(
        default=0, ge=0, description="Drives data, initialisation, batches and schedule.", json_schema_extra=RUN
    )
    seeds: int = Field(
        default=1,
        ge=1,
        description="Play so many seeds, from --seed on, and show mean and standard deviation.",
        json_schema_extra=RUN,
    )
    probe_every: int = Field(
        default=0,
        ge=0,
        description="Show the unseen client every so many rounds, for the curves only; nothing that trains or stops "
        "can see it. 0: at the end only (default).",
        json_schema_extra=RUN,
    )
    checkpoint_every: int = Field(
        default=0,
        ge=0,
        description="Save the whole state every so many rounds. Default: 0, by time.",
        json_schema_extra=RUN,
    )
    checkpoint_seconds: float = Field(
        default=20.0,
        ge=0,
        description="Save the whole state this often; 0: after every round.",
        json_schema_extra=RUN,
    )
    engine: str = Field(
        default="local",
        description="What carries the messages between server and clients: local, in this process (default); "
        "nvflare or flower, in their simulators, with a process a client. The weights are the same.",
        json_schema_extra=ENGINE,
    )
    timeout: float = Field(
        default=120.0,
        gt=0,
        description="Seconds that a client has for an answer over nvflare or flower; one that is late is skipped, "
        "and keeps its last action.",
        json_schema_extra=ENGINE,
    )
    min_clients: int = Field(
        default=2,
        ge=1,
        description="How many clients must be there for the game to go on.",
        json_schema_extra=ENGINE,
    )
    device: str = Field(default="auto", description="auto, cpu, cuda, ...", json_schema_extra=RUN)
    threads: int = Field(
        default_factory=usable_threads,
        ge=1,
        le=THREADS_ALLOWED,
        description=f"Threads for matrix products. Default: {THREADS_VARIABLE} if it is set, else the machine's cores, "
        f"at most {MOST_THREADS}.",
        json_schema_extra=RUN,
    )

    @property
    def benchmark(self) -> str:
        return self.source.benchmark

    @property
    def name(self) -> str:
        """The paper's name for what these settings play; ``variant`` is only the name they started from."""
        return presets.variant_of(self.game)

    @property
    def slug(self) -> str:
        """What its folder and its files are called."""
        if self.settles_games:
            return SETTLED if self.training.found_by == "game" else SETTLED_LOCALLY
        return BALANCED if self.game.ensemble == "balanced" else self.name

    @property
    def title(self) -> str:
        """As the paper's tables call it, and what is ours in it."""
        if self.settles_games:
            return SETTLED_TITLES[self.training.found_by, self.game.settle == "always"]
        ours = [", linear players"] if self.predictor == "linear" else []
        ours += {"auto": [", may settle"], "always": [", settled"], "never": []}[self.game.settle]
        ours += [", balanced"] if self.game.ensemble == "balanced" else []
        return presets.title_of(self.game) + "".join(ours)

    @property
    def settles_games(self) -> bool:
        """Whether what the players of a game disagree about is settled: linear players are compared without one."""
        return self.game.settle != "never" and self.predictor != "linear"

    @property
    def all_seeds(self) -> range:
        return range(self.seed, self.seed + self.seeds)

    def flat(self) -> Values:
        """All of them by name, as on the command line; the inverse of :func:`validated`."""
        own = self.model_dump(exclude=set(CONTAINED))
        unchosen: Values = {}
        for each in rules().values():
            guards = {name: each.model_fields[name].default for name in each.knobs()[1:]}
            unchosen |= {each.chosen_by: NEVER, **guards}
        parts = (self.source, self.game, self.training)
        contained = {name: value for part in parts for name, value in part.model_dump().items()}
        return contained | own | unchosen | self._rule_values()

    def _rule_values(self) -> Values:
        return {name: getattr(self.rule, name) for name in self.rule.knobs()} if self.rule else {}


CONTAINED = ("source", "game", "training", "rule")
"""The fields of :class:`Settings` that hold settings of their own."""


def knobs() -> dict[str, FieldInfo]:
    """Every setting by name: its type, default, range, help text and panel."""
    own = {name: info for name, info in Settings.model_fields.items() if name not in CONTAINED}
    of_rules = {name: each.model_fields[name] for each in rules().values() for name in each.knobs()}
    return BenchmarkOptions.model_fields | FLGamesConfig.model_fields | Training.model_fields | of_rules | own


def checked(model: type[Model], values: Mapping[str, object]) -> Model:
    """Typed options, or one sentence that names what is wrong."""
    return _told(lambda: model(**values))


def without_unchosen(values: Mapping[str, object]) -> dict[str, object]:
    """The same settings without knobs of rules that they don't choose: an earlier version stored those too."""
    idle = [each for each in rules().values() if values.get(each.chosen_by) in (None, NEVER)]
    left_out = {name for each in idle for name in each.knobs()}
    return {name: value for name, value in values.items() if name not in left_out}


def choose_rule(values: Mapping[str, object]) -> StoppingRule | None:
    """The stopping rule that these settings choose, or one sentence that names what is wrong."""
    return _told(lambda: rule_from(values))


def validated(values: Mapping[str, object]) -> Settings:
    """Settings from their flat form, which also fit together."""
    for key in values:
        if key not in knobs():
            raise unknown("setting", key, knobs())

    def part(names: Mapping[str, FieldInfo]) -> dict[str, object]:
        return {name: value for name, value in values.items() if name in names}

    of_rules = {name: value for each in rules().values() for name, value in part(each.model_fields).items()}
    own = {name: value for name, value in part(Settings.model_fields).items() if name not in CONTAINED}
    settings = _told(
        lambda: Settings.model_validate(
            own
            | {
                "source": BenchmarkOptions.model_validate(part(BenchmarkOptions.model_fields)),
                "game": FLGamesConfig.model_validate(part(FLGamesConfig.model_fields)),
                "training": Training.model_validate(part(Training.model_fields)),
                "rule": rule_from(of_rules),
            }
        )
    )
    _check_together(settings)
    return settings


def _check_together(settings: Settings) -> None:
    known = (*BASELINES, *PLANTED_OURS)
    if settings.against != (NONE,):
        for name in settings.against:
            if name not in known:
                raise unknown("method to play `against`:", name, (*known, NONE))
    check_game(settings.game)
    if settings.predictor == "linear" and settings.game.ensemble != "balanced":
        for name in ("opponents", "look_up"):
            if getattr(settings.game, name):
                raise UserError(f"`{name}` is for players that are not linear; linear opponents are one: leave it out.")
    if settings.settles_games and settings.rounds <= settings.training.settle_after:
        raise UserError(
            f"`rounds` {settings.rounds} leave none for training after the game's `settle_after` "
            f"{settings.training.settle_after}: give more."
        )
    if settings.settles_games and settings.warm_start is not None:
        raise UserError("`warm_start` is not for settled games: their rule begins when the game is over.")
    if settings.game.ensemble == "balanced" and settings.rule is not None and settings.rule.chooses_round:
        raise UserError("`ensemble` balanced needs no rule that chooses a round: leave `early` and `patience` out.")


def check_game(game: FLGamesConfig) -> None:
    """Knobs of a game that don't fit together."""
    if game.participation < 1 and game.schedule != "simultaneous":
        raise UserError(f"`participation` is for simultaneous play; with `schedule` {game.schedule} one player moves.")
    if game.batched and (game.full_batch or game.representation == "variable"):
        raise UserError("`batched` is for mini-batches on a fixed representation: leave it out.")
    if game.look_up and game.full_batch:
        raise UserError("`full_batch` looks opponents up anyhow: leave `look_up` out.")
    if game.settle != "never" and game.representation == "variable":
        raise UserError("`settle` is for a fixed representation, and here phi is learnt.")
    if game.settle != "never" and game.ensemble == "balanced":
        raise UserError("`settle` trains one network in the end, and `ensemble` balanced weighs players: choose one.")
    if game.settle != "never" and game.full_batch:
        raise UserError("`settle` weights the samples of mini-batches: leave `full_batch` out.")
    if game.representation == "fixed" and (game.phi_batches != 1 or game.phi_every != 1):
        raise UserError("`phi_batches`, `fast` and `phi_every` move phi, which is fixed here: it must be variable.")


def _told(make: Callable[[], Made]) -> Made:
    """What is made, or one sentence on the first thing that is wrong."""
    try:
        return make()
    except ValidationError as error:
        first = error.errors()[0]
        message = first["msg"].removeprefix("Value error, ").removeprefix("Input ").removeprefix("Value ")
        message = re.sub(r" after validation, not \d+", "", message)
        raise UserError(f"`{first['loc'][0]}` {message}; {first['input']} was given.") from None

"""The settings of a run: presets, then a file, then the command line; validated once, written into every result."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from flgames import presets
from flgames.baselines import ALL as BASELINES
from flgames.data.catalogue import NAMES as BENCHMARKS
from flgames.data.catalogue import BenchmarkOptions
from flgames.data.catalogue import benchmark as benchmark_of
from flgames.data.own.source import NAME as OWN_DATA
from flgames.errors import UserError, unknown
from flgames.models import Initialisation
from flgames.rules import Rules
from flgames.stopping import BIAS_PENALTY, SPREAD_PENALTY

Model = TypeVar("Model", bound=BaseModel)

MOST_THREADS = 8
"""More threads than this only get in each other's way on matrices of this size."""


def usable_threads() -> int:
    """The machine's cores, but not too many."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return min(cores, MOST_THREADS)


def _check_stop_below(value: object) -> object:
    try:
        number = float(value) if isinstance(value, int | float | str) and value != "never" else value
    except ValueError:
        number = None
    if number != "never" and not (isinstance(number, float) and 0 < number < 1):
        raise ValueError("is a training accuracy between 0 and 1, or never")
    return number


Threshold = Annotated[float | Literal["never"], BeforeValidator(_check_stop_below)]


Engine = Literal["local", "nvflare", "flower"]
"""What moves the bytes between server and clients."""


class Settings(Rules, BenchmarkOptions):
    """Everything that `flgames play` can be told. A run folder keeps it whole, so that a run can be repeated."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: str | None = None
    target: str | None = None
    holdout: str | None = None

    initialisation: Initialisation = "torch"

    variant: str = "f-fl-games-smooth"
    against: str = "fedavg"
    against_rounds: int | None = Field(default=None, ge=1)

    rounds: int = Field(default=500, ge=1)
    phi_rounds: int | None = Field(default=None, ge=0)
    stop_below: Threshold = "never"
    stop_spread: float = Field(default=1.0, ge=0, le=1)
    stop_bias: float = Field(default=1.0, ge=0, le=1)
    patience: int | None = Field(default=None, ge=1)
    spread_penalty: float = Field(default=SPREAD_PENALTY, ge=0)
    bias_penalty: float = Field(default=BIAS_PENALTY, ge=0)
    warm_start: int | None = Field(default=None, ge=0)
    measure_samples: int = Field(default=2048, ge=0)

    seed: int = Field(default=0, ge=0)
    seeds: int = Field(default=1, ge=1)
    probe_every: int = Field(default=0, ge=0)
    checkpoint_every: int = Field(default=0, ge=0)
    checkpoint_seconds: float = Field(default=20.0, ge=0)
    engine: Engine = "local"
    timeout: float = Field(default=120.0, gt=0)
    min_clients: int = Field(default=2, ge=1)
    device: str = "auto"
    threads: int = Field(default_factory=usable_threads, ge=1, le=1024)

    @property
    def name(self) -> str:
        """The paper's name for what these settings play; ``variant`` is only the name they started from."""
        return presets.variant_of(self)

    @property
    def title(self) -> str:
        return presets.title_of(self)

    @property
    def all_seeds(self) -> range:
        return range(self.seed, self.seed + self.seeds)


def resolve(given: Mapping[str, Any], file: Path | None = None) -> Settings:
    """Presets of the benchmark and variant, overridden by a TOML file, overridden by what was given by hand."""
    chosen = (read_file(file) if file else {}) | dict(given)
    own = chosen.get("data") is not None
    if own and "benchmark" in chosen and chosen["benchmark"] != OWN_DATA:
        raise UserError("--data is instead of --benchmark: leave one of them out.")
    benchmark = OWN_DATA if own else str(chosen.get("benchmark", Settings.model_fields["benchmark"].default))
    variant = str(chosen.get("variant", Settings.model_fields["variant"].default))
    if not own and benchmark not in BENCHMARKS:
        raise unknown("benchmark", benchmark, BENCHMARKS)
    values = presets.defaults(benchmark, variant) | chosen | {"benchmark": benchmark}
    settings = validated(values)
    return _on_own_data(settings, chosen) if own else _on_benchmark(settings, values)


def _on_benchmark(settings: Settings, values: Mapping[str, Any]) -> Settings:
    source = benchmark_of(settings)  # refuses options that this benchmark does not have
    if settings.target or settings.holdout:
        raise UserError("--target and --holdout are for data of your own: give --data too.")
    if "stop_below" not in values and settings.patience is None:
        settings = settings.model_copy(update={"stop_below": presets.stop_below(source, settings)})
    if settings.stop_below == "never" and min(settings.stop_spread, settings.stop_bias) < 1:
        raise UserError("--stop-spread and --stop-bias guard a rule, and with --stop-below never there is none.")
    return settings


FOR_BENCHMARKS = ("flips", "sizes", "classes", "pixels", "sprites")


def _on_own_data(settings: Settings, chosen: Mapping[str, Any]) -> Settings:
    for name in FOR_BENCHMARKS:
        if name in chosen:
            raise UserError(f"--{name} is for benchmarks; your own data are as they are.")
    if settings.stop_below == "never" and min(settings.stop_spread, settings.stop_bias) < 1:
        raise UserError("--stop-spread and --stop-bias guard --stop-below: give that too.")
    folder = Path(str(settings.data))
    update: dict[str, Any] = {"data": str(folder.absolute())} if folder.exists() else {}
    if "stop_below" not in chosen and settings.patience is None:
        update["patience"] = presets.PATIENCE
    return settings.model_copy(update=update)


def checked(model: type[Model], values: Mapping[str, Any]) -> Model:
    """Typed options, or one sentence that names what is wrong."""
    for key in values:
        if key not in model.model_fields:
            raise unknown("setting", key, model.model_fields)
    try:
        return model(**values)
    except ValidationError as error:
        raise UserError(_sentence(error)) from None


def validated(values: Mapping[str, Any]) -> Settings:
    """Settings that also fit together."""
    settings = checked(Settings, values)
    if settings.against not in (*BASELINES, "none"):
        raise unknown("method to play --against:", settings.against, (*BASELINES, "none"))
    if settings.stop_below != "never" and settings.patience is not None:
        raise UserError("--patience and --stop-below are two rules: choose one.")
    if settings.participation < 1 and settings.schedule != "simultaneous":
        raise UserError(
            f"--participation is for simultaneous play; with --schedule {settings.schedule} one player moves."
        )
    if settings.representation == "fixed" and (settings.phi_batches != 1 or settings.phi_every != 1):
        raise UserError(
            "--phi-batches, --fast and --phi-every move phi, which is fixed here: choose a v-fl-games variant."
        )
    return settings


def read_file(path: Path) -> dict[str, Any]:
    """Settings from a TOML file; keys are spelled as on the command line."""
    try:
        content = tomllib.loads(path.read_text())
    except OSError as error:
        raise UserError(f"The config file {path} can't be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"The config file {path} is not TOML: {error}.") from None
    values = {key.replace("-", "_"): value for key, value in content.items()}
    for key in values:
        if key not in Settings.model_fields:
            raise unknown(f"key in {path}:", key, Settings.model_fields)
    return values


def _sentence(error: ValidationError) -> str:
    first = error.errors()[0]
    name = str(first["loc"][0]).replace("_", "-")
    message = first["msg"].removeprefix("Value error, ").removeprefix("Input ").removeprefix("Value ")
    message = re.sub(r" after validation, not \d+", "", message)
    return f"--{name} {message}; {first['input']} was given."

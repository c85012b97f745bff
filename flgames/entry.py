"""An entry: one method, set up to be played."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core.core_schema import ValidationInfo

from flgames.convolutions import ConvNetwork
from flgames.data.benchmark import Benchmark
from flgames.data.catalogue import BenchmarkOptions, benchmark
from flgames.data.own.source import OwnData, OwnOptions
from flgames.data.spurious import Removed
from flgames.errors import UserError
from flgames.methods.base import Method
from flgames.methods.catalogue import make, rules_of
from flgames.models import Network
from flgames.rules import Rules
from flgames.stopping import BIAS_PENALTY, SPREAD_PENALTY, BestRound, Rule, StopBelow, warm_start_rounds


class Entry(BaseModel):
    """A method with everything that decides its result, but for the benchmark and the seed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    slug: str
    title: str
    method: str
    rules: dict[str, Any] = Field(default_factory=dict, validate_default=True)
    network: Network | ConvNetwork = Network()
    rounds: int = Field(ge=1)
    stop_below: float | None = None
    stop_spread: float = Field(default=1.0, ge=0, le=1)
    stop_bias: float = Field(default=1.0, ge=0, le=1)
    """The guards of :class:`StopBelow`; 1: without."""
    warm_start: int | None = None
    """Rounds in which it can't stop; None: the paper's, at least ``least_warm_start``."""
    least_warm_start: int = 0
    patience: int | None = Field(default=None, ge=1)
    """Rounds without a better one after which :class:`BestRound` ends it; None: another rule, or none."""
    spread_penalty: float = Field(default=SPREAD_PENALTY, ge=0)
    bias_penalty: float = Field(default=BIAS_PENALTY, ge=0)
    phi_rounds: int = Field(default=0, ge=0)
    """Rounds of FedAvg by which phi is trained before the game begins."""
    measure_samples: int = 2048
    clients: Literal["apart", "pooled"] = "apart"
    """Pooled: the samples of all clients in one place, without a federation."""
    feature: Literal["kept", "removed"] = "kept"
    """Removed: images without the spurious feature."""
    side: int | None = None
    """Pixels a side, where a method's authors used others than the benchmark."""
    probe_every: int = Field(default=0, ge=0)
    """Look at the unseen client every so many rounds, for a curve; nothing that plays can see it."""

    @field_validator("rules")
    @classmethod
    def _filled_in(cls, rules: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        return rules_of(info.data["method"], rules).model_dump()

    @property
    def is_federated(self) -> bool:
        return self.clients == "apart"

    def source(self, options: BenchmarkOptions | OwnOptions) -> Benchmark | OwnData:
        """A benchmark, or own data, as this entry sees it."""
        if isinstance(options, BenchmarkOptions):
            return self.benchmark(options)
        if self.feature == "removed" or self.side:
            raise UserError(f"{self.title} is for benchmarks, whose shortcut is known.")
        return OwnData(options, pooled=self.clients == "pooled")

    def benchmark(self, options: BenchmarkOptions) -> Benchmark:
        """The benchmark as this entry sees it."""
        source = benchmark(options.model_copy(update={"side": self.side}) if self.side else options)
        if self.feature == "removed":
            source = replace(source, feature=Removed(source.feature))
        return replace(source, pooled=True) if self.clients == "pooled" else source

    def make(self, input_shape: tuple[int, ...], classes: int) -> Method:
        """The method, for such inputs and labels."""
        return make(self.method, self.network.architecture(input_shape, classes), self.rules)

    def rule(self, samples: Mapping[str, int]) -> Rule | None:
        """The rule that stops it, if it has one, where clients have so many samples."""
        if self.stop_below is None and self.patience is None:
            return None
        warm_start = self.warm_start
        if warm_start is None:
            warm_start = max(warm_start_rounds(Rules(**self.rules), samples), self.least_warm_start)
        if self.stop_below is None:
            assert self.patience is not None
            return BestRound(warm_start, self.patience, self.spread_penalty, self.bias_penalty)
        return StopBelow(self.stop_below, warm_start, self.stop_spread, self.stop_bias)

    def decides(self) -> dict[str, Any]:
        """All that can change a result, and no name. Defaults of an entry are left out: an option that a later version
        adds changes no entry that does without it. Those of rules and network are in, because they are values."""
        decides = self.model_dump(mode="json", exclude={"slug", "title"}, exclude_defaults=True)
        return decides | {"network": self.network.model_dump(mode="json")}

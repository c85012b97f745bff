"""An entry: one method, set up to be played."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.fields import FieldInfo

from flgames.core.knobs import Plain
from flgames.core.method import Method
from flgames.core.stopping.rule import SavedRule
from flgames.data.benchmarks.benchmark import Benchmark
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import benchmark
from flgames.data.benchmarks.sites import Sites
from flgames.data.benchmarks.spurious import Removed
from flgames.errors import UserError
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.server import Game
from flgames.methods.registry import config_of, find, make
from flgames.methods.settled.config import SettledConfig
from flgames.methods.settled.server import Settled
from flgames.models.architecture import Architecture, Weights
from flgames.models.class_weights import weighted_loss
from flgames.models.networks import MLP, Network


class Entry(BaseModel):
    """A method with everything that decides its result, but for the benchmark and the seed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    slug: str
    title: str
    method: str
    config: dict[str, Plain] = Field(default_factory=dict)
    network: Network = MLP()
    players: Network | None = None
    """What plays the game of a settled one, if it is not the network that is trained in the end."""
    rounds: int = Field(ge=1)
    rule: SavedRule | None = None
    """What stops it; None: it plays all rounds."""
    warm_start: int | None = None
    """Rounds in which it can't stop; None: the method's, at least ``least_warm_start``."""
    least_warm_start: int = 0
    phi_rounds: int = Field(default=0, ge=0)
    """Rounds of FedAvg by which phi is trained before the game begins."""
    phi_config: dict[str, Plain] = Field(default_factory=dict)
    """And how: FedAvg's configuration. Every game that was played has had the same, so it is in no key."""
    measure_samples: int = 2048
    clients: Literal["apart", "pooled"] = "apart"
    """Pooled: the samples of all clients in one place, without a federation."""
    feature: Literal["kept", "removed", "random"] = "kept"
    """Removed: images without the spurious feature. Random: at training clients it tells nothing of the label."""
    side: int | None = None
    """Pixels a side, where a method's authors used others than the benchmark."""
    validation: float = Field(default=0.0, ge=0, lt=1)
    """The share of every training client's samples that is held back."""
    class_weight: tuple[float, ...] = ()
    """What every class counts for in the loss; none: each sample counts as much as any other."""
    share_cap: float = Field(default=1.0, gt=0, le=1)
    """The largest share of all that one client can have, however many samples it says that it has."""
    probe_every: int = Field(default=0, ge=0)
    """Look at the unseen client every so many rounds, for a curve; nothing that plays can see it."""

    @model_validator(mode="before")
    @classmethod
    def _filled_in(cls, values: object) -> object:
        """The configuration with all of its values, whatever defaults a later version has."""
        if not isinstance(values, dict) or "method" not in values:
            return values
        return values | {"config": config_of(values["method"], values.get("config", {})).model_dump()}

    @property
    def is_federated(self) -> bool:
        return self.clients == "apart"

    def benchmark(self, options: BenchmarkOptions) -> Benchmark | Sites:
        """The benchmark as this entry sees it."""
        source = benchmark(options.model_copy(update={"side": self.side}) if self.side else options)
        if self.feature == "removed":
            source = source.core() if isinstance(source, Sites) else replace(source, feature=Removed(source.feature))
        if self.feature == "random":
            if isinstance(source, Sites):
                raise UserError(f"{self.title} is for planted shortcuts, and {source.title} has none that is known.")
            source = replace(source, random_codes=True)
        return replace(source, pooled=True) if self.clients == "pooled" else source

    def make(self, input_shape: tuple[int, ...], classes: int, first_phi: Weights | None = None) -> Method:
        """The method, for such inputs and labels; ``first_phi`` are the weights that its phi begins with."""
        architecture = self._weighted(self.network.architecture(input_shape, classes))
        if self.players is not None:
            players = self._weighted(self.players.architecture(input_shape, classes))
            return Settled(architecture, SettledConfig.model_validate(self.config), players)
        if first_phi is not None:
            return Game(architecture, FLGamesConfig.model_validate(self.config), first_phi)
        return make(self.method, architecture, self.config)

    def _weighted(self, architecture: Architecture) -> Architecture:
        """The same network, which learns by this entry's loss."""
        return replace(architecture, loss=weighted_loss(self.class_weight)) if self.class_weight else architecture

    def decides(self) -> dict[str, object]:
        """All that can change a result, and no name, as keys are made of it.

        Defaults of an entry are left out: an option that a later version adds changes no entry that does without it.
        Those of configuration and network are in, because they are values. The words are those of the first keys.
        """
        apart = {"slug", "title", "config", "network", "players", "rule", "phi_config"}
        decides: dict[str, object] = self.model_dump(mode="json", exclude=apart, exclude_defaults=True)
        decides |= self.rule.values() if self.rule else {}
        decides |= {"players": _values(self.players)} if self.players else {}
        return decides | {"rules": self._rules(), "network": _values(self.network)}

    def _rules(self) -> dict[str, Plain]:
        """The configuration, without knobs that came later and are as they are by default."""
        unused = _unused(find(self.method).Config.model_fields, self.config)
        return {name: value for name, value in self.config.items() if name not in unused}


def _values(network: Network) -> dict[str, object]:
    """A network, without fields that came later and are as they are by default."""
    dumped = network.model_dump(mode="json")
    return {name: value for name, value in dumped.items() if name not in _unused(type(network).model_fields, dumped)}


def _unused(fields: Mapping[str, FieldInfo], values: Mapping[str, object]) -> set[str]:
    return {
        name
        for name, info in fields.items()
        if isinstance(info.json_schema_extra, dict)
        and info.json_schema_extra.get("later")
        and values[name] == info.default
    }

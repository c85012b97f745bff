"""What a stopping rule is, and all that there are.

A rule sees training measures only. Its fields are the knobs that the command line offers for it, and setting the one
that is called ``chosen_by`` chooses the rule.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from flgames.core.knobs import Plain
from flgames.errors import UserError, unknown

if TYPE_CHECKING:
    from flgames.core.counts import TrainingMeasure

CONFIDENCE = 4.0
"""Standard errors between an estimate and a threshold before the estimate is believed."""

NEVER = "never"
"""What a knob says that could choose a rule and does not."""

Standing = bool | dict[str, float] | None
"""What a rule remembers from round to round, in plain values; None before the first."""


@dataclass(frozen=True)
class Verdict:
    """What a rule says after a round."""

    stop: bool
    keep: bool = False
    """Whether this round's model is the one to return, unless a better one follows."""
    standing: Standing = None


class StoppingRule(BaseModel, ABC):
    """What ends a game, and may choose an earlier round's model.

    A rule has no state of its own: ``standing`` is what it said last, None before the first round.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str]
    """What it is called in files."""
    chosen_by: ClassVar[str]
    """The knob that chooses this rule."""
    chooses_round: ClassVar[bool] = False
    """Whether it may return the model of an earlier round than the last."""

    warm_start: int = Field(default=0, ge=0, exclude=True)
    """Rounds in which it can't stop. It follows from the clients, so it is no knob of a rule."""

    @classmethod
    def knobs(cls) -> tuple[str, ...]:
        """The names of its knobs, the one that chooses it first."""
        return cls.chosen_by, *(name for name in cls.model_fields if name not in ("warm_start", cls.chosen_by))

    @model_serializer(mode="wrap")
    def _with_its_name(self, dump: SerializerFunctionWrapHandler) -> dict[str, Plain]:
        dumped: dict[str, Plain] = dump(self)
        return {"name": self.name} | dumped

    def values(self) -> dict[str, Plain]:
        """Its knobs, but for those that are as they are by default."""
        return {name: value for name, value in self.model_dump(exclude_defaults=True).items() if name != "name"}

    @classmethod
    def _is_default(cls, name: str, value: object) -> bool:
        """Whether a knob has this value anyway; files and terminals may have it as text."""
        default = cls.model_fields[name].default
        as_text = f"{default:g}" if isinstance(default, int | float) else str(default)
        return value == default or str(value) in (as_text, str(default))

    def after(self, warm_start: int) -> Self:
        """The same rule, which can't stop in so many rounds."""
        return self.model_copy(update={"warm_start": warm_start})

    @abstractmethod
    def is_unsure(self, round_: int, measure: TrainingMeasure, standing: Standing) -> bool:
        """Whether more samples must be counted before this measure can decide."""

    @abstractmethod
    def judge(self, round_: int, measure: TrainingMeasure, standing: Standing) -> Verdict:
        """Whether the game ends after this round, and whether its model is the best so far."""

    def can_choose(self, there: int, clients: int) -> bool:
        """Whether it can choose a round that only so many of all clients have counted."""
        return there == clients

    def restated(self, standing: Standing, measure: TrainingMeasure) -> Standing:
        """The same standing, where fewer clients are asked what they thought of the round that it is of."""
        return standing

    @abstractmethod
    def __str__(self) -> str:
        """What it does, in one phrase."""

    @property
    @abstractmethod
    def brief(self) -> str:
        """When it stops, in the words of a live line."""

    @property
    @abstractmethod
    def reason(self) -> str:
        """Why the game has ended, where this rule ended it."""

    @property
    def level(self) -> float | None:
        """A training accuracy to draw beside the curves, if the rule watches one."""
        return None


@functools.cache
def rules() -> Mapping[str, type[StoppingRule]]:
    """Every rule by its name: all modules of this folder are looked through."""
    found: dict[str, type[StoppingRule]] = {}
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        members = vars(importlib.import_module(f"{__package__}.{module.name}")).values()
        found |= {
            each.name: each
            for each in members
            if isinstance(each, type) and issubclass(each, StoppingRule) and each is not StoppingRule
        }
    return found


def rule_from(values: Mapping[str, object]) -> StoppingRule | None:
    """The rule that the knobs among these values choose, if they choose one."""
    chosen = [each for each in rules().values() if values.get(each.chosen_by) not in (None, NEVER)]
    if len(chosen) > 1:
        names = sorted(f"`{each.chosen_by}`" for each in chosen)
        raise UserError(f"{' and '.join(names)} are two rules: choose one.")
    for each in rules().values():
        for name in each.knobs()[1:]:
            if each not in chosen and values.get(name) is not None and not each._is_default(name, values[name]):
                raise UserError(f"`{name}` is for `{each.chosen_by}`: give that too.")
    if not chosen:
        return None
    return chosen[0].model_validate({name: values[name] for name in chosen[0].knobs() if values.get(name) is not None})


def _read(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    given = dict(value)
    name = str(given.pop("name", ""))
    if name not in rules():
        raise unknown("stopping rule", name, rules())
    return rules()[name].model_validate(given)


SavedRule = Annotated[SerializeAsAny[StoppingRule], BeforeValidator(_read)]
"""A rule in a file: its name and its knobs."""

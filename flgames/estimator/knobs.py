"""The estimator's parameters that are knobs of a game, of a stopping rule or of a run: they are declared there."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from flgames.core.stopping.rule import rules
from flgames.data.own.roles import Kind
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.settled.config import Training
from flgames.runs.presets import PHI_ROUNDS, on_real_data
from flgames.runs.settings import knobs

Init = TypeVar("Init", bound=Callable[..., None])

_GIVEN_AS_MODULES = ("representation", "optimiser", "phi_optimiser")
"""Knobs of a game that the estimator takes as modules and functions instead."""

OF_A_RUN = ("rounds", "phi_rounds", "validation", "device", "seed")
"""Knobs of a run that make sense for a model."""

_VARIANT = "f-fl-games-smooth"
"""What own data are played by."""

BY_DATA = ("learning_rate", "memory", "rounds", "settle", "validation")
"""Knobs that depend on what the data and the players are: None leaves them to the data, as the rule that is chosen."""


def parameters() -> dict[str, Any]:
    """Every such parameter and its default; None: as the data have it."""
    preset = {**implied("table", None), "phi_rounds": PHI_ROUNDS} | dict.fromkeys((*BY_DATA, *_chosen_by()))
    names = [name for name in FLGamesConfig.model_fields if name not in _GIVEN_AS_MODULES]
    names += Training.model_fields
    names += [name for each in rules().values() for name in each.knobs()]
    declared = knobs()
    return {
        name: preset[name] if name in preset else None if declared[name].is_required() else declared[name].default
        for name in [*names, *OF_A_RUN]
    }


def implied(kind: Kind, predictor: str | None, settles: bool = False) -> dict[str, object]:
    """What data of this kind, and players that are linear or not, imply, where games are settled and where not."""
    return on_real_data(kind, _VARIANT, predictor, settles)


def _chosen_by() -> list[str]:
    return [each.chosen_by for each in rules().values()]


def with_knobs(init: Init) -> Init:
    """Give a constructor with ``**knobs`` the signature that it really has, for people, scikit-learn and errors."""
    signature = inspect.signature(init)
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in parameters().items()
    ]
    init.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
    return init

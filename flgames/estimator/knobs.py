"""The estimator's parameters that are knobs of a game, of a stopping rule or of a run: they are declared there."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from flgames.core.stopping.rule import rules
from flgames.data.own import OWN_DATA
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.runs.presets import PATIENCE, PHI_ROUNDS, defaults
from flgames.runs.settings import knobs

Init = TypeVar("Init", bound=Callable[..., None])

_GIVEN_AS_MODULES = ("representation", "optimiser", "phi_optimiser")
"""Knobs of a game that the estimator takes as modules and functions instead."""

OF_A_RUN = ("rounds", "phi_rounds", "device", "seed")
"""Knobs of a run that make sense for a model."""

_VARIANT = "f-fl-games-smooth"
"""What own data are played by."""


def parameters() -> dict[str, Any]:
    """Every such parameter and its default."""
    preset = {**defaults(OWN_DATA, _VARIANT), "patience": PATIENCE, "phi_rounds": PHI_ROUNDS}
    names = [name for name in FLGamesConfig.model_fields if name not in _GIVEN_AS_MODULES]
    names += [name for each in rules().values() for name in each.knobs()]
    declared = knobs()
    return {
        name: preset[name] if name in preset else None if declared[name].is_required() else declared[name].default
        for name in [*names, *OF_A_RUN]
    }


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

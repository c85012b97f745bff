"""FL Games: federated learning whose model keeps working on clients it has never seen.

What most people need is here: the estimator, callbacks and errors. Everything else is imported from its package.
Names are loaded when they are first used, so that ``import flgames`` takes no time.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flgames.core.callbacks import Callback
    from flgames.core.tensorboard import TensorBoard
    from flgames.errors import ClientFailure, Diverged, UserError
    from flgames.estimator.estimator import FLGames

__version__ = "0.1.0"

_HOMES = {
    "Callback": "flgames.core.callbacks",
    "ClientFailure": "flgames.errors",
    "Diverged": "flgames.errors",
    "FLGames": "flgames.estimator.estimator",
    "TensorBoard": "flgames.core.tensorboard",
    "UserError": "flgames.errors",
}

__all__ = ["Callback", "ClientFailure", "Diverged", "FLGames", "TensorBoard", "UserError"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])

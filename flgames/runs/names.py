"""The names under which methods are compared, known without loading any of them."""

from __future__ import annotations

from flgames.runs.baselines import ALL
from flgames.runs.presets import VARIANTS

SCHEDULES = {"sequential": "clockwise", "parallel": "simultaneous"}
"""As the paper's tables call them."""

GAMES = {f"{called}-{variant}": (schedule, variant) for variant in VARIANTS for called, schedule in SCHEDULES.items()}
"""Every variant of FL Games by the name of its row."""

NAMES = (*ALL, *GAMES)

DEFAULT = (*ALL, *(name for name, (_, variant) in GAMES.items() if variant.startswith("f-")))
"""What is compared unless others are asked for. The variants that learn phi take minutes to hours each."""

"""The names under which methods are compared, known without loading any of them."""

from __future__ import annotations

from flgames.runs.baselines import ALL, PLANTED, REAL
from flgames.runs.presets import VARIANTS

SCHEDULES = {"sequential": "clockwise", "parallel": "simultaneous"}
"""As the paper's tables call them."""

GAMES = {f"{called}-{variant}": (schedule, variant) for variant in VARIANTS for called, schedule in SCHEDULES.items()}
"""Every variant of FL Games by the name of its row."""

FL_GAMES = "fl-games"
"""FL Games as real data have it by default."""

LINEAR_GAME, SETTLED_GAME = "linear-game", "settled-game"
"""The two that it decides between: linear players as they are, and on weighted samples always."""

OURS = {FL_GAMES: "FL Games", LINEAR_GAME: "FL Games, never settled", SETTLED_GAME: "FL Games, always settled"}
"""What tables of real data call them."""

SETTLED, SETTLED_LOCALLY, BALANCED, NO_SHORTCUT = "settled", "settled-by-local-models", "balanced", "no-shortcut-oracle"
"""On planted benchmarks: what the paper does not have, the control without a game, and what could be learnt."""

PLANTED_OURS = (SETTLED, SETTLED_LOCALLY, BALANCED, NO_SHORTCUT)

PERCEPTRONS = "fedavg-perceptrons"
"""What is played on own tables to see whether linear models are enough."""

NAMES = (*ALL, *GAMES, *PLANTED_OURS, FL_GAMES, LINEAR_GAME, SETTLED_GAME, PERCEPTRONS)

_FIXED = tuple(name for name, (_, variant) in GAMES.items() if variant.startswith("f-"))

DEFAULT = (*PLANTED, *_FIXED, SETTLED, BALANCED, NO_SHORTCUT)
"""What is compared on planted benchmarks unless others are asked for. The variants that learn phi take minutes to
hours each; the control of settled games stands in their own table."""

DEFAULT_ON_REAL_DATA = (*REAL, FL_GAMES)
"""And on real data."""

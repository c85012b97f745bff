"""What the search tries: a method with each choice of its values."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from flgames.core.knobs import Plain
from flgames.core.stopping.early_round import EarlyRound
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.runs import presets
from flgames.runs.baselines import GRIDS, REAL_GRIDS, SETTLING_GRIDS
from flgames.runs.entries import declared_on_real_data, declared_with, game, ours
from flgames.runs.entry import Entry
from flgames.runs.names import FL_GAMES, SETTLED
from flgames.runs.resolve import resolve


def trials(name: str) -> Iterator[Entry]:
    """A baseline with each of the values that the search tries on planted benchmarks."""
    for values in _choices(GRIDS[name]):
        yield declared_with(name, values)


def settling_trials(name: str, options: BenchmarkOptions) -> Iterator[Entry]:
    """A settled game with each of the values that the search tries: up to where the shortcut is found, or to the end.

    FedSGD takes a step a round where FedAvg takes several, so it is given as many times more rounds.
    """
    for values in _choices(SETTLING_GRIDS[name]):
        tried = ours(SETTLED, options.model_dump() | values, None, options.benchmark)
        game_rounds = int(tried.config["settle_after"] or 0)
        changed: dict[str, object] = {"slug": name}
        if name == "shortcut":
            changed |= {"rounds": game_rounds + 1, "rule": None}
        elif tried.config["train_by"] == "fedsgd":
            steps = int(tried.config["train_steps"] or 1)
            rule = EarlyRound(early=steps * int(presets.SETTLED["early"] or 0))
            changed |= {"rounds": game_rounds + steps * (tried.rounds - game_rounds), "rule": rule}
        yield tried.model_copy(update=changed)


def real_trials(name: str, options: BenchmarkOptions) -> Iterator[Entry]:
    """A method with each of the values that the search tries on real data."""
    for values in _choices(REAL_GRIDS[name]):
        if name == FL_GAMES:
            yield game(resolve(options.model_dump() | values)).model_copy(update={"slug": name})
        else:
            yield declared_on_real_data(name, values, "table", presets.VALIDATION)


def _choices(grid: Mapping[str, tuple[Plain, ...]]) -> Iterator[dict[str, Plain]]:
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))

"""A game of a run that has ended: its model, and what is needed to use it elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from torch import nn

from flgames.contest import game_of, load_model
from flgames.data.benchmark import Benchmark
from flgames.data.own.layout import Layout
from flgames.data.own.source import OwnOptions
from flgames.deployed import Deployed
from flgames.errors import UserError, unknown
from flgames.lineup import matches
from flgames.match import Match
from flgames.models import Ensemble
from flgames.runs import GameFolder, RunFolder


@dataclass(frozen=True)
class Finished:
    """One game that has ended."""

    run: RunFolder
    match: Match
    folder: GameFolder
    ensemble: Ensemble

    @property
    def layout(self) -> Layout | None:
        """How own data must look; a benchmark has none."""
        return self.match.options.layout if isinstance(self.match.options, OwnOptions) else None

    @property
    def classes(self) -> tuple[str, ...]:
        """What the model tells apart, in the order of its outputs."""
        if self.layout:
            return self.layout.classes
        source = self.match.source
        assert isinstance(source, Benchmark)
        labels: dict[int, list[str]] = {}
        for kind, label in source.labels.items():
            if label is not None:
                labels.setdefault(label, []).append(kind)
        return tuple(" or ".join(labels[number]) for number in sorted(labels))

    @property
    def input_shape(self) -> tuple[int, ...]:
        assert self.folder.result is not None
        return tuple(self.folder.result["input_shape"])

    @property
    def deployed(self) -> Deployed:
        return Deployed(self.layout.ready if self.layout else nn.Identity(), self.ensemble)


def finished(path: Path, method: str | None = None, seed: int | None = None, holdout: str | None = None) -> Finished:
    """A finished game of a run: FL Games and the first seed, unless others are asked for."""
    run = RunFolder.open(path)
    if run.settings.data and run.surveys is None:
        raise UserError(f"{path} has no model: the run has not begun.")
    played = matches(run.settings, run.surveys)
    slugs = list(dict.fromkeys(match.entry.slug for match in played))
    seed = run.settings.seed if seed is None else seed
    method = method or slugs[-1]
    if method not in slugs:
        raise unknown("method of this run", method, slugs)
    found = [match for match in played if match.entry.slug == method and match.seed == seed]
    if not found:
        raise UserError(f"{path} has the seeds {', '.join(map(str, run.settings.all_seeds))}, and not {seed}.")
    by_holdout = {match.options.holdout: match for match in found if isinstance(match.options, OwnOptions)}
    if len(by_holdout) > 1 and holdout is None:
        raise UserError(f"Every client was held out in turn: say --holdout {' or '.join(map(str, by_holdout))}.")
    if holdout is not None and holdout not in by_holdout:
        raise unknown("client that was held out:", holdout, map(str, by_holdout))
    match = by_holdout[holdout] if holdout is not None else found[0]
    folder = game_of(run, match)
    return Finished(run, match, folder, load_model(folder, match.entry, match.options))

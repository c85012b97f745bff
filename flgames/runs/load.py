"""Models of games that have ended, with what is needed to use them elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from torch import nn

from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.sites import Sites
from flgames.data.own.layout import Layout
from flgames.data.own.source import OwnOptions
from flgames.errors import UserError, unknown
from flgames.evaluation.export import ExportedModel
from flgames.models.ensemble import Ensemble
from flgames.runs.folder import GameFolder, RunFolder
from flgames.runs.match import Match
from flgames.runs.result import Result


@dataclass(frozen=True)
class LoadedModel:
    """The model of one game that has ended, and its result."""

    run: RunFolder
    match: Match
    result: Result
    ensemble: Ensemble

    @cached_property
    def layout(self) -> Layout | None:
        """How real data must look; a planted benchmark has none."""
        if isinstance(self.match.options, OwnOptions):
            return self.match.options.layout
        source = self.match.entry.benchmark(self.match.options)
        return source.data(self.match.seed).layout if isinstance(source, Sites) else None

    @property
    def classes(self) -> tuple[str, ...]:
        """What the model tells apart, in the order of its outputs."""
        options = self.match.options
        if not isinstance(options, BenchmarkOptions):
            return options.layout.classes
        source = self.match.entry.benchmark(options)
        if isinstance(source, Sites):
            return source.class_names
        labels: dict[int, list[str]] = {}
        for kind, label in source.labels.items():
            if label is not None:
                labels.setdefault(label, []).append(kind)
        return tuple(" or ".join(labels[number]) for number in sorted(labels))

    @property
    def raw_shape(self) -> tuple[int, ...]:
        """Of one input as it comes, before the model's own preprocessing."""
        return self.layout.raw_shape if self.layout else self.result.input_shape

    @property
    def exported(self) -> ExportedModel:
        """With its preprocessing, as others use it."""
        ready = self.layout.ready if self.layout else nn.Identity()
        return ExportedModel(ready, self.ensemble, self.result.temperature)


def load(path: Path, method: str | None = None, seed: int | None = None, holdout: str | None = None) -> LoadedModel:
    """A model of a run: of FL Games and the first seed, unless others are asked for."""
    run = RunFolder.open(path)
    if not run.is_planned:
        raise UserError(f"{path} has no model: the run has not begun.")
    plan = run.plan
    slugs = [entry.slug for entry in plan.entries]
    seed = run.settings.seed if seed is None else seed
    method = method or slugs[-1]
    if method not in slugs:
        raise unknown("method of this run", method, slugs)
    found = [match for match in plan.matches if match.entry.slug == method and match.seed == seed]
    if not found:
        raise UserError(f"{path} has the seeds {', '.join(map(str, run.settings.all_seeds))}, and not {seed}.")
    by_holdout = {match.holdout: match for match in found}
    if len(by_holdout) > 1 and holdout is None:
        raise UserError(f"Every client was held out in turn: say `holdout` {' or '.join(map(str, by_holdout))}.")
    if holdout is not None and holdout not in by_holdout:
        raise unknown("client that was held out:", holdout, map(str, by_holdout))
    match = by_holdout[holdout] if holdout is not None else found[0]
    folder = GameFolder(run.path / plan.folder(match), match)
    return LoadedModel(run, match, folder.result(), load_model(folder, match))


def load_model(folder: GameFolder, match: Match) -> Ensemble:
    """The final model of a game, ready to predict."""
    if not folder.has_ended:
        raise UserError(f"{folder.path} has no model: that game has not ended.")
    method = match.entry.make(folder.result().input_shape, match.classes)
    return Ensemble.from_tensors(method.learnt, folder.weights())

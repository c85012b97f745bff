"""The values of a method, chosen on training clients only.

Each trial plays on four fifths of every training client and is judged on the rest of them. Unseen clients are never
built.

On planted benchmarks all baselines take the same number of steps, and rounds are not searched: a method whose penalty
comes late could otherwise be ended before it. On real data the rule that all methods share chooses the round, and a
trial is played on several draws of training sites.

Of a settled game two things are chosen, each by a measure of its own. The game that finds the shortcut: by how much
clients differ in what its u tells of the label. The training that follows: by weighted accuracy, which compares
trainings for one u and says nothing about another.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

from flgames.core.callbacks import Callback
from flgames.core.knobs import Plain
from flgames.core.loop import Play
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import benchmark
from flgames.data.benchmarks.sites import Sites
from flgames.data.samples import EVALUATED, Clients, Samples, Subset
from flgames.errors import Diverged
from flgames.files import write_json
from flgames.runs.baselines import (
    ALIKE,
    BASELINES,
    GRIDS,
    JUDGED,
    REAL_GRIDS,
    SEARCH_DRAWS,
    SEARCH_STATES,
    SEED,
    SETTLING_GRIDS,
)
from flgames.runs.entries import entry as entry_of
from flgames.runs.entry import Entry
from flgames.runs.folder import environment
from flgames.runs.names import SETTLED
from flgames.runs.runner import Interrupted, set_up
from flgames.runs.trials import real_trials, settling_trials, trials
from flgames.seeds import generator


def parted(clients: Clients, seed: int) -> tuple[dict[str, Samples], dict[str, Samples]]:
    """Every client's samples in two: those to train on, and those to judge by."""
    train: dict[str, Samples] = {}
    judge: dict[str, Samples] = {}
    for name, samples in clients.items():
        order = torch.from_numpy(generator(seed, "search", name).permutation(len(samples)))
        cut = round(JUDGED * len(samples))
        judge[name], train[name] = Subset(samples, order[:cut]), Subset(samples, order[cut:])
    return train, judge


@torch.inference_mode()
def accuracy(model: nn.Module, samples: Iterable[Samples], device: torch.device) -> float:
    """Of a model on the samples of several clients, together."""
    right = total = 0
    for each in samples:
        for index in torch.split(torch.arange(len(each)), EVALUATED):
            inputs, targets = each.batch(index)
            right += int((model.to(device)(inputs.to(device)).argmax(1).cpu() == targets).sum())
            total += len(targets)
    return right / total


@dataclass(frozen=True)
class Trial:
    """One method with one choice of values, and its accuracy on what it did not train on."""

    name: str
    rules: Mapping[str, Plain]
    accuracy: float
    samples: int = 0
    """That it was counted on, where that matters."""
    differs: float | None = None
    """Of a game that finds a shortcut: how much clients differ in what u tells, by G squared, on the same samples."""

    @property
    def score(self) -> float:
        return self.accuracy if self.differs is None else self.differs

    @property
    def margin(self) -> float:
        """Within it others are as good, but for chance."""
        if self.differs is not None:  # chi square, whose mean is large: its variance is four times that
            return ALIKE * 2 * math.sqrt(self.differs)
        return ALIKE * math.sqrt(self.accuracy * (1 - self.accuracy) / max(self.samples, 1))


class Judged(NamedTuple):
    """What is counted on samples that a trial did not train on: the fields of a trial."""

    accuracy: float = 0.0
    samples: int = 0
    differs: float | None = None


class Search:
    """All trials on a planted benchmark. Finished ones are files under ``folder`` and are not played again."""

    grids: Mapping[str, Mapping[str, tuple[Plain, ...]]] = GRIDS | SETTLING_GRIDS
    names: tuple[str, ...] = (*BASELINES, *SETTLING_GRIDS)
    gentle: tuple[str, ...] = tuple(SETTLING_GRIDS)
    """Of which the gentlest values are chosen that are as good as the best, but for chance."""

    def __init__(self, options: BenchmarkOptions, folder: Path, device: torch.device, seed: int = SEED) -> None:
        self.options = options
        self.folder = folder
        self.device = device
        self.seed = seed
        self.environment = environment()

    def path(self, entry: Entry) -> Path:
        what = [self.options.decides(), entry.decides(), self.seed, JUDGED]
        key = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:12]
        return self.folder / self.options.benchmark / f"{entry.slug}-{key}.json"

    def find(self, entry: Entry) -> Trial | None:
        """A trial that has been played."""
        path = self.path(entry)
        if not path.exists():
            return None
        saved = json.loads(path.read_text())
        judged = Judged(*(saved[field] for field in Judged._fields if field in saved))
        return Trial(entry.slug, saved["rules"], *judged)

    def trials(self, name: str) -> Iterator[Entry]:
        """A method with each of the values that are tried."""
        return settling_trials(name, self.options) if name in SETTLING_GRIDS else trials(name)

    def declared(self, name: str) -> dict[str, Plain]:
        """The values that a method has, whatever the search says."""
        config = entry_of(SETTLED if name in SETTLING_GRIDS else name, self.options).config
        return {value: config[value] for value in self.grids[name]}

    def judged(self, entry: Entry, follower: Callback, interrupted: Callable[[], bool]) -> Judged:
        """Play a trial, and judge it by samples that it did not train on."""
        data = entry.benchmark(self.options).data(self.seed)
        if entry.slug in SETTLING_GRIDS:
            game = set_up(entry, data.training_clients(), data.classes, self.seed, self.device)
            _play(game, follower, interrupted)
            return _settled(game)
        train, judge = parted(data.training_clients(), self.seed)
        game = set_up(entry, train, data.classes, self.seed, self.device)
        _play(game, follower, interrupted)
        return Judged(accuracy(game.ensemble(), judge.values(), self.device), sum(map(len, judge.values())))

    def play(
        self,
        entry: Entry,
        follower: Callback,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> Trial:
        """A trial. One that diverges is as bad as can be."""
        try:
            judged = self.judged(entry, follower, interrupted)
        except Diverged:
            judged = Judged()
        trial = Trial(entry.slug, {name: entry.config[name] for name in self.grids[entry.slug]}, *judged)
        path = self.path(entry)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(
            path, asdict(trial) | {"seed": self.seed, "judged": JUDGED, "environment": self.environment.model_dump()}
        )
        return trial

    def good(self, name: str) -> list[Trial]:
        """The best trial of a method, once all of them have been played; where the gentlest is wanted, all that are as
        good but for chance, in the grid's order, which begins with the gentlest."""
        found = [self.find(entry) for entry in self.trials(name)]
        played = [trial for trial in found if trial is not None]
        if len(played) < len(found):
            return []
        best = max(played, key=lambda trial: trial.score)
        if name not in self.gentle:
            return [best]
        return [trial for trial in played if trial.score >= best.score - best.margin]

    def chosen(self) -> dict[str, dict[str, Plain]]:
        """Of every baseline that has been searched: what belongs into baselines.py."""
        good = {name: self.good(name) for name in self.names if name not in SETTLING_GRIDS}
        return {name: dict(trials[0].rules) for name, trials in good.items() if trials}


class RealSearch(Search):
    """All trials on real data: FL Games' too, on several draws of training sites."""

    grids = REAL_GRIDS
    names = gentle = tuple(REAL_GRIDS)

    def trials(self, name: str) -> Iterator[Entry]:
        return real_trials(name, self.options)

    def judged(self, entry: Entry, follower: Callback, interrupted: Callable[[], bool]) -> Judged:
        """Pooled over draws."""
        right = total = 0.0
        for draw in SEARCH_DRAWS:
            options = self.options.model_copy(update={"draw": draw, "states": SEARCH_STATES})
            data = entry.benchmark(options).data(draw)
            game = set_up(entry, data.training_clients(), data.classes, draw, self.device)
            _play(game, follower, interrupted)
            held_back = game.result([]).held_back.values()
            right += sum(figures.n * figures.accuracy for figures in held_back)
            total += sum(figures.n for figures in held_back)
        return Judged(right / total, round(total))


def chosen_for_all(name: str, searches: Iterable[Search]) -> dict[str, Plain]:
    """A settled game has the same values everywhere: the gentlest that are as good as the best, but for chance, on all
    benchmarks where they were searched."""
    first, *others = [[trial.rules for trial in good] for search in searches if (good := search.good(name))]
    return dict(next(rules for rules in first if all(rules in good for good in others)))


def _settled(game: Play) -> Judged:
    """How much clients differ in what u tells; after training, weighted accuracy of the round that the rule chose, and
    of how many samples, as weights count them."""
    found = game.method.finding()
    assert found is not None
    assert found.differs is not None
    if game.rule is None:
        return Judged(differs=found.differs.statistic)
    assert game.kept is not None
    measure = game.kept.measure
    return Judged(measure.accuracy, round(measure.samples * measure.effective))


def search_on(options: BenchmarkOptions, folder: Path, device: torch.device, seed: int = SEED) -> Search:
    """The search that suits a benchmark."""
    kind = RealSearch if isinstance(benchmark(options), Sites) else Search
    return kind(options, folder, device, seed)


def _play(game: Play, follower: Callback, interrupted: Callable[[], bool]) -> None:
    game.start()
    if game.run([follower], interrupted=interrupted) == "interrupted":
        raise Interrupted

"""The values of a method, chosen on training clients only.

Each trial plays on four fifths of every training client and is judged on the rest of them. Unseen clients are never
built.

On planted benchmarks all baselines take the same number of steps, and rounds are not searched: a method whose penalty
comes late could otherwise be ended before it. On real data the rule that all methods share chooses the round, and a
trial is played on several draws of training sites.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

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
from flgames.runs.baselines import ALIKE, BASELINES, GRIDS, JUDGED, REAL_GRIDS, SEARCH_DRAWS, SEARCH_STATES, SEED
from flgames.runs.entries import real_trials, trials
from flgames.runs.entry import Entry
from flgames.runs.folder import environment
from flgames.runs.runner import Interrupted, set_up
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
    """One baseline with one choice of values, and its accuracy on what it did not train on."""

    name: str
    rules: Mapping[str, Plain]
    accuracy: float
    samples: int = 0
    """That it was counted on, where that matters."""


class Search:
    """All trials on a planted benchmark. Finished ones are files under ``folder`` and are not played again."""

    grids: Mapping[str, Mapping[str, tuple[Plain, ...]]] = GRIDS
    names: tuple[str, ...] = tuple(BASELINES)

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
        return Trial(entry.slug, saved["rules"], saved["accuracy"], saved.get("samples", 0))

    def trials(self, name: str) -> Iterator[Entry]:
        """A method with each of the values that are tried."""
        return trials(name)

    def judged(self, entry: Entry, follower: Callback, interrupted: Callable[[], bool]) -> tuple[float, int]:
        """Play a trial: its accuracy on samples that it did not train on, and how many those are."""
        data = entry.benchmark(self.options).data(self.seed)
        train, judge = parted(data.training_clients(), self.seed)
        game = set_up(entry, train, data.classes, self.seed, self.device)
        _play(game, follower, interrupted)
        return accuracy(game.ensemble(), judge.values(), self.device), sum(map(len, judge.values()))

    def play(
        self,
        entry: Entry,
        follower: Callback,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> Trial:
        """A trial. One that diverges is as bad as can be."""
        try:
            judged, samples = self.judged(entry, follower, interrupted)
        except Diverged:
            judged, samples = 0.0, 0
        trial = Trial(entry.slug, {name: entry.config[name] for name in self.grids[entry.slug]}, judged, samples)
        path = self.path(entry)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(
            path, asdict(trial) | {"seed": self.seed, "judged": JUDGED, "environment": self.environment.model_dump()}
        )
        return trial

    def best(self, name: str) -> Trial | None:
        """The best trial of a method, once all of them have been played; the first of equals."""
        found = [self.find(entry) for entry in self.trials(name)]
        played = [trial for trial in found if trial is not None]
        return self.choice(played) if len(played) == len(found) else None

    def choice(self, played: Sequence[Trial]) -> Trial:
        return max(played, key=lambda trial: trial.accuracy)

    def chosen(self) -> dict[str, dict[str, Plain]]:
        """Of every method that has been searched: what belongs into baselines.py."""
        best = {name: self.best(name) for name in self.names}
        return {name: dict(trial.rules) for name, trial in best.items() if trial}


class RealSearch(Search):
    """All trials on real data: FL Games' too, on several draws of training sites."""

    grids = REAL_GRIDS
    names = tuple(REAL_GRIDS)

    def trials(self, name: str) -> Iterator[Entry]:
        return real_trials(name, self.options)

    def choice(self, played: Sequence[Trial]) -> Trial:
        """The first in the grid's order, which begins with the gentlest, that is as good as the best but for chance."""
        best = super().choice(played)
        margin = ALIKE * math.sqrt(best.accuracy * (1 - best.accuracy) / max(best.samples, 1))
        return next(trial for trial in played if trial.accuracy >= best.accuracy - margin)

    def judged(self, entry: Entry, follower: Callback, interrupted: Callable[[], bool]) -> tuple[float, int]:
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
        return right / total, round(total)


def search_on(options: BenchmarkOptions, folder: Path, device: torch.device, seed: int = SEED) -> Search:
    """The search that suits a benchmark."""
    kind = RealSearch if isinstance(benchmark(options), Sites) else Search
    return kind(options, folder, device, seed)


def _play(game: Play, follower: Callback, interrupted: Callable[[], bool]) -> None:
    game.start()
    if game.run([follower], interrupted=interrupted) == "interrupted":
        raise Interrupted

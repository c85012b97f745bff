"""The values of a baseline, chosen on training clients only.

Each trial plays all its rounds on four fifths of every training client and is judged on the rest of them. All
baselines take the same number of steps, so rounds are not searched: a method whose penalty comes late could otherwise
be ended before it. The unseen client is never built.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import nn

from flgames.core.callbacks import Callback
from flgames.core.knobs import Plain
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.samples import EVALUATED, Clients, Samples, Subset
from flgames.errors import Diverged
from flgames.files import write_json
from flgames.runs.baselines import BASELINES, GRIDS, JUDGED, SEED
from flgames.runs.entries import trials
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


class Search:
    """All trials on a benchmark. Finished ones are files under ``folder`` and are not played again."""

    def __init__(self, options: BenchmarkOptions, folder: Path, device: torch.device, seed: int = SEED) -> None:
        self.options = options
        self.folder = folder
        self.device = device
        self.seed = seed
        self.environment = environment()

    def path(self, entry: Entry) -> Path:
        what = [self.options.model_dump(mode="json", exclude_defaults=True), entry.decides(), self.seed, JUDGED]
        key = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:12]
        return self.folder / self.options.benchmark / f"{entry.slug}-{key}.json"

    def find(self, entry: Entry) -> Trial | None:
        """A trial that has been played."""
        path = self.path(entry)
        if not path.exists():
            return None
        saved = json.loads(path.read_text())
        return Trial(entry.slug, saved["rules"], saved["accuracy"])

    def play(
        self,
        entry: Entry,
        follower: Callback,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> Trial:
        """A trial. One that diverges is as bad as can be."""
        data = entry.benchmark(self.options).data(self.seed)
        train, judge = parted(data.training_clients(), self.seed)
        game = set_up(entry, train, data.classes, self.seed, self.device)
        try:
            game.start()
            if game.run([follower], interrupted=interrupted) == "interrupted":
                raise Interrupted
            judged = accuracy(game.ensemble(), judge.values(), self.device)
        except Diverged:
            judged = 0.0
        trial = Trial(entry.slug, {name: entry.config[name] for name in GRIDS[entry.slug]}, judged)
        path = self.path(entry)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(
            path, asdict(trial) | {"seed": self.seed, "judged": JUDGED, "environment": self.environment.model_dump()}
        )
        return trial

    def best(self, name: str) -> Trial | None:
        """The best trial of a baseline, once all of them have been played; the first of equals."""
        found = [self.find(entry) for entry in trials(name)]
        played = [trial for trial in found if trial is not None]
        return max(played, key=lambda trial: trial.accuracy) if len(played) == len(found) else None

    def chosen(self) -> dict[str, dict[str, Plain]]:
        """Of every baseline that has been searched: what belongs into baselines.py."""
        best = {name: self.best(name) for name in BASELINES}
        return {name: dict(trial.rules) for name, trial in best.items() if trial}

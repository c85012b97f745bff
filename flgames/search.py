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
from typing import Any

import torch
from torch import nn

from flgames.baselines import BASELINES, GRIDS, trials
from flgames.contest import Interrupted, set_up
from flgames.data.catalogue import BenchmarkOptions
from flgames.data.clients import Clients, Samples, Subset
from flgames.entry import Entry
from flgames.errors import Diverged
from flgames.files import write_json
from flgames.play import Observers
from flgames.runs import environment
from flgames.seeds import generator

SEED = 100
"""The clients of the search; the tables show others."""

JUDGED = 0.2
"""The part of each training client that a trial does not train on."""

CHUNK = 2048


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
        for index in torch.split(torch.arange(len(each)), CHUNK):
            inputs, targets = each.batch(index)
            right += int((model.to(device)(inputs.to(device)).argmax(1).cpu() == targets).sum())
            total += len(targets)
    return right / total


@dataclass(frozen=True)
class Trial:
    """One baseline with one choice of values, and its accuracy on what it did not train on."""

    name: str
    rules: Mapping[str, Any]
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
        on_round: Callable[[int], None] = lambda _: None,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> Trial:
        """A trial. One that diverges is as bad as can be."""
        source = entry.benchmark(self.options)
        train, judge = parted(source.training_clients(self.seed), self.seed)
        game = set_up(entry, train, source.classes, self.seed, self.device)
        try:
            game.start()
            observers = Observers(lambda round_: on_round(round_.round + 1))
            if game.run(observers, interrupted=interrupted) == "interrupted":
                raise Interrupted
            judged = accuracy(game.ensemble(), judge.values(), self.device)
        except Diverged:
            judged = 0.0
        trial = Trial(entry.slug, {name: entry.rules[name] for name in GRIDS[entry.slug]}, judged)
        path = self.path(entry)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, asdict(trial) | {"seed": self.seed, "judged": JUDGED, "environment": self.environment})
        return trial

    def best(self, name: str) -> Trial | None:
        """The best trial of a baseline, once all of them have been played; the first of equals."""
        found = [self.find(entry) for entry in trials(name)]
        played = [trial for trial in found if trial is not None]
        return max(played, key=lambda trial: trial.accuracy) if len(played) == len(found) else None

    def chosen(self) -> dict[str, dict[str, Any]]:
        """Of every baseline that has been searched: what belongs into baselines.py."""
        best = {name: self.best(name) for name in BASELINES}
        return {name: dict(trial.rules) for name, trial in best.items() if trial}

"""One of five sites attacks: how accurate is what the honest ones get, with each defence?"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import torch
from rich.console import Console
from torch import Tensor, nn

from flgames.core.client import Site
from flgames.core.knobs import MergedBy, Plain
from flgames.core.loop import Play
from flgames.core.robust import merged
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.samples import Samples
from flgames.errors import Diverged
from flgames.evaluation.profile import invariance_profile
from flgames.files import write_atomically
from flgames.models.ensemble import Ensemble
from flgames.models.networks import MLP
from flgames.report.attacking import ATTACKS, Attacked, Reversed
from flgames.runs.entries import entry
from flgames.runs.match import Match
from flgames.waiting.told import followed

OPTIONS = BenchmarkOptions(benchmark="colored-digits", clients=5)
SEEDS = range(5)
VALIDATION = 0.2
WIDTH = 64

DIGITS = 4
"""Of an accuracy, as it is written: a table is the same when it is made of the file."""


@dataclass(frozen=True)
class Defence:
    name: str
    config: dict[str, Plain] = field(default_factory=dict)
    share_cap: float = 1.0
    at_the_end: MergedBy = "mean"
    """What is made of the players' logits when the game is over. Nobody can choose it: this is what shows why."""


@dataclass(frozen=True)
class Tried:
    """A method, how long it is played, with which values, and against what."""

    title: str
    slug: str
    rounds: int
    values: dict[str, Plain]
    defences: tuple[Defence, ...]
    looks_elsewhere: bool = False
    """Whether the model is also judged at the client that nobody trained on."""


AVERAGED = (
    Defence("none"),
    Defence("share cap 0.3", share_cap=0.3),
    Defence("clip 1", {"clip": 1.0}),
    Defence("clip 1, share cap 0.3", {"clip": 1.0}, 0.3),
    Defence("median", {"merged_by": "median"}),
    Defence("trimmed mean", {"merged_by": "trimmed"}),
)

PLAYERS = (
    Defence("none"),
    Defence("median in the end", at_the_end="median"),
    Defence("trimmed mean in the end", at_the_end="trimmed"),
    Defence("player clip 2", {"player_clip": 2.0}),
    Defence("player clip 1", {"player_clip": 1.0}),
)

METHODS = {
    "fedavg": Tried("FedAvg", "fedavg", 20, {"learning_rate": 1e-3, "local_steps": 10}, AVERAGED),
    "fedsgd": Tried("FedSGD", "fedsgd", 100, {"learning_rate": 2e-3}, AVERAGED),
    "fl-games": Tried(
        "F-FL Games (Smooth)", "parallel-f-fl-games-smooth", 100, {"learning_rate": 1e-3}, PLAYERS, looks_elsewhere=True
    ),
}

Row = tuple[str, str, str, int]
"""Method, attack, defence and seed."""

Figures = tuple[float, float | None]
"""Accuracy of the honest sites, and at the client that nobody trained on."""

HEADER = ("method", "attack", "defence", "seed", "accuracy", "unseen")


def all_rows() -> Iterator[Row]:
    for name, method in METHODS.items():
        for seed in SEEDS:
            for attack in ATTACKS:
                for defence in method.defences:
                    yield name, attack.name, defence.name, seed


def figures(method: str, attack: str, defence: str, seed: int, rounds: int | None = None) -> Figures:
    """What the honest sites get: their mean accuracy on samples that they held back, and that at the unseen client,
    where the shortcut is as often right as wrong; 0 where the game diverged."""
    tried = METHODS[method]
    (chosen,) = (each for each in tried.defences if each.name == defence)
    try:
        played = _played(method, attack, tuple(chosen.config.items()), chosen.share_cap, seed, rounds or tried.rounds)
    except Diverged:
        return 0.0, 0.0 if tried.looks_elsewhere else None
    model: nn.Module = played.ensemble if chosen.at_the_end == "mean" else Merged(played.ensemble, chosen.at_the_end)
    here = fmean(_accuracy(model, samples) for samples in played.honest)
    if not tried.looks_elsewhere:
        return round(here, DIGITS), None
    elsewhere = invariance_profile(model, played.data.held_out_client(), torch.device("cpu"))
    return round(here, DIGITS), round(elsewhere.mean, DIGITS)


class Merged(nn.Module):
    """The players of an ensemble, with their logits merged otherwise than by the mean."""

    def __init__(self, ensemble: Ensemble, by: MergedBy) -> None:
        super().__init__()
        self.ensemble = ensemble
        self.by: MergedBy = by

    def forward(self, inputs: Tensor) -> Tensor:
        features = self.ensemble.representation(inputs)
        said = {str(number): {"logits": player(features)} for number, player in enumerate(self.ensemble.players)}
        # Only differences between classes mean anything.
        centred = {
            name: {"logits": each["logits"] - each["logits"].mean(1, keepdim=True)} for name, each in said.items()
        }
        return merged(centred, {}, self.by)["logits"]


@dataclass(frozen=True)
class _Ended:
    ensemble: Ensemble
    honest: tuple[Samples, ...]
    """What the honest sites held back."""
    data: Any


@lru_cache(maxsize=1)  # what is done in the end needs no game of its own
def _played(
    method: str, attack: str, config: tuple[tuple[str, Plain], ...], share_cap: float, seed: int, rounds: int
) -> _Ended:
    tried, chosen = METHODS[method], entry(METHODS[method].slug, OPTIONS)
    (lie,) = (each for each in ATTACKS if each.name == attack)
    values = chosen.config | tried.values | dict(config)
    chosen = chosen.model_copy(update={"config": values, "network": MLP(width=WIDTH), "validation": VALIDATION})
    data = Match(options=OPTIONS, entry=chosen, seed=seed).data()
    clients: dict[str, Samples] = dict(data.training_clients())
    if lie.reverses_labels:
        liar = tuple(clients)[-1]
        clients[liar] = Reversed(clients[liar], data.classes)
    made = chosen.make(data.input_shape, data.classes)
    sites = [Site.of(name, samples, seed, validation=VALIDATION) for name, samples in clients.items()]
    federation = Attacked({site.name: made.client(site) for site in sites}, lie)
    rule = chosen.rule if tried.looks_elsewhere else None
    play = Play(made, federation, seed=seed, rounds=rounds, rule=rule, share_cap=share_cap)
    play.start()
    play.run()
    honest = tuple(site.held_back for site in sites if site.name != federation.liar and site.held_back is not None)
    return _Ended(play.chosen(), honest, data)


@torch.inference_mode()
def _accuracy(model: nn.Module, samples: Samples) -> float:
    inputs, targets = samples.batch(torch.arange(len(samples)))
    return float((model(inputs).argmax(1) == targets).double().mean())


def run_attacks(out: Path, console: Console) -> None:
    """Play what has not been played, and write the table. It goes on where it was stopped."""
    torch.set_num_threads(1)
    path = out / "attacks.csv"
    found = _read(path)
    waiting = [row for row in all_rows() if row not in found]
    for row in followed(waiting, lambda row: f"{row[0]}, {row[1]}, {row[2]}, seed {row[3]}"):
        found[row] = figures(*row)
        _write(path, found)
    text = markdown(found)
    write_atomically(out / "attacks.md", text.encode())
    console.print(text)


def markdown(found: dict[Row, Figures]) -> str:
    """Accuracy in percent, mean and standard deviation over seeds: a table a method, and one for elsewhere."""
    lines = ["# One of five sites attacks", "", "Accuracy in percent, of what the four honest sites get.", ""]
    for name, method in METHODS.items():
        lines += [f"## {method.title}, at the honest sites", "", *_table(name, found, 0), ""]
        if method.looks_elsewhere:
            lines += [f"## {method.title}, at the unseen client", "", *_table(name, found, 1), ""]
    return "\n".join(lines)


def _table(method: str, found: dict[Row, Figures], which: int) -> list[str]:
    defences = METHODS[method].defences
    lines = [f"| attack | {' | '.join(each.name for each in defences)} |", "|---" * (len(defences) + 1) + "|"]
    for attack in ATTACKS:
        cells = [
            _cell([found[method, attack.name, each.name, seed][which] or 0.0 for seed in SEEDS]) for each in defences
        ]
        lines.append(f"| {attack.name} | {' | '.join(cells)} |")
    return lines


def _cell(values: list[float]) -> str:
    return f"{100 * fmean(values):.1f} ± {100 * stdev(values):.1f}"


def _read(path: Path) -> dict[Row, Figures]:
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {
            (line["method"], line["attack"], line["defence"], int(line["seed"])): (
                float(line["accuracy"]),
                float(line["unseen"]) if line.get("unseen") else None,
            )
            for line in csv.DictReader(file)
        }


def _write(path: Path, found: dict[Row, Figures]) -> None:
    lines = [",".join(HEADER)]
    for row in all_rows():
        if row in found:
            quoted = [f'"{each}"' if "," in str(each) else str(each) for each in row]
            here, elsewhere = found[row]
            lines.append(
                ",".join([*quoted, f"{here:.{DIGITS}f}", "" if elsewhere is None else f"{elsewhere:.{DIGITS}f}"])
            )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, ("\n".join(lines) + "\n").encode())

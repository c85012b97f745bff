"""One of five sites attacks: how accurate is what the honest ones get, with each defence?"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev

import torch
from rich.console import Console

from flgames.core.client import Site
from flgames.core.knobs import Plain
from flgames.core.loop import Play
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.samples import Samples
from flgames.errors import Diverged
from flgames.files import write_atomically
from flgames.models.networks import MLP
from flgames.report.attacking import ATTACKS, Attack, Attacked, Reversed
from flgames.runs.entries import entry
from flgames.runs.match import Match

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


DEFENCES = (
    Defence("none"),
    Defence("share cap 0.3", share_cap=0.3),
    Defence("clip 1", {"clip": 1.0}),
    Defence("clip 1, share cap 0.3", {"clip": 1.0}, 0.3),
    Defence("median", {"merged_by": "median"}),
    Defence("trimmed mean", {"merged_by": "trimmed"}),
)

METHODS: dict[str, tuple[int, dict[str, Plain]]] = {
    "fedavg": (20, {"learning_rate": 1e-3, "local_steps": 10}),
    "fedsgd": (100, {"learning_rate": 2e-3}),
}
"""Rounds and values of each."""

Row = tuple[str, str, str, int]
"""Method, attack, defence and seed."""

HEADER = ("method", "attack", "defence", "seed", "accuracy")


def all_rows() -> Iterator[Row]:
    for method in METHODS:
        for seed in SEEDS:
            for attack in ATTACKS:
                for defence in DEFENCES:
                    yield method, attack.name, defence.name, seed


def accuracy(method: str, attack: Attack, defence: Defence, seed: int, rounds: int | None = None) -> float:
    """The mean accuracy of the honest sites on samples that they held back; 0 where the game diverged."""
    usual, values = METHODS[method]
    chosen = entry(method, OPTIONS)
    config = chosen.config | values | defence.config
    chosen = chosen.model_copy(update={"config": config, "network": MLP(width=WIDTH), "validation": VALIDATION})
    data = Match(options=OPTIONS, entry=chosen, seed=seed).data()
    clients: dict[str, Samples] = dict(data.training_clients())
    if attack.reverses_labels:
        liar = tuple(clients)[-1]
        clients[liar] = Reversed(clients[liar], data.classes)
    played = chosen.make(data.input_shape, data.classes)
    sites = [Site.of(name, samples, seed, validation=VALIDATION) for name, samples in clients.items()]
    federation = Attacked({site.name: played.client(site) for site in sites}, attack)
    play = Play(played, federation, seed=seed, rounds=rounds or usual, share_cap=defence.share_cap)
    try:
        play.start()
        play.run()
        counted = play.server.measure(play.population).clients
    except Diverged:
        return 0.0
    return round(fmean(each.accuracy for name, each in counted.items() if name != federation.liar), DIGITS)


def run_attacks(out: Path, console: Console) -> None:
    """Play what has not been played, and write the table. It goes on where it was stopped."""
    torch.set_num_threads(1)
    path = out / "attacks.csv"
    found = _read(path)
    attacks, defences = ({each.name: each for each in every} for every in (ATTACKS, DEFENCES))
    for row in all_rows():
        if row not in found:
            method, attack, defence, seed = row
            found[row] = accuracy(method, attacks[attack], defences[defence], seed)  # type: ignore[arg-type]
            console.print(f"{method}, {attack}, {defence}, seed {seed}: {found[row]:.3f}")
            _write(path, found)
    text = markdown(found)
    write_atomically(out / "attacks.md", text.encode())
    console.print(text)


def markdown(found: dict[Row, float]) -> str:
    """Accuracy in percent, mean and standard deviation over seeds: a table a method."""
    lines = [
        "# One of five sites attacks",
        "",
        "Accuracy of the four honest sites, in percent, on samples held back.",
        "",
    ]
    for method in METHODS:
        lines += [f"## {method}", "", f"| attack | {' | '.join(each.name for each in DEFENCES)} |"]
        lines += ["|---" * (len(DEFENCES) + 1) + "|"]
        for attack in ATTACKS:
            cells = [_cell([found[method, attack.name, each.name, seed] for seed in SEEDS]) for each in DEFENCES]
            lines.append(f"| {attack.name} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def _cell(values: list[float]) -> str:
    return f"{100 * fmean(values):.1f} ± {100 * stdev(values):.1f}"


def _read(path: Path) -> dict[Row, float]:
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {
            (line["method"], line["attack"], line["defence"], int(line["seed"])): float(line["accuracy"])
            for line in csv.DictReader(file)
        }


def _write(path: Path, found: dict[Row, float]) -> None:
    lines = [",".join(HEADER)]
    for row in all_rows():
        if row in found:
            quoted = [f'"{each}"' if "," in str(each) else str(each) for each in row]
            lines.append(",".join([*quoted, f"{found[row]:.{DIGITS}f}"]))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, ("\n".join(lines) + "\n").encode())

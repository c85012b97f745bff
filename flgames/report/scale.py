"""What a round costs with more and more clients: seconds, bytes and memory, and by which power of N they grow.

Every case is played in a process of its own, so that its peak of memory is its own:
``python -m flgames.report.scale KIND PLAYERS PARTICIPATION`` prints one case.
"""

from __future__ import annotations

import csv
import io
import json
import math
import platform
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

import torch
from rich.console import Console

from flgames.core.callbacks import Callback
from flgames.core.local import LocalFederation
from flgames.core.loop import Play
from flgames.core.records import RoundRecord
from flgames.data.samples import ArraySamples
from flgames.files import write_atomically
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.server import Game
from flgames.models.linear import linear_architecture
from flgames.models.mlp import paper_architecture
from flgames.waiting.told import followed

COLUMNS, ROWS = 73, 400
"""Of a table a client, as FARS has them."""

DRAWN = 5
"""Opponents, where perceptrons don't answer all of them."""

MOST = {"linear": 1000, "linear, batched": 1000, "MLP": 100, f"MLP, {DRAWN} opponents, batched": 100}
"""Clients of the largest case. Every perceptron is evaluated at every client: a thousand make a million passes."""

SIZES = (2, 10, 100, 1000)
PARTICIPATION = (1.0, 0.1)
MEMORY = 5
FROM = 10
"""Exponents are fitted from so many clients on: below, what a round costs anyhow counts most."""


@dataclass(frozen=True)
class Case:
    """One round of so many players, as the median of several, and the peak of memory over all of them."""

    kind: str
    players: int
    participation: float
    seconds: float
    megabytes: float
    memory: float
    """In megabytes, above what the process has before there are clients."""


def measured(kind: str, players: int, participation: float, rounds: int) -> Case:
    """Play some rounds of a case in this process, after those that fill the memory."""
    before = _peak()
    batched = kind.endswith("batched")
    is_linear = kind.startswith("linear")
    memory = MEMORY if is_linear else 0
    opponents = DRAWN if "opponents" in kind else 0
    config = FLGamesConfig(memory=memory, participation=participation, batched=batched, opponents=opponents)
    shape = (COLUMNS,)
    method = Game(linear_architecture(shape, 2) if is_linear else paper_architecture(shape, 2, False), config)
    draw = torch.Generator().manual_seed(0)
    clients = {
        f"client-{k}": ArraySamples(torch.randn(ROWS, COLUMNS, generator=draw), torch.arange(ROWS) % 2)
        for k in range(players)
    }
    warm_up = memory + 1
    play = Play(method, LocalFederation.of(method, clients, seed=0), seed=0, rounds=warm_up + rounds + 1)
    play.start()
    heard: list[RoundRecord] = []
    clock: list[float] = []

    class Listener(Callback):
        def on_round(self, record: RoundRecord) -> None:
            heard.append(record)
            clock.append(time.process_time())

    play.run([Listener()])
    seconds = [after - earlier for earlier, after in pairwise(clock)][warm_up:]
    moved = [sum(each.down + each.up for each in record.bytes.values()) for record in heard[warm_up:]]
    return Case(kind, players, participation, median(seconds), median(moved) / 1e6, (_peak() - before) / 1e6)


def _peak() -> int:
    """The largest memory that this process has had, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def exponent(cases: list[Case], what: str) -> float:
    """The power of N by which something grows, fitted on logarithms."""
    points = [(math.log(case.players), math.log(float(asdict(case)[what]))) for case in cases if case.players >= FROM]
    x, y = (math.fsum(values) / len(points) for values in zip(*points, strict=True))
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


def run_scale(out: Path, console: Console) -> None:
    """Measure every case, and write both tables."""
    planned = [(kind, n, part) for kind, most in MOST.items() for part in PARTICIPATION for n in SIZES if n <= most]
    cases = [_apart(*each) for each in followed(planned, lambda each: f"{each[1]:,} clients, {each[0]}")]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(asdict(cases[0])), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: round(v, 4) if isinstance(v, float) else v for name, v in asdict(c).items()} for c in cases)
    out.mkdir(parents=True, exist_ok=True)
    write_atomically(out / "bench-scale.csv", text.getvalue().encode())
    table = markdown(cases)
    write_atomically(out / "bench-scale.md", table.encode())
    console.print(table, soft_wrap=True)


def _apart(kind: str, players: int, participation: float) -> Case:
    command = [sys.executable, "-m", "flgames.report.scale", kind, str(players), str(participation)]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return Case(**json.loads(said))


def markdown(cases: list[Case]) -> str:
    """A row a case, and the exponents of each kind."""
    lines = [
        "# What a round costs with more clients",
        "",
        f"`flgames bench --scale`: one thread, torch {torch.__version__}, Python {platform.python_version()}.",
        f"Simultaneous play, linear players with memory {MEMORY} and perceptrons without, {ROWS} samples of {COLUMNS}",
        "columns a client, batches of 256, moves and counts (256 samples a client at least). Seconds are processor",
        "time, medians of several rounds. Memory is the peak above an empty process, samples included. Exponents are",
        f"fitted from N = {FROM} on.",
        "",
        "| players | participation | N | seconds a round | MB moved | MB of memory |",
        "|---|---|---|---|---|---|",
    ]
    for kind in MOST:
        for part in PARTICIPATION:
            own = [case for case in cases if (case.kind, case.participation) == (kind, part)]
            for c in own:
                lines.append(
                    f"| {kind} | {part:g} | {c.players:,} | {c.seconds:.4f} | {c.megabytes:.3f} | {c.memory:.0f} |"
                )
            fitted = (f"**{exponent(own, what):.2f}**" for what in ("seconds", "megabytes", "memory"))
            lines.append(f"| {kind} | {part:g} | exponent | {' | '.join(fitted)} |")
    return "\n".join([*lines, ""])


def main() -> None:
    kind, players, participation = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    torch.set_num_threads(1)
    rounds = 3 if players * (30 if kind.startswith("MLP") else 1) >= 1000 else 15
    print(json.dumps(asdict(measured(kind, players, participation, rounds))))


if __name__ == "__main__":
    main()

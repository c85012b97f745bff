"""``python -m faults.soak``: two long games over NVFlare on loopback, one of them with sites that are killed.

It plays ``--rounds`` rounds of linear players without a fault, so that every process is there for all of them, and as
many while one site is killed and started again every ``--kill-every`` rounds. Then it says whether memory has grown,
whether anything was left behind, and whether the weights are those of the local engine. The same game in one process,
without NVFlare, shows how much of the memory is ours.
"""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from faults.soak.absences import weights_of_the_same_game
from faults.soak.control import without_nvflare
from faults.soak.game import RUN, Soak
from faults.soak.table import MAY_GROW, Outcome, markdown, write_memory
from flgames.engines import processes
from flgames.engines.launch import FRUGAL
from tests.games import same, weights
from tests.nvflare_sites import sites

HERE = Path(__file__).parents[2]


def soaked(name: str, rounds: int, clients: int, kill_every: int, progress: Progress) -> Outcome:
    """One game, and what became of it."""
    bar = progress.add_task(name, total=rounds)
    folder = Path(tempfile.mkdtemp(prefix="flgames-soak-"))
    began = time.monotonic()
    try:
        (folder / "federation").mkdir()
        with sites(folder / "federation", clients) as up:
            soak = Soak(up, rounds, lambda played: progress.update(bar, completed=played))
            soak.play(folder, kill_every)
            seconds = time.monotonic() - began
            left = soak.left_behind()
            run = up.run_folder(RUN)
            record = up.rounds(RUN)
            as_local = same(weights(run), weights_of_the_same_game(run))
            marks = [up.mark(each) for each in ("localhost", *up.clients)]
        left += [str(each.pid) for mark in marks for each in processes.marked(mark)]
        absent = sum(len(up.clients) - len(line["moved"]) for line in record)
        lasted = record[-1]["seconds"] / len(record)
        return Outcome(name, len(record), soak.again, seconds, lasted, absent, as_local, left, soak.kills, soak.memory)
    finally:
        shutil.rmtree(folder)


def main(
    rounds: Annotated[int, typer.Option(min=2, help="Of each game.")] = 2000,
    clients: Annotated[int, typer.Option("--sites", min=2, help="How many play.")] = 5,
    kill_every: Annotated[int, typer.Option(min=1, help="Rounds between two kills; memory may grow in so many.")] = 200,
    out: Annotated[Path, typer.Option(help="Where soak.md and soak.csv go.")] = Path("results"),
) -> None:  # fmt: skip
    """Play long, kill sites, and look at what is left."""
    os.environ |= FRUGAL | {"PYTHONPATH": str(HERE)}
    console = Console()
    own = without_nvflare(rounds, tuple(f"client-{k}" for k in range(1, clients + 1)), kill_every)
    with Progress(console=console) as progress:
        outcomes = [
            soaked("undisturbed", rounds, clients, 0, progress),
            soaked("killed", rounds, clients, kill_every, progress),
        ]
    machine = (
        f"{os.cpu_count()} cores, Python {platform.python_version()}, torch {version('torch')}, "
        f"NVFlare {version('nvflare')}, load {os.getloadavg()[2]:.1f}"
    )
    command = f"python -m faults.soak --rounds {rounds} --sites {clients} --kill-every {kill_every}"
    out.mkdir(parents=True, exist_ok=True)
    text = markdown(outcomes, own, kill_every, command, machine)
    (out / "soak.md").write_text(text)
    write_memory(out / "soak.csv", outcomes)
    console.print(text, soft_wrap=True)
    if own.growth > MAY_GROW or not all(each.as_local and not each.left for each in outcomes):
        raise typer.Exit(1)


typer.run(main)

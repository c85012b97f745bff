"""``python -m faults.transport``: a round of linear players over NVFlare beside its parts.

The parts are the same round in one process, and the same bytes over the same sites without a game. Bytes are those on
the server's connections, as the kernel counts them, beside what the game counts.
"""

from __future__ import annotations

import os
import platform
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from faults.transport.measure import Figures, measured
from tests.nvflare_sites import sites

HERE = Path(__file__).parents[2]
GAMES = {
    "linear, 1 KB": {"benchmark": "colored-digits", "predictor": "linear"},
    "linear, 13 KB": {"benchmark": "colored-mnist", "predictor": "linear"},
}
"""What is played, and the bytes of a player's weights."""


def main(
    rounds: Annotated[int, typer.Option(min=40, help="Of every game.")] = 200,
    clients: Annotated[int, typer.Option("--sites", min=2, help="How many play.")] = 10,
    out: Annotated[Path, typer.Option(help="Where transport.md goes.")] = Path("results"),
) -> None:
    """Play over NVFlare on loopback, and say where the time and the bytes go."""
    os.environ["PYTHONPATH"] = str(HERE)
    usual = {
        "clients": str(clients), "variant": "f-fl-games-smooth", "schedule": "simultaneous", "rounds": str(rounds),
        "stop_below": "never", "against": "none", "threads": "1", "checkpoint_seconds": "600",
    }  # fmt: skip
    console = Console()
    with tempfile.TemporaryDirectory(prefix="flgames-transport-") as folder, Progress(console=console) as progress:
        bar = progress.add_task("games", total=len(GAMES))
        (Path(folder) / "federation").mkdir()
        found = {}
        with sites(Path(folder) / "federation", clients) as up:
            for name, game in GAMES.items():
                found[name] = measured(up, Path(folder), rounds, game | usual)
                progress.advance(bar)
    machine = (
        f"{os.cpu_count()} cores, Python {platform.python_version()}, torch {version('torch')}, "
        f"NVFlare {version('nvflare')}, load {os.getloadavg()[1]:.1f}"
    )
    command = f"python -m faults.transport --rounds {rounds} --sites {clients}"
    text = markdown(found, command, machine)
    out.mkdir(parents=True, exist_ok=True)
    (out / "transport.md").write_text(text)
    console.print(text, soft_wrap=True)


def markdown(found: dict[str, Figures], command: str, machine: str) -> str:
    lines = [
        "# A round over NVFlare, beside its parts",
        "",
        f"`{command}` on {machine}: every site a process of its own with one thread, mutual TLS on loopback. A round "
        "has two questions to every site. Transport is the same bytes over the same sites without a game.",
        "",
        "| players | one process, s | transport, s | over NVFlare, s | times the sum "
        "| without transport, times one process |",
        "|---|---|---|---|---|---|",
    ]
    for name, each in found.items():
        lines.append(
            f"| {name} | {each.local:.4f} | {each.transport:.4f} | {each.game:.4f} | {each.times_sum:.2f} "
            f"| {each.times_local:.2f} |"
        )
    lines += [
        "",
        "Bytes of a round, over all sites. The ledger counts tensors and numbers, payloads have headers, and the wire "
        "has NVFlare's envelopes and TLS.",
        "",
        "| players | ledger | payloads | wire | payloads, times the ledger | wire, times the ledger | wire a message |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, each in found.items():
        lines.append(
            f"| {name} | {each.ledger:,.0f} | {each.payload:,.0f} | {each.wire:,.0f} "
            f"| {each.payload / each.ledger:.3f} | {each.wire / each.ledger:.3f} "
            f"| {(each.wire - each.payload) / each.messages:+,.0f} |"
        )
    return "\n".join([*lines, ""])


typer.run(main)

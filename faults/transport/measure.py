"""A game over real sites, its bytes without the game, and the game without sites."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Any

import torch
from nvflare.collab import CollabRecipe

from faults.transport.job import EchoClient, EchoServer
from flgames.engines.nvflare.app import STATES
from flgames.engines.nvflare.job import WHOLE
from flgames.policy.journal import lines_of
from flgames.runs.folder import RunFolder
from flgames.runs.resolve import resolve
from flgames.runs.runner import play_run
from tests.nvflare_sites import Sites, write_job

ECHO = "echo"
PATIENCE = 600.0


@dataclass(frozen=True)
class Figures:
    """Of one round: medians of seconds, means of bytes over all sites."""

    local: float
    """Seconds in one process."""
    game: float
    transport: float
    """Seconds of the same bytes over the same sites, without a game."""
    ledger: float
    """Bytes that the game counts: tensors and numbers."""
    payload: float
    """Bytes that flgames hands to NVFlare, headers included."""
    wire: float
    """Bytes on the server's connections to the sites during the game, TLS included."""
    messages: int
    """Questions and answers."""

    @property
    def times_local(self) -> float:
        """What is left without transport, as times the local engine."""
        return (self.game - self.transport) / self.local

    @property
    def times_sum(self) -> float:
        """The game, as times the local engine and transport together."""
        return self.game / (self.local + self.transport)


def measured(sites: Sites, folder: Path, rounds: int, settings: dict[str, str]) -> Figures:
    """Play a game on sites that are up, then carry its bytes, then play it here."""
    name = "-".join(settings.values())
    options = [text for key, value in settings.items() for text in (f"--{key.replace('_', '-')}", value)]
    job = write_job(folder / f"{name}-job", name, *options)
    number = sites.submit(job)
    wire = _watched(sites, rounds, name)
    assert sites.wait_for_end(number) == "FINISHED:COMPLETED", sites.logs()
    lines = sites.rounds(name)
    sizes = _sizes(sites, RunFolder.open(sites.run_folder(name)).id)
    out = folder / f"{name}-echo.jsonl"
    recipe = CollabRecipe(
        ECHO, server=EchoServer(str(out), rounds, sizes), client=EchoClient(), min_clients=len(sites.clients)
    )
    recipe.add_server_config(WHOLE)
    recipe.add_client_config(WHOLE)
    recipe.export(str(folder / f"{name}-bytes"))
    shutil.rmtree(folder / f"{name}-bytes" / ECHO / "app" / "custom" / "flgames", ignore_errors=True)
    number = sites.submit(folder / f"{name}-bytes" / ECHO)
    assert sites.wait_for_end(number, timeout=PATIENCE) == "FINISHED:COMPLETED", sites.logs()
    carried = [json.loads(line) for line in out.read_text().splitlines()]
    local = RunFolder.create(folder / f"{name}-here", resolve(dict(settings)))
    torch.set_num_threads(1)
    play_run(local)
    (path,) = (folder / f"{name}-here").glob("*/seed-0/measures.jsonl")
    here = [json.loads(line) for line in path.read_text().splitlines()]
    ledger = fmean(sum(each["down"] + each["up"] for each in line["bytes"].values()) for line in lines[10:])
    payload = len(sites.clients) * sum(down + up for down, up in sizes)
    return Figures(
        _seconds(here), _seconds(lines), _seconds(carried), ledger, payload, wire, 2 * len(sizes) * len(sites.clients)
    )


def _seconds(lines: list[dict[str, Any]]) -> float:
    """The median round, without those at the beginning."""
    ends = [float(line["seconds"]) for line in lines[10:]]
    return median(after - before for before, after in pairwise(ends))


def _watched(sites: Sites, rounds: int, run: str) -> float:
    """Bytes a round on the server's connections, in the middle of a game."""
    looks = []
    for until in (rounds // 4, 3 * rounds // 4):
        sites.wait_for_round(run, until, timeout=PATIENCE)
        looks.append((carried_by(sites.port), len(sites.lines(run))))
    (before, first), (after, second) = looks
    return (after - before) / (second - first)


def carried_by(port: int) -> int:
    """Bytes that the connections at a port have sent and received, as the kernel counts them."""
    command = ["ss", "--tcp", "--info", "--no-header", "state", "established", f"( sport = :{port} )"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return sum(int(number) for number in re.findall(r"bytes_(?:sent|received):(\d+)", said))


def _sizes(sites: Sites, run: str) -> list[list[int]]:
    """Bytes down and up of every question of a round, as the first site has written them down."""
    audit = sites.kits / sites.clients[0] / STATES / sites.clients[0] / ".site" / "audit.jsonl"
    asked = [line for line in lines_of(audit) if line.get("run") == run and line.get("kind") == "ask"]
    middle = asked[len(asked) // 4 : 3 * len(asked) // 4]
    tasks = dict.fromkeys(line["task"] for line in middle)
    return [[int(median(_of(middle, task, which))) for which in ("received", "sent")] for task in tasks]


def _of(lines: list[dict[str, Any]], task: str, which: str) -> list[int]:
    return [line[which] for line in lines if line["task"] == task]

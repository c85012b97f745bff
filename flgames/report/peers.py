"""One round of FedAvg, and one of F-FL Games (Smooth), the same work in several frameworks: ratios in one run.

Every framework runs in a process of its own, one after the other and then all of them again, so that a busy machine
meets all alike. Its first round is left out; the median of the others counts.
"""

from __future__ import annotations

import csv
import io
import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median

import torch
from rich.console import Console

import flgames
from flgames.core.local import LocalFederation
from flgames.core.server import Server
from flgames.data.samples import ArraySamples
from flgames.errors import UserError
from flgames.files import write_atomically
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.server import Game
from flgames.models.linear import linear_architecture
from flgames.models.mlp import paper_architecture
from flgames.report.bench import move_products, timed
from flgames.report.peer.work import BATCH, CLASSES, COUNTED, MEMORY, SAMPLES, SHAPES, samples
from flgames.waiting.told import followed

KINDS = ("MLP", "linear")
SIZES = (2, 10, 100)
REPETITIONS, ROUNDS = 3, 5

LONGEST = 240.0
"""Seconds that a framework has for its start and all rounds of a case."""


@dataclass(frozen=True)
class Peer:
    """A program of :mod:`flgames.report.peer`."""

    title: str
    module: str
    engine: str = ""
    """The engine of flgames that carries the messages, where a program can have several."""
    package: str = ""
    most: int = max(SIZES)
    """Clients for which it is run at most."""
    once: bool = False
    """Whether its start is so long that it is run once, with all rounds."""


PEERS = (
    Peer("flgames", "flgames_local"),
    Peer("plain loop", "plain"),
    Peer("matrix products", "products"),
    Peer("pfl-research", "pfl_research", package="pfl"),
    Peer("Flower, simulation", "flower", package="flwr", once=True),
    Peer(
        "NVFlare, simulator", "nvflare", package="nvflare", most=10, once=True
    ),  # a process a client, of some 0.5 GB each
)

GAMES = (
    Peer("flgames", "game", "local", once=True),
    Peer("plain loop", "plain_game", once=True),
    Peer("flgames over NVFlare, simulator", "game", "nvflare", "nvflare", most=10, once=True),
    Peer("flgames over Flower, simulation", "game", "flower", "flwr", most=10, once=True),
)
"""Those that play."""

MOST_PERCEPTRONS = 10
"""That play a whole game: each answers five actions of every other, and a hundred would take minutes a round."""

Medians = dict[tuple[str, int, str], float]
"""Seconds of a round, by network, clients and title."""


def run_peers(out: Path, console: Console, pfl_python: Path | None) -> None:
    """Measure every peer that is installed, and write both tables."""
    there = {peer: each for peer in (*PEERS, *GAMES) if (each := _interpreter(peer, pfl_python))}
    if missing := [peer.title for peer in PEERS if peer not in there]:
        console.print(f"Not installed, so left out: {', '.join(missing)}.", style="yellow")
    if not any(peer.package for peer in there):
        raise UserError("no peer is installed: pip install -c constraints.txt '.[flower,nvflare]'.")
    cases = [(kind, size) for kind in KINDS for size in SIZES]
    planned = [
        (peer, kind, size)
        for peers in (PEERS, GAMES)
        for kind, size in cases
        for repetition in range(REPETITIONS)
        for peer in peers
        if peer in there and size <= peer.most and not (peer.once and repetition)
        if peers is PEERS or kind == "linear" or size <= MOST_PERCEPTRONS
    ]
    found: dict[Peer, dict[tuple[str, int], list[float]]] = {peer: {} for peer in there}
    for peer, kind, size in followed(planned, lambda each: f"{each[0].title}, {each[2]} clients, {each[1]}"):
        seconds = _seconds(peer, there[peer], kind, size)
        if seconds:
            found[peer].setdefault((kind, size), []).extend(seconds)
        else:
            console.print(f"{peer.title} failed with {size} clients ({kind}).", style="yellow")
    playing = followed(cases, lambda case: f"moves of {case[1]} players, {case[0]}")
    moves = {(kind, size): game_round(kind, size, ROUNDS) for kind, size in playing}
    rounds, games = (
        {
            (*case, peer.title): median(seconds)
            for peer in peers
            if peer in found
            for case, seconds in found[peer].items()
        }
        for peers in (PEERS, GAMES)
    )
    write_atomically(out / "bench-peers.csv", as_csv(rounds, games, moves).encode())
    versions = {peer.title: _version(peer, each) for peer, each in there.items() if peer in PEERS and peer.package}
    text = markdown(rounds, games, moves, versions)
    write_atomically(out / "bench-peers.md", text.encode())
    console.print(text, soft_wrap=True)


def game_round(kind: str, players: int, rounds: int) -> tuple[float, float]:
    """Seconds of the moves of a round of F-FL Games (Smooth), and of their matrix products, each in turn."""
    shape = SHAPES[kind]
    network = linear_architecture(shape, CLASSES) if kind == "linear" else paper_architecture(shape, CLASSES, False)
    torch.set_num_threads(1)
    # Every perceptron answers five actions of each opponent: a hundred of them are measured without memory.
    method = Game(network, FLGamesConfig(memory=MEMORY if kind == "linear" or players <= 10 else 0, batch_size=BATCH))
    clients = {f"client-{k}": ArraySamples(*samples(kind, k)) for k in range(players)}
    server = Server(LocalFederation.of(method, clients, seed=0), method.memory, heard_by=method.heard_by)
    server.introduce()
    method.start(server, seed=0)
    inputs = torch.rand(BATCH, *shape).flatten(1)
    warm_up = method.memory + 1
    rounds = max(1, rounds if players <= 10 or kind == "linear" else 1)
    moves, products = [], []
    for round_ in range(warm_up + rounds):
        products.append(timed(lambda: move_products(server, method, inputs)))
        moves.append(timed(lambda number=round_: method.round(server, number, 0)))  # type: ignore[misc]
    return median(moves[warm_up:]), median(products[warm_up:])


def _interpreter(peer: Peer, pfl_python: Path | None) -> str | None:
    """With which interpreter a peer runs; None: it is not installed."""
    python = str(pfl_python) if peer.package == "pfl" and pfl_python else sys.executable
    return python if not peer.package or _version(peer, python) else None


def _version(peer: Peer, python: str) -> str:
    asked = f"import importlib.metadata as m; print(m.version({peer.package!r}))"
    return subprocess.run([python, "-c", asked], capture_output=True, text=True).stdout.strip()


def _seconds(peer: Peer, python: str, kind: str, clients: int) -> list[float]:
    """Of every round but the first ones."""
    before = 1 + (MEMORY if peer in GAMES else 0)  # rounds that fill the memory cost less
    rounds = before + (2 if clients > 10 else ROUNDS * REPETITIONS if peer.once else ROUNDS)
    command = [python, "-m", f"flgames.report.peer.{peer.module}", kind, str(clients), str(rounds)]
    command += [peer.engine] if peer.engine else []
    where = str(Path(flgames.__file__).parent.parent)
    variables = os.environ | {"PYTHONPATH": where, "FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=variables, start_new_session=True
    ) as process:
        try:
            said, _ = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            said = ""
        finally:
            with suppress(ProcessLookupError):  # what a framework leaves behind ends with it
                os.killpg(process.pid, signal.SIGKILL)
    lines = [line for line in said.splitlines() if line.startswith("[") and line.endswith("]")]
    try:
        return [float(each) for each in json.loads(lines[-1])][before:] if lines else []
    except ValueError:  # a line of a log
        return []


def as_csv(rounds: Medians, games: Medians, moves: dict[tuple[str, int], tuple[float, float]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("what", "network", "clients", "framework", "seconds"))
    for what, medians in {"fedavg": rounds, "f-fl-games-smooth": games}.items():
        writer.writerows((what, *key, f"{seconds:.5f}") for key, seconds in medians.items())
    for case, both in moves.items():
        for name, seconds in zip(("flgames", "matrix products"), both, strict=True):
            writer.writerow(("moves of f-fl-games-smooth", *case, name, f"{seconds:.5f}"))
    return text.getvalue()


def markdown(
    rounds: Medians,
    games: Medians,
    moves: dict[tuple[str, int], tuple[float, float]],
    versions: dict[str, str],
) -> str:
    """Three tables: FedAvg and the game as times flgames, and the game's moves as times their products."""
    used = ", ".join(f"{title} {number}" for title, number in versions.items())
    lines = [
        "# A round beside other frameworks",
        "",
        f"`flgames bench --peers`: one thread a process, {os.cpu_count()} cores, torch {version('torch')}, "
        f"Python {platform.python_version()}; {used}. Medians of {REPETITIONS} x {ROUNDS} rounds, with 100 clients of "
        "fewer, without the start and the first rounds.",
        "",
        "## FedAvg",
        "",
        f"One epoch of {SAMPLES} samples a client, batches of {BATCH}, Adam. Seconds of flgames, and how many times as "
        "long others take.",
        "",
        *_ratios(rounds, PEERS),
        "",
        "## F-FL Games (Smooth)",
        "",
        f"A simultaneous round: a batch of {BATCH} a player, memory {MEMORY}, and the ensemble is counted on {COUNTED} "
        "samples in all, 256 a client at least.",
        "",
        *_ratios(games, GAMES),
        "",
        "Its moves alone (100 perceptrons without memory):",
        "",
        "| players | N | moves, s | times their matrix products |",
        "|---|---|---|---|",
    ]
    for (kind, size), (seconds, products) in moves.items():
        lines.append(f"| {kind} | {size} | {seconds:.4f} | {seconds / products:.2f} |")
    return "\n".join([*lines, ""])


def _ratios(medians: Medians, peers: Sequence[Peer]) -> list[str]:
    """A row a case: seconds of the first of these, and how many times as long the others take."""
    first, *others = [peer.title for peer in peers if any(key[2] == peer.title for key in medians)]
    lines = [f"| network | clients | {first}, s | {' | '.join(others)} |", "|---" * (len(others) + 3) + "|"]
    for kind, size in {(kind, size): None for kind, size, _ in medians}:
        own = medians[kind, size, first]
        ratios = [medians.get((kind, size, title)) for title in others]
        cells = " | ".join("-" if each is None else f"{each / own:.2f}" for each in ratios)
        lines.append(f"| {kind} | {size} | {own:.4f} | {cells} |")
    return lines

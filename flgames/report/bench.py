"""How fast a round is, beside the matrix products that it can't avoid, measured in one run.

Times vary between runs and machines; the ratios are what to look at. A product is timed as ``torch.mm`` on the very
weights that the round uses, in turn with the round itself, so that both see the same machine.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from flgames.core.callbacks import Callback
from flgames.core.local import LocalFederation
from flgames.core.loop import Play
from flgames.core.messages import Action
from flgames.core.records import RoundRecord
from flgames.core.server import Server
from flgames.data.benchmarks.clients import PaintedSamples
from flgames.data.benchmarks.registry import planted as benchmark_of
from flgames.data.benchmarks.spurious import Colour
from flgames.data.samples import CHUNK, ArraySamples, Samples
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.memory import response_terms
from flgames.methods.fl_games.server import Game
from flgames.models.linear import linear_architecture
from flgames.models.mlp import paper_architecture
from flgames.runs.entries import game
from flgames.runs.resolve import resolve
from flgames.runs.runner import set_up
from flgames.waiting.told import followed, tell

IMAGES = 60_000
SIDE = 28
MEASURED = 2048


def run_bench(console: Console, rounds: int, benchmark: str) -> bool:
    """Print both parts: the times of a round, and the stop rounds. Whether the stop rounds are the same."""
    settings = resolve({"benchmark": benchmark})
    torch.set_num_threads(settings.threads)
    console.print(f"{settings.threads} threads, torch {torch.__version__}, batch 256, {IMAGES} images of 28 x 28 x 2")
    console.print(_speed_table(rounds))
    console.print("GEMM: its matrix products alone, same shapes and weights, plain torch; ratio: over them\n")
    console.print(_linear_table(rounds))
    console.print("mean: clients are told the mean of all players; actions: every opponent's action\n")
    return compare_stop_rounds(console, benchmark)


@dataclass(frozen=True)
class Timing:
    """Medians in milliseconds of one case."""

    moves: float
    move_products: float
    measure: float
    measure_products: float
    samples: int


def _speed_table(rounds: int) -> Table:
    table = Table(title="One simultaneous round (ms)", title_justify="left")
    for column in ("N", "memory", "moves", "GEMM", "ratio", "+ measure", "GEMM", "ratio", "samples"):
        table.add_column(column, justify="right")
    cases = [(players, memory) for players in (2, 10) for memory in (0, 5)]
    for players, memory in followed(cases, lambda case: f"rounds of {case[0]} players, memory {case[1]}"):
        timing = time_rounds(players, memory, rounds * 10 // players)  # short rounds vary more
        whole, products = timing.moves + timing.measure, timing.move_products + timing.measure_products
        table.add_row(
            str(players), str(memory),
            f"{timing.moves:.1f}", f"{timing.move_products:.1f}", f"{timing.moves / timing.move_products:.2f}",
            f"{whole:.1f}", f"{products:.1f}", f"{whole / products:.2f}", str(timing.samples),
        )  # fmt: skip
    return table


def time_rounds(players: int, memory: int, rounds: int, images: int = IMAGES) -> Timing:
    """Play and measure some rounds on random images, each in turn with its products."""
    method = Game(paper_architecture((2, SIDE, SIDE), 2, variable=False), FLGamesConfig(memory=memory))
    clients = _random_clients(players, images)
    server = Server(LocalFederation.of(method, clients, seed=0), memory)
    server.introduce()
    method.start(server, seed=0)
    warm_up = max(memory, 1) + 1  # fills the buffers and the caches
    times: dict[str, list[float]] = {"moves": [], "move_products": [], "measure": [], "measure_products": []}
    samples, inputs = 0, torch.rand(CHUNK, 2 * SIDE * SIDE)
    for round_ in range(warm_up + rounds):
        took = {
            "move_products": 1000 * timed(lambda: move_products(server, method, inputs)),
            "moves": 1000 * timed(partial(method.round, server, round_, 0)),
        }
        began = time.perf_counter()
        samples = server.measure(MEASURED).samples
        took["measure"] = 1000 * (time.perf_counter() - began)
        took["measure_products"] = 1000 * timed(lambda: _measure_products(server, MEASURED, inputs))
        if round_ >= warm_up:
            for name, value in took.items():
                times[name].append(value)
    return Timing(**{name: statistics.median(values) for name, values in times.items()}, samples=samples)


FEW, MANY = 10, 50
"""Linear players whose rounds are compared."""

COLUMNS, ROWS = 73, 400
"""Of a table a client, as FARS has them."""


def _linear_table(rounds: int) -> Table:
    """What more clients cost, where players are linear."""
    table = Table(title="One simultaneous round of linear players, memory 5 (ms)", title_justify="left")
    for column in ("told", f"N = {FEW}", f"N = {MANY}", "ratio", f"kB down, N = {MANY}"):
        table.add_column(column, justify="left" if column == "told" else "right")
    for told, sums in {"mean": True, "actions": False}.items():
        (few, _), (many, bytes_down) = (time_linear_rounds(players, sums, rounds) for players in (FEW, MANY))
        table.add_row(told, f"{few:.1f}", f"{many:.1f}", f"{many / few:.1f}", f"{bytes_down / 1000:.0f}")
    return table


def time_linear_rounds(players: int, sums: bool, rounds: int) -> tuple[float, int]:
    """The median of some rounds with their measures, in milliseconds, and the bytes that go to all clients in one."""
    method = Game(replace(linear_architecture((COLUMNS,), 2), linear=sums), FLGamesConfig(memory=5))
    draw = torch.Generator().manual_seed(0)
    clients = {
        f"client-{k}": ArraySamples(torch.randn(ROWS, COLUMNS, generator=draw), torch.arange(ROWS) % 2)
        for k in range(players)
    }
    play = Play(method, LocalFederation.of(method, clients, seed=0), seed=0, rounds=rounds + 6)
    play.start()
    heard: list[RoundRecord] = []

    class Listener(Callback):
        def on_round(self, record: RoundRecord) -> None:
            heard.append(record)

    play.run([Listener()])
    times = [1000 * (after.seconds - before.seconds) for before, after in pairwise(heard)]
    return statistics.median(times[5:]), sum(each.down for each in heard[-1].bytes.values())


def _random_clients(players: int, images: int) -> dict[str, Samples]:
    draw = torch.Generator().manual_seed(0)
    size = (images // players,)
    return {
        f"client-{k}": PaintedSamples(
            torch.randint(0, 256, (*size, SIDE, SIDE), dtype=torch.uint8, generator=draw),
            torch.arange(images // players),
            torch.randint(0, 2, size, dtype=torch.uint8, generator=draw),
            torch.randint(0, 2, size, dtype=torch.uint8, generator=draw),
            Colour(),
        )
        for k in range(players)
    }


def timed(work: Callable[[], object]) -> float:
    """How many seconds something takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _matrices(action: Action) -> list[Tensor]:
    return [weights for name, weights in action.weights.items() if weights.ndim == 2]


@torch.inference_mode()
def move_products(server: Server, method: Game, inputs: Tensor) -> None:
    """Of every player's move: its opponents' forward passes, its own, and the gradients of its weights."""
    config = method.config
    for player in server.clients:
        own = server.known.buffers[player].current
        if method.sums:  # the sum of linear opponents is one predictor
            opponents = [own]
        else:
            terms = response_terms(player, server.known, config.memory, config.memory_mode)[1]
            opponents = [action for _, action in terms]
        for action in opponents:
            _forward(inputs, _matrices(action))
        activations = _forward(inputs, _matrices(own))
        gradient = activations[-1]
        for place, weights in reversed(list(enumerate(_matrices(own)))):
            torch.mm(gradient.T, activations[place])
            if place:  # nobody needs the gradient of the input
                gradient = torch.mm(gradient, weights)


@torch.inference_mode()
def _measure_products(server: Server, samples: int, inputs: Tensor) -> None:
    """Of counting: the forward pass of every action, all of which are new, on every client's share of the samples."""
    chunks = -(-samples // len(server.clients) // CHUNK)
    for _ in range(len(server.clients) * chunks):
        for action in server.known.current:
            _forward(inputs, _matrices(action))


def _forward(inputs: Tensor, matrices: Sequence[Tensor]) -> list[Tensor]:
    """The products of a perceptron without what stands between them; inputs of each layer, and the output."""
    steps = [inputs]
    for weights in matrices:
        steps.append(torch.mm(steps[-1], weights.T))
    return steps


class _Told(Callback):
    """Tells who waits of every round."""

    def __init__(self, what: str, rounds: int) -> None:
        self.what = what
        self.rounds = rounds

    def on_round(self, record: RoundRecord) -> None:
        tell(self.what, record.round + 1, self.rounds)


def compare_stop_rounds(console: Console, benchmark: str) -> bool:
    """Play the same game twice, deciding by estimates and by exact counts, and compare where it stops."""
    stops = {}
    for name, measured in {"estimates": MEASURED if benchmark == "colored-mnist" else 256, "exact counts": 0}.items():
        settings = resolve({"benchmark": benchmark, "against": "none", "measure_samples": measured})
        source = benchmark_of(settings.source)
        clients = source.training_clients(settings.seed)
        play = set_up(game(settings), clients, source.classes, settings.seed, torch.device("cpu"))
        play.start()
        end = play.run([_Told(f"a game that is stopped by {name}", play.rounds)])
        stops[name] = play.next_round
        console.print(
            f"{settings.title} on {source.title}, {play.rule}, by {name}: "
            f"ended by {end} after {play.next_round} rounds, {play.seconds:.1f} s"
        )
    same = len(set(stops.values())) == 1
    console.print("the same round" if same else "DIFFERENT ROUNDS: the estimates are wrong")
    return same

"""How long a match takes: as long as others did, or a guess from its matrix products."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import fmean

from flgames.core.knobs import STEP_RANGE, Plain
from flgames.core.steps import batches_in
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import is_planted, planted
from flgames.data.own.source import OwnOptions
from flgames.models.networks import MLP, Linear, Network
from flgames.runs.entry import Entry
from flgames.runs.match import Match
from flgames.runs.store import Store

USUAL_GAME = {"fixed": 200, "variable": 400}
"""Rounds after which a game that has a rule is guessed to stop."""

MACHINE = 5e10
"""Multiplications a second of a small machine. A wrong guess is corrected as the work goes on."""

SIDES = {"colored-mnist": 28, "colored-fashion-mnist": 28, "spurious-cifar10": 32, "colored-dsprites": 64}
EMBEDDED_SIDE = 8

ASKED, PERCEIVED, CONVOLVED = 0.005, 3, 50
"""Seconds of a round of linear models, and how many times that perceptrons and convolutions take."""

FORWARD, TRAINING = 1, 3
"""Products a sample: one forwards; two more for the gradients of weights and of inputs."""


def usual_rounds(entry: Entry) -> int:
    """After how many rounds an entry ends, as far as one can tell."""
    usual = USUAL_GAME[str(entry.config.get("representation", "fixed"))]
    return min(entry.rounds, usual) if entry.rule else entry.rounds


def expected_seconds(matches: Iterable[Match], store: Store) -> float:
    """How long a match takes of these, which differ in their seeds only."""
    matches = list(matches)
    known = [result.seconds for result in map(store.find, matches) if result]
    if known:
        return fmean(known)
    return guessed_seconds(matches[0].entry, matches[0].options)


def guessed_seconds(entry: Entry, options: BenchmarkOptions | OwnOptions) -> float:
    """From the matrix products of its rounds; where those are small or not known, from how often clients are asked."""
    if not isinstance(entry.network, MLP) or isinstance(options, OwnOptions) or not is_planted(options):
        return rough_seconds(entry)
    config, width = entry.config, entry.network.width
    first, second = _inputs(entry, options) * width, width * width
    source = planted(options)
    assert source.available is not None
    clients = len(source.flips)
    size = source.available[0] // clients
    predictor = 2 * second if entry.network.variable else first + second
    phi = first if entry.network.variable else 0

    moving = 1 if config.get("schedule", "simultaneous") == "simultaneous" else 1 / clients
    opponents = (clients - 1) * max(1, int(_number(config, "memory", 0))) if entry.method == "fl-games" else 0
    moved = _samples(config, size) * clients * moving * _number(config, "participation", 1.0)
    round_ = moved * (TRAINING * predictor + opponents * FORWARD * predictor + FORWARD * phi)
    players = clients if entry.method == "fl-games" else 1
    round_ += entry.measure_samples * (phi + players * moving * predictor)
    if entry.network.variable:
        batch = int(_number(config, "batch_size", 0))
        passed = min(batches_in(_share(config["phi_batches"]), size, batch) * batch, size) * clients
        round_ = (round_ + passed * (2 * phi + 2 * clients * predictor)) / 2
    return float(usual_rounds(entry) * round_ / MACHINE)


def rough_seconds(entry: Entry) -> float:
    """From its rounds, its steps and its network alone, where nothing is known of the data."""
    steps = entry.config.get("local_steps")
    return usual_rounds(entry) * ASKED * _times(entry.network) * (steps if isinstance(steps, int) else 1)


def _times(network: Network) -> int:
    """How many times longer than with linear models a round takes."""
    if isinstance(network, Linear):
        return 1
    return PERCEIVED if isinstance(network, MLP) else CONVOLVED


def _samples(config: Mapping[str, Plain], size: int) -> int:
    """That a client trains on in a round."""
    steps = _share(config.get("batches", config.get("local_steps", 1)))
    if isinstance(steps, str) and (match := STEP_RANGE.fullmatch(steps)):
        steps = (int(match[1]) + int(match[2])) // 2
    batch = int(_number(config, "batch_size", 1))
    return batches_in(steps, size, batch) * (size if config.get("full_batch") else min(batch, size))


def _number(config: Mapping[str, Plain], name: str, default: float) -> float:
    value = config.get(name, default)
    assert isinstance(value, int | float)
    return value


def _share(value: Plain) -> int | str:
    assert isinstance(value, int | str)
    return value


def _inputs(entry: Entry, options: BenchmarkOptions) -> int:
    side = entry.side or options.side or SIDES.get(options.benchmark, EMBEDDED_SIDE)
    return side * side * (3 if options.benchmark == "spurious-cifar10" else options.classes)

"""Small matches, played over clients that are somewhere else, and here."""

from __future__ import annotations

from typing import Any

import torch

from flgames.core.local import LocalFederation
from flgames.core.loop import Play
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.engines.remote import RemoteFederation
from flgames.models.networks import MLP
from flgames.runs.baselines import PLANTED, REAL
from flgames.runs.entries import entry, real_baseline
from flgames.runs.match import Match
from flgames.runs.presets import VALIDATION
from tests.by_hand import ByHand

CPU = torch.device("cpu")


def a_match(name: str = "parallel-f-fl-games-smooth", rounds: int = 10, **changes: Any) -> Match:
    """Methods that are for real data only are played as they are there: linear, with samples held back."""
    options = BenchmarkOptions(benchmark="colored-digits", clients=3)
    real = name in REAL and name not in PLANTED
    chosen = real_baseline(name, "table", VALIDATION) if real else entry(name, options)
    network = chosen.network.model_copy(update={"width": 12}) if isinstance(chosen.network, MLP) else chosen.network
    config = chosen.config | ({"batch_size": 32} if "batch_size" in chosen.config else {}) | changes
    apart = {"network": network, "config": config, "rounds": rounds, "clients": "apart"}
    return Match(options=options, entry=chosen.model_copy(update=apart), seed=0)


def over(exchange: ByHand, match: Match, min_clients: int = 1) -> Play:
    data = match.data()
    return Play(
        match.entry.make(data.input_shape, data.classes),
        RemoteFederation(exchange, "run", match, threads=1),
        seed=0,
        rounds=match.entry.rounds,
        min_clients=min_clients,
    )


def here(match: Match) -> Play:
    data = match.data()
    method = match.entry.make(data.input_shape, data.classes)
    federation = LocalFederation.of(method, data.training_clients(), match.seed, CPU, match.entry.validation)
    return Play(method, federation, seed=0, rounds=match.entry.rounds)


def played(play: Play) -> Play:
    play.start()
    play.run()
    return play

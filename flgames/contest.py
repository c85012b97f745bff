"""Entries are played, on the same clients with the same seeds: every one in a folder of its own, where it can go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import safetensors.torch
import torch

from flgames.data.benchmark import Benchmark
from flgames.data.catalogue import BenchmarkOptions, benchmark
from flgames.data.clients import HeldOut, input_shape
from flgames.engines.local import LocalFederation
from flgames.entry import Clients, Entry
from flgames.errors import UserError
from flgames.lineup import entries
from flgames.measures import InvarianceProfile, invariance_profile
from flgames.models import Ensemble
from flgames.play import End, Observers, Play, Round
from flgames.runs import GameFolder, RunFolder
from flgames.stopping import StopBelow


class Interrupted(Exception):
    """A signal asked for the end; the state is saved."""


def chosen_device(name: str) -> torch.device:
    """The device of this name, if it can be used."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.zeros(1, device=name).device
        float(torch.ones(1, device=device))
        return device
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise UserError(f"--device {name} can't be used here: {str(error).splitlines()[0]}") from None


def check(options: BenchmarkOptions, device: str) -> Benchmark:
    """The benchmark, if it and the device can be had: asked before a folder is made for them."""
    chosen_device(device)
    return benchmark(options)


def set_up(entry: Entry, clients: Clients, classes: int, seed: int, device: torch.device) -> Play:
    """A game that has not been played yet. It is given training clients, and nothing else."""
    method = entry.make(input_shape(clients), classes)
    return Play(
        method,
        LocalFederation.of(method, clients, seed, device),
        seed=seed,
        rounds=entry.rounds,
        rule=entry.rule(clients),
        measure_samples=entry.measure_samples,
    )


OnRound = Callable[[Entry, int, StopBelow | None, Round], None]
"""Hears of every round: the entry, the seed, the rule that will stop it, and what happened."""


@dataclass(frozen=True)
class Stage:
    """Where entries are played, and who is told."""

    device: torch.device
    on_round: OnRound
    interrupted: Callable[[], bool] = lambda: False
    checkpoint_seconds: float = 20.0
    probe_every: int = 0

    def play(self, folder: GameFolder, entry: Entry, source: Benchmark, seed: int) -> None:
        """One entry to its end, from where its folder says that it stands.

        ``source`` is the benchmark as the entry sees it. Of the held-out client only measures are taken, and only
        into files.
        """
        play = set_up(entry, source.training_clients(seed), source.classes, seed, self.device)
        held_out = source.held_out_client(seed)
        saved = folder.load_state()
        if saved:
            play.load_state_dict(saved)
        else:
            play.start()

        def heard(round_: Round) -> None:
            folder.append("measures.jsonl", round_.as_dict())
            self.on_round(entry, seed, play.rule, round_)

        def checkpoint() -> None:
            if folder.is_due(self.checkpoint_seconds):
                folder.save_state(play.state_dict())

        def probe(round_: int, ensemble: Ensemble) -> None:
            profile = invariance_profile(ensemble, held_out, self.device)
            folder.append("probe.jsonl", {"round": round_} | profile.as_dict())

        observers = Observers(heard, probe, entry.probe_every or self.probe_every)
        end = play.run(observers, checkpoint, self.interrupted)
        if end == "interrupted":
            folder.save_state(play.state_dict())
            raise Interrupted
        ensemble = play.ensemble()
        profile = invariance_profile(ensemble, held_out, self.device)
        folder.finish(ensemble.tensors(), _result(folder, play, end, profile, held_out))


def contest(run: RunFolder, on_round: OnRound, interrupted: Callable[[], bool]) -> None:
    """Play every entry of a run with every seed, going on where the folder says that the run stands."""
    settings = run.settings
    torch.set_num_threads(settings.threads)
    device = chosen_device(settings.device)
    stage = Stage(device, on_round, interrupted, settings.checkpoint_seconds, settings.probe_every)
    for seed in settings.all_seeds:
        for entry in entries(settings):
            folder = run.game(entry.slug, seed)
            if folder.result is None:
                stage.play(folder, entry, entry.benchmark(settings), seed)


def _result(folder: GameFolder, play: Play, end: End, profile: InvarianceProfile, held_out: HeldOut) -> dict[str, Any]:
    lines = folder.measures()
    traffic = [client for line in lines for client in line["bytes"].values()]
    train = play.server.measure(play.population)
    return {
        "end": end,
        "rule": str(play.rule) if play.rule else None,
        "rounds": len(lines),
        "train": train.accuracy,
        "train_of": {name: counts.accuracy for name, counts in train.clients.items()},
        "confusion_of": {name: counts.confusion.tolist() for name, counts in train.clients.items()},
        "stop_below": play.rule.threshold if play.rule else None,
        "profile": profile.as_dict(),
        "input_shape": list(held_out.input_shape),
        "bytes_down": sum(client["down"] for client in traffic),
        "bytes_up": sum(client["up"] for client in traffic),
        "seconds": play.seconds,
    }


def load_model(folder: GameFolder, entry: Entry, options: BenchmarkOptions) -> Ensemble:
    """The final model of a game, ready to predict."""
    if folder.result is None:
        raise UserError(f"{folder.path} has no model: that game has not ended.")
    method = entry.make(tuple(folder.result["input_shape"]), benchmark(options).classes)
    tensors = safetensors.torch.load_file(folder.path / "model.safetensors")
    return Ensemble.from_tensors(method.learnt, tensors)

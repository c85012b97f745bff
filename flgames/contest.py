"""From settings to games and back to results: the methods of a run, played on the same clients with the same seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import safetensors.torch
import torch

from flgames import presets
from flgames.data.benchmark import Benchmark
from flgames.data.catalogue import benchmark
from flgames.data.clients import HeldOut, Samples, input_shape
from flgames.engines.local import LocalFederation
from flgames.errors import UserError
from flgames.measures import InvarianceProfile, invariance_profile
from flgames.methods.base import Method
from flgames.methods.fedavg import FedAvg, FedAvgRules
from flgames.methods.fl_games import FLGames
from flgames.models import Architecture, Ensemble, paper_architecture
from flgames.play import End, Observers, Play, Round
from flgames.rules import Rules
from flgames.runs import GameFolder, RunFolder
from flgames.settings import Settings
from flgames.stopping import StopBelow, warm_start_rounds

Clients = Mapping[str, Samples]


class Interrupted(Exception):
    """A signal asked for the end; the state is saved."""


@dataclass(frozen=True)
class Entry:
    """One method of a run: its folder name, its title, and how it is set up for the clients of a benchmark."""

    slug: str
    title: str
    settings: Settings

    @property
    def is_game(self) -> bool:
        return self.slug != "fedavg"

    @property
    def rounds(self) -> int:
        return self.settings.rounds if self.is_game else self.settings.fedavg_rounds

    def method(self, architecture: Architecture) -> Method:
        settings = self.settings
        if self.is_game:
            return FLGames(architecture, Rules(**settings.model_dump(include=set(Rules.model_fields))))
        rules = FedAvgRules(
            local_steps=settings.fedavg_local_steps,
            batch_size=settings.batch_size,
            learning_rate=settings.learning_rate,
        )
        return FedAvg(architecture, rules)

    def rule(self, clients: Clients) -> StopBelow | None:
        """The rule that stops a game; FedAvg has none."""
        settings = self.settings
        if not self.is_game or settings.stop_below == "never":
            return None
        warm_start = settings.warm_start
        if warm_start is None:
            sizes = {name: len(samples) for name, samples in clients.items()}
            warm_start = max(warm_start_rounds(settings, sizes), presets.LEAST_WARM_START.get(settings.benchmark, 0))
        return StopBelow(settings.stop_below, warm_start)


def entries(settings: Settings) -> list[Entry]:
    """The methods of a run, in playing order."""
    game = Entry(settings.name, settings.title, settings)
    return [Entry("fedavg", "FedAvg", settings), game] if settings.against == "fedavg" else [game]


def chosen_device(settings: Settings) -> torch.device:
    name = settings.device
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.zeros(1, device=name).device
        float(torch.ones(1, device=device))
        return device
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise UserError(f"--device {name} can't be used here: {str(error).splitlines()[0]}") from None


def check(settings: Settings) -> Benchmark:
    """The benchmark, if it and the device can be had: asked before a folder is made for them."""
    chosen_device(settings)
    return benchmark(settings)


def set_up(entry: Entry, clients: Clients, architecture: Architecture, seed: int, device: torch.device) -> Play:
    """A game that has not been played yet. It is given training clients, and nothing else."""
    method = entry.method(architecture)
    federation = LocalFederation.of(method, clients, seed, device)
    return Play(
        method,
        federation,
        seed=seed,
        rounds=entry.rounds,
        rule=entry.rule(clients),
        measure_samples=entry.settings.measure_samples,
    )


OnRound = Callable[[Entry, int, StopBelow | None, Round], None]
"""Hears of every round: the method, the seed, the rule that will stop it, and what happened."""


def contest(run: RunFolder, source: Benchmark, on_round: OnRound, interrupted: Callable[[], bool]) -> None:
    """Play every method with every seed, going on where the folder says that the run stands."""
    settings = run.settings
    torch.set_num_threads(settings.threads)
    device = chosen_device(settings)
    for seed in settings.all_seeds:
        waiting = [entry for entry in entries(settings) if run.game(entry.slug, seed).result is None]
        if not waiting:
            continue
        clients = source.training_clients(seed)
        architecture = paper_architecture(
            input_shape(clients), source.classes, settings.representation == "variable", settings.initialisation
        )
        for entry in waiting:
            play = set_up(entry, clients, architecture, seed, device)
            _play_in(
                run.game(entry.slug, seed), entry, play, source.held_out_client(seed), on_round, interrupted, device
            )


def _play_in(
    folder: GameFolder,
    entry: Entry,
    play: Play,
    held_out: HeldOut,
    on_round: OnRound,
    interrupted: Callable[[], bool],
    device: torch.device,
) -> None:
    """One game in its folder. Of the held-out client only measures are taken, and only into files."""
    saved = folder.load_state()
    if saved:
        play.load_state_dict(saved)
    else:
        play.start()

    def heard(round_: Round) -> None:
        folder.append("measures.jsonl", round_.as_dict())
        on_round(entry, play.seed, play.rule, round_)

    def checkpoint() -> None:
        if folder.is_due(entry.settings.checkpoint_seconds):
            folder.save_state(play.state_dict())

    def probe(round_: int, ensemble: Ensemble) -> None:
        folder.append("probe.jsonl", {"round": round_} | invariance_profile(ensemble, held_out, device).as_dict())

    end = play.run(Observers(heard, probe, entry.settings.probe_every), checkpoint, interrupted)
    if end == "interrupted":
        folder.save_state(play.state_dict())
        raise Interrupted
    ensemble = play.ensemble()
    profile = invariance_profile(ensemble, held_out, device)
    folder.finish(ensemble.tensors(), _result(folder, play, end, profile, held_out.input_shape))


def _result(
    folder: GameFolder, play: Play, end: End, profile: InvarianceProfile, shape: tuple[int, ...]
) -> dict[str, Any]:
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
        "input_shape": list(shape),
        "bytes_down": sum(client["down"] for client in traffic),
        "bytes_up": sum(client["up"] for client in traffic),
        "seconds": play.seconds,
    }


def load_model(run: RunFolder, entry: Entry, seed: int) -> Ensemble:
    """The final model of a game, ready to predict."""
    folder = run.game(entry.slug, seed)
    if folder.result is None:
        raise UserError(f"{folder.path} has no model: that game has not ended.")
    shape = tuple(folder.result["input_shape"])
    classes = benchmark(run.settings).classes
    method = entry.method(paper_architecture(shape, classes, run.settings.representation == "variable"))
    tensors = safetensors.torch.load_file(folder.path / "model.safetensors")
    return Ensemble.from_tensors(method.architecture, tensors)

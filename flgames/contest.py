"""Entries are played, on the same clients with the same seeds: every one in a folder of its own, where it can go on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import safetensors.torch
import torch

from flgames.confusion import Rates
from flgames.data.benchmark import Benchmark
from flgames.data.catalogue import BenchmarkOptions, benchmark
from flgames.data.clients import Clients, HeldOut, input_shape
from flgames.data.own.layout import Survey
from flgames.data.own.source import OwnOptions, Unseen, surveys_of
from flgames.devices import chosen_device
from flgames.engines.local import LocalFederation
from flgames.entry import Entry
from flgames.errors import UserError
from flgames.federation import Federation, Weights
from flgames.lineup import before, matches
from flgames.match import Match
from flgames.measures import confusion_on, invariance_profile
from flgames.memory import MODEL
from flgames.methods.base import Method
from flgames.methods.fl_games import Game
from flgames.models import PLAYER, Ensemble, phi_of
from flgames.play import End, Observers, Play, Round
from flgames.runs import GameFolder, RunFolder
from flgames.stopping import StopBelow


def check(options: BenchmarkOptions, device: str) -> Benchmark:
    """The benchmark, if it and the device can be had: asked before a folder is made for them."""
    chosen_device(device)
    return benchmark(options)


class Interrupted(Exception):
    """A signal asked for the end; the state is saved."""


def set_up(entry: Entry, clients: Clients, classes: int, seed: int, device: torch.device) -> Play:
    """A game in this process that has not been played yet. It is given training clients, and nothing else."""
    method = entry.make(input_shape(clients), classes)
    return Play(
        method,
        LocalFederation.of(method, clients, seed, device),
        seed=seed,
        rounds=entry.rounds,
        rule=entry.rule({name: len(samples) for name, samples in clients.items()}),
        measure_samples=entry.measure_samples,
    )


Connect = Callable[[Match, Method], Federation]
"""Gives the clients of a match, wherever an engine has them."""

OnRound = Callable[[Entry, int, dict[str, Any]], None]
"""Hears of every round: the entry, the seed, and the line that its folder keeps of it."""


def in_process(device: torch.device) -> Connect:
    """Clients in this process."""

    def connect(match: Match, method: Method) -> LocalFederation:
        return LocalFederation.of(method, match.source.training_clients(match.seed), match.seed, device)

    return connect


@dataclass(frozen=True)
class Stage:
    """Where entries are played, and who is told.

    Parameters
    ----------
    connect
        Where the clients are; None: in this process.
    checkpoint_every, checkpoint_seconds
        The state is saved every so many rounds; 0: when the last one is older than so many seconds.
    timeout, min_clients
        How long clients have for an answer, and how many must be there.
    """

    device: torch.device
    on_round: OnRound
    interrupted: Callable[[], bool] = lambda: False
    connect: Connect | None = None
    checkpoint_every: int = 0
    checkpoint_seconds: float = 20.0
    probe_every: int = 0
    timeout: float | None = None
    min_clients: int = 1

    def play(self, folder: GameFolder, match: Match) -> None:
        """A match to its end, from where its folder says that it stands.

        Of the held-out client only measures are taken, and only into files.
        """
        entry, source = match.entry, match.source
        held_out = source.held_out_client(match.seed)
        method = entry.make(source.input_shape(match.seed), source.classes)
        if isinstance(method, Game) and entry.phi_rounds:
            method.first_phi = self._trained_phi(folder, match)
        federation = (self.connect or in_process(self.device))(match, method)
        play = Play(
            method,
            federation,
            seed=match.seed,
            rounds=entry.rounds,
            measure_samples=entry.measure_samples,
            timeout=self.timeout,
            min_clients=min(self.min_clients, len(federation.clients)),
        )
        saved = folder.load_state(federation.rounds() if folder.saved_rounds else None)
        if saved:
            play.load_state_dict(saved)
        else:
            play.start()
        play.rule = entry.rule(play.server.samples)

        def heard(round_: Round) -> None:
            line = round_.as_dict()
            folder.append("measures.jsonl", line)
            self.on_round(entry, match.seed, line)

        def save() -> None:
            folder.save_state(play.state_dict(keep=folder.saved_rounds))

        def checkpoint() -> None:
            every = self.checkpoint_every
            if play.next_round % every == 0 if every else folder.is_due(self.checkpoint_seconds):
                save()

        def probe(round_: int, ensemble: Ensemble) -> None:
            seen = on_held_out(ensemble, held_out, self.device)
            folder.append("probe.jsonl", {"round": round_} | next(iter(seen.values())))

        observers = Observers(heard, probe, (entry.probe_every or self.probe_every) if held_out else 0)
        end = play.run(observers, checkpoint, self.interrupted)
        if end == "interrupted":
            save()
            raise Interrupted
        ensemble = play.chosen()
        seen = on_held_out(ensemble, held_out, self.device)
        shape = list(source.input_shape(match.seed))
        folder.finish(ensemble.tensors(), _result(folder, play, end) | seen | {"input_shape": shape})
        federation.close()

    def _trained_phi(self, folder: GameFolder, match: Match) -> Weights:
        """phi as FedAvg has trained it, in a match of its own that comes before."""
        first = GameFolder(folder.path / "phi")
        if first.result is None:
            self.play(first, replace(match, entry=before(match.entry)))
        weights = safetensors.torch.load_file(first.path / "model.safetensors")
        return phi_of({name.removeprefix(f"{PLAYER}{MODEL}/"): tensor for name, tensor in weights.items()})


def on_held_out(model: Ensemble, held_out: HeldOut | Unseen | None, device: torch.device) -> dict[str, Any]:
    """What is measured on the client that nobody trains on: the invariance profile of a benchmark, counts of own
    data."""
    if held_out is None:
        return {}
    if isinstance(held_out, HeldOut):
        return {"profile": invariance_profile(model, held_out, device).as_dict()}
    confusion = confusion_on(model, held_out, device)
    rates = Rates.of(confusion)
    return {"held_out": {"unseen": rates.accuracy, "client": held_out.name, "confusion": confusion.tolist()}}


def contest(
    run: RunFolder,
    on_round: OnRound,
    interrupted: Callable[[], bool],
    connect: Connect | None = None,
    survey: Callable[[], Mapping[str, Survey]] | None = None,
) -> None:
    """Play every entry of a run with every seed, going on where the folder says that the run stands.

    On own data it begins with what ``survey`` tells of every client; None: those in this machine's folder.
    """
    settings = run.settings
    if settings.data and run.surveys is None:
        run.save_surveys(survey() if survey else surveys_of(settings.data, settings.target))
    torch.set_num_threads(settings.threads)
    stage = Stage(
        chosen_device(settings.device),
        on_round,
        interrupted,
        connect,
        settings.checkpoint_every,
        settings.checkpoint_seconds,
        settings.probe_every,
        settings.timeout,
        settings.min_clients,
    )
    for match in matches(settings, run.surveys):
        folder = game_of(run, match)
        if folder.result is None:
            stage.play(folder, match)


def game_of(run: RunFolder, match: Match) -> GameFolder:
    """The folder of one match of a run."""
    holdout = match.options.holdout if isinstance(match.options, OwnOptions) else None
    return run.game(match.entry.slug, match.seed, holdout)


def _result(folder: GameFolder, play: Play, end: End) -> dict[str, Any]:
    lines = folder.measures()
    traffic = [client for line in lines for client in line["bytes"].values()]
    train = play.exact_measure()
    return {
        "end": end,
        "rule": str(play.rule) if play.rule else None,
        "rounds": len(lines),
        "chosen_round": play.kept.round if play.kept else len(lines) - 1,
        "train": train.accuracy,
        "train_of": {name: counts.accuracy for name, counts in train.clients.items()},
        "confusion_of": {name: counts.confusion.tolist() for name, counts in train.clients.items()},
        "stop_below": play.rule.threshold if isinstance(play.rule, StopBelow) else None,
        "bytes_down": sum(client["down"] for client in traffic),
        "bytes_up": sum(client["up"] for client in traffic),
        "seconds": play.seconds,
    }


def load_model(folder: GameFolder, entry: Entry, options: BenchmarkOptions | OwnOptions) -> Ensemble:
    """The final model of a game, ready to predict."""
    if folder.result is None:
        raise UserError(f"{folder.path} has no model: that game has not ended.")
    method = entry.make(tuple(folder.result["input_shape"]), entry.source(options).classes)
    tensors = safetensors.torch.load_file(folder.path / "model.safetensors")
    return Ensemble.from_tensors(method.learnt, tensors)

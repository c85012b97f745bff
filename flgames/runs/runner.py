"""Matches are played, each in a folder of its own, where it can go on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import torch

from flgames.core.callbacks import Callback, GameInfo
from flgames.core.federation import Federation
from flgames.core.local import LocalFederation
from flgames.core.loop import Play
from flgames.core.messages import MODEL
from flgames.core.method import Method
from flgames.core.records import RoundRecord
from flgames.data.benchmarks.benchmark import BenchmarkData
from flgames.data.benchmarks.clients import HeldOut
from flgames.data.benchmarks.sites import SitesData
from flgames.data.own.records import Unseen
from flgames.data.own.source import OwnData, surveys_of
from flgames.data.own.survey import Survey
from flgames.data.samples import Clients, input_shape
from flgames.devices import chosen_device
from flgames.evaluation.profile import InvarianceProfile, invariance_profile
from flgames.evaluation.unseen import figures_on
from flgames.models.architecture import Weights, phi_of
from flgames.models.ensemble import PLAYER, Ensemble
from flgames.runs.entries import before
from flgames.runs.entry import Entry
from flgames.runs.folder import GameFolder, RunFolder
from flgames.runs.match import Match
from flgames.runs.result import ProbeRecord, Result

Data = BenchmarkData | SitesData | OwnData
"""What a match is played on."""


class Interrupted(Exception):
    """A signal asked for the end; the state is saved."""


def set_up(entry: Entry, clients: Clients, classes: int, seed: int, device: torch.device) -> Play:
    """A game in this process that has not been played yet. It is given training clients, and nothing else."""
    method = entry.make(input_shape(clients), classes)
    return _play(entry, method, LocalFederation.of(method, clients, seed, device, entry.validation), seed)


def _play(
    entry: Entry,
    method: Method,
    federation: Federation,
    seed: int,
    timeout: float | None = None,
    min_clients: int = 1,
) -> Play:
    return Play(
        method,
        federation,
        seed=seed,
        rounds=entry.rounds,
        rule=entry.rule,
        warm_start=entry.warm_start,
        least_warm_start=entry.least_warm_start,
        measure_samples=entry.measure_samples,
        timeout=timeout,
        min_clients=min_clients,
        share_cap=entry.share_cap,
    )


Connect = Callable[[Match], Federation]
"""Gives the clients of a match, wherever an engine has them."""


class _Lines(Callback):
    """Every round as a line of a game's folder."""

    def __init__(self, folder: GameFolder) -> None:
        self.folder = folder

    def on_round(self, record: RoundRecord) -> None:
        self.folder.append(record)


@dataclass(frozen=True)
class Runner:
    """Plays matches, and says who is told.

    Parameters
    ----------
    callbacks
        Who hears of every game.
    connect
        Where the clients are; None: in this process.
    checkpoint_every, checkpoint_seconds
        The state is saved every so many rounds; 0: when the last one is older than so many seconds.
    probe_every
        Look at the unseen client every so many rounds; 0: at the end only.
    timeout, min_clients
        How long clients have for an answer, and how many must be there.
    """

    device: torch.device
    callbacks: Sequence[Callback] = ()
    interrupted: Callable[[], bool] = lambda: False
    connect: Connect | None = None
    checkpoint_every: int = 0
    checkpoint_seconds: float = 20.0
    probe_every: int = 0
    timeout: float | None = None
    min_clients: int = 1

    def play(self, folder: GameFolder, match: Match, data: Data | None = None) -> None:
        """A match to its end, from where its folder says that it stands.

        Of unseen clients only measures are taken, and only into files. ``data`` are those of the match, if they
        are at hand.
        """
        entry = match.entry
        data = data or match.data()
        folder.path.mkdir(parents=True, exist_ok=True)
        first_phi = self._trained_phi(folder, match, data) if entry.phi_rounds else None
        method = entry.make(data.input_shape, data.classes, first_phi)
        federation = self._federation(match, method, data)
        least = min(self.min_clients, len(federation.clients))
        play = _play(entry, method, federation, match.seed, self.timeout, least)
        saved = folder.load_state(federation.rounds() if folder.saved_rounds else None)
        if saved:
            play.load_state_dict(saved)
        else:
            play.start()
        self._run(folder, match, play, data)
        federation.close()

    def _federation(self, match: Match, method: Method, data: Data) -> Federation:
        if self.connect:
            return self.connect(match)
        clients, validation = data.training_clients(), match.entry.validation
        return LocalFederation.of(method, clients, match.seed, self.device, validation)

    def _run(self, folder: GameFolder, match: Match, play: Play, data: Data) -> None:
        unseen = data.unseen_clients()
        for each in self.callbacks:
            each.on_start(info_of(match, folder))

        def save() -> None:
            folder.save_state(play.state_dict(keep=folder.saved_rounds))

        def after_round() -> None:
            probe_every = match.entry.probe_every or self.probe_every
            if unseen and probe_every and play.next_round % probe_every == 0:
                folder.append(_probed(play.next_round - 1, play.ensemble(), unseen, self.device))
            every = self.checkpoint_every
            if play.next_round % every == 0 if every else folder.is_due(self.checkpoint_seconds):
                save()

        if play.run([_Lines(folder), *self.callbacks], after_round, self.interrupted) == "interrupted":
            save()
            raise Interrupted
        ensemble = play.chosen()
        ended = play.result(folder.measures())
        measured = _on_unseen(ensemble, unseen, self.device, ended.temperature)
        result = Result.model_validate(ended.model_dump() | {"input_shape": data.input_shape} | measured)
        folder.finish(ensemble.tensors(), result, play.method.evidence(play.server))
        for each in self.callbacks:
            each.on_end(result)

    def _trained_phi(self, folder: GameFolder, match: Match, data: Data) -> Weights:
        """phi as FedAvg has trained it, in a match of its own that comes before."""
        ((before_it, first),) = phi_game(match, folder)
        if not first.has_ended:
            self.play(first, before_it, data)
        weights = first.weights()
        return phi_of({name.removeprefix(f"{PLAYER}{MODEL}/"): tensor for name, tensor in weights.items()})


def phi_game(match: Match, folder: GameFolder) -> list[tuple[Match, GameFolder]]:
    """The match that trains the phi of another before it begins, if there is one, and where it is played."""
    if not match.entry.phi_rounds:
        return []
    earlier = match.model_copy(update={"entry": before(match.entry)})
    return [(earlier, GameFolder(folder.path / "phi", earlier))]


def info_of(match: Match, folder: GameFolder) -> GameInfo:
    """What is told of a match before it begins."""
    entry = match.entry
    ends = {"ends": entry.rule.brief} if entry.rule else {}
    return GameInfo(entry.slug, entry.title, match.seed, entry.rounds, folder=folder.path, **ends)


def play_run(
    run: RunFolder,
    callbacks: Sequence[Callback] = (),
    interrupted: Callable[[], bool] = lambda: False,
    connect: Connect | None = None,
    survey: Callable[[], Mapping[str, Survey]] | None = None,
) -> None:
    """Play every match of a run, going on where the folder says that the run stands.

    On own data it begins with what ``survey`` tells of every client; None: those in this machine's folder.
    """
    settings = run.settings
    if not run.is_planned:
        run.add_surveys(survey() if survey else surveys_of(str(settings.data), settings.roles))
    run.keep_plan()
    torch.set_num_threads(settings.threads)
    runner = Runner(
        chosen_device(settings.device),
        callbacks,
        interrupted,
        connect,
        settings.checkpoint_every,
        settings.checkpoint_seconds,
        settings.probe_every,
        settings.timeout,
        settings.min_clients,
    )
    for match, folder in run.games():
        if not folder.has_ended:
            runner.play(folder, match)
        elif connect:
            connect(match).close()  # who was away when it ended still has its states


def _on_unseen(
    model: Ensemble, unseen: Sequence[HeldOut | Unseen], device: torch.device, temperature: float = 1.0
) -> dict[str, object]:
    """What is measured where nobody trained: the invariance profile of a planted benchmark, figures of real clients."""
    found: dict[str, object] = {}
    figures = {}
    for each in unseen:
        if isinstance(each, HeldOut):
            found["profile"] = invariance_profile(model, each, device)
        else:
            figures[each.name] = figures_on(model, each, device, temperature)
    return found | ({"unseen_clients": figures} if figures else {})


def _probed(round_: int, model: Ensemble, unseen: Sequence[HeldOut | Unseen], device: torch.device) -> ProbeRecord:
    seen = _on_unseen(model, unseen, device)
    if isinstance(profile := seen.get("profile"), InvarianceProfile):
        return ProbeRecord.model_validate({"round": round_} | profile.model_dump(mode="json"))
    figures = seen["unseen_clients"]
    assert isinstance(figures, dict)
    return ProbeRecord(round=round_, unseen=fmean(each.accuracy for each in figures.values()))

"""What an engine's server does, whichever engine it is: play the matches of a run over its clients."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from flgames.core.callbacks import Callback, GameInfo
from flgames.core.records import RoundRecord
from flgames.core.server import BEGINNING
from flgames.data.own.survey import Survey, lacking
from flgames.engines.remote import Exchange, RemoteFederation, surveys
from flgames.engines.sites import check_players
from flgames.errors import ClientFailure, Diverged, UserError
from flgames.files import write_json
from flgames.runs.folder import RunFolder, locked
from flgames.runs.match import Match
from flgames.runs.runner import Interrupted, play_run
from flgames.runs.settings import Settings

log = logging.getLogger(__name__)

STOP = "stop"
"""A file of this name in a run folder ends the game after the round that is being played."""

ERROR = "error.json"
"""What went wrong that a person can mend."""

LOCKED = "FLGAMES_LOCKED"
"""In the environment: the run whose folder the process that started this one has locked for it."""

FOR_PEOPLE = {kind.__name__: kind for kind in (UserError, ClientFailure, Diverged)}


def open_or_create(path: Path, settings: Settings) -> RunFolder:
    """The folder of a run that may have been begun before, with these settings."""
    if not (path / "settings.json").exists():
        return RunFolder.create(path, settings)
    run = RunFolder.open(path)
    theirs_all, ours_all = run.settings.flat(), settings.flat()
    for name in theirs_all | ours_all:
        theirs, ours = theirs_all.get(name), ours_all.get(name)
        if theirs != ours:
            raise UserError(f"{path} belongs to another run: its {name} is {theirs}, not {ours}.")
    return run


def serve(run: RunFolder, connect: Callable[[], Exchange], aborted: Callable[[], bool] = lambda: False) -> bool:
    """Play a run to its end over the clients that ``connect`` finds, going on where its folder says that it stands;
    False if it was interrupted."""
    with nullcontext() if os.environ.get(LOCKED) == run.id else locked(run.path):
        return _serve(run, connect, aborted)


def _serve(run: RunFolder, connect: Callable[[], Exchange], aborted: Callable[[], bool]) -> bool:
    stop, error = run.path / STOP, run.path / ERROR
    stop.unlink(missing_ok=True)
    error.unlink(missing_ok=True)

    settings = run.settings
    try:
        exchange = connect()

        def connected(match: Match) -> RemoteFederation:
            check_players(match, exchange.clients)
            sizes = {name: survey.size for name, survey in (run.surveys or {}).items()}
            return RemoteFederation(exchange, run.id, match, settings.threads, settings.device, settings.timeout, sizes)

        def survey() -> dict[str, Survey]:
            patience = max(settings.timeout, BEGINNING)
            told = surveys(exchange, str(settings.data), settings.roles, settings.threads, patience)
            for remark in lacking(told):
                log.warning(remark)
            return told

        play_run(run, [_Log()], lambda: stop.exists() or aborted(), connected, survey)
    except Interrupted:
        log.info("interrupted; the state is saved")
        return False
    except tuple(FOR_PEOPLE.values()) as reason:
        write_json(error, {"kind": type(reason).__name__, "reason": str(reason)})
        raise
    return True


def raise_error_of(run: RunFolder) -> None:
    """Raise what :func:`serve` ended with, if a person can mend it."""
    path = run.path / ERROR
    if path.exists():
        told = json.loads(path.read_text())
        raise FOR_PEOPLE[told["kind"]](told["reason"])


class _Log(Callback):
    """Every round as a line of the log."""

    def on_start(self, game: GameInfo) -> None:
        self.game = game

    def on_round(self, record: RoundRecord) -> None:
        number = record.round + 1
        log.info("%s, seed %d, round %d: train %.3f", self.game.name, self.game.seed, number, record.accuracy)
        for client, why in record.failures.items():
            log.warning("round %d, %s: %s", number, client, why)

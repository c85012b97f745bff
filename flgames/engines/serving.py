"""What an engine's server does, whichever engine it is: play the matches of a run over its clients."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from flgames.contest import Interrupted, contest
from flgames.data.own.layout import Survey, lacking
from flgames.engines.remote import Exchange, RemoteFederation, surveys
from flgames.engines.sites import check_seats
from flgames.entry import Entry
from flgames.errors import ClientFailure, Diverged, UserError
from flgames.files import write_json
from flgames.match import Match
from flgames.methods.base import Method
from flgames.report.summary import summarise
from flgames.runs import RunFolder, locked
from flgames.server import BEGINNING
from flgames.settings import Settings

log = logging.getLogger(__name__)

STOP = "stop"
"""A file of this name in a run folder ends the game after the round that is being played."""

ERROR = "error.json"
"""What went wrong that a person can mend."""

FOR_PEOPLE = {kind.__name__: kind for kind in (UserError, ClientFailure, Diverged)}


def open_or_create(path: Path, settings: Settings) -> RunFolder:
    """The folder of a run that may have been begun before, with these settings."""
    if not (path / "settings.json").exists():
        return RunFolder.create(path, settings)
    run = RunFolder.open(path)
    for name in Settings.model_fields:
        theirs, ours = getattr(run.settings, name), getattr(settings, name)
        if theirs != ours:
            raise UserError(f"{path} belongs to another run: its {name} is {theirs}, not {ours}.")
    return run


def serve(run: RunFolder, connect: Callable[[], Exchange], aborted: Callable[[], bool] = lambda: False) -> bool:
    """Play a run to its end over the clients that ``connect`` finds, going on where its folder says that it stands;
    False if it was interrupted."""
    stop, error = run.path / STOP, run.path / ERROR
    stop.unlink(missing_ok=True)
    error.unlink(missing_ok=True)

    settings = run.settings
    try:
        with locked(run.path):
            exchange = connect()

            def seated(match: Match, method: Method) -> RemoteFederation:
                check_seats(match, exchange.clients)
                return RemoteFederation(exchange, run.id, match, settings.threads, settings.device, settings.timeout)

            def survey() -> dict[str, Survey]:
                patience = max(settings.timeout, BEGINNING)
                told = surveys(exchange, str(settings.data), settings.target, settings.threads, patience)
                for remark in lacking(told):
                    log.warning(remark)
                return told

            contest(run, _log, lambda: stop.exists() or aborted(), seated, survey)
    except Interrupted:
        log.info("interrupted; the state is saved")
        return False
    except tuple(FOR_PEOPLE.values()) as reason:
        write_json(error, {"kind": type(reason).__name__, "reason": str(reason)})
        raise
    return True


def report(run: RunFolder) -> None:
    """What a run leaves behind for people, where nobody looks on."""
    with open(run.path / "summary.txt", "w") as file:
        summarise(run, Console(file=file, width=100))


def raise_error_of(run: RunFolder) -> None:
    """Raise what :func:`serve` ended with, if a person can mend it."""
    path = run.path / ERROR
    if path.exists():
        told = json.loads(path.read_text())
        raise FOR_PEOPLE[told["kind"]](told["reason"])


def _log(entry: Entry, seed: int, line: dict[str, Any]) -> None:
    log.info("%s, seed %d, round %d: train %.3f", entry.slug, seed, line["round"] + 1, line["accuracy"])
    for client, why in line["failures"].items():
        log.warning("round %d, %s: %s", line["round"] + 1, client, why)

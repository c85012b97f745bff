"""A client's home at its site: payloads come in, payloads go out; samples and states stay.

```
DISK/CLIENT/RUN/MATCH/round-R.pt   its state after round R of a match, while the server may go back to it
DISK/CLIENT/RUN/MATCH/now.pt       its state after its last answer, where every question meets a new process
```
"""

from __future__ import annotations

import io
import logging
import re
import shutil
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

from flgames.client import Client, Site
from flgames.data.clients import Samples, input_shape
from flgames.data.own.layout import Survey
from flgames.devices import chosen_device
from flgames.engines.wire import pack, pack_answer, read_ask, unpack
from flgames.errors import UserError
from flgames.federation import Ask
from flgames.files import write_atomically
from flgames.match import Match

log = logging.getLogger(__name__)

LONGEST_REASON = 500

FOLDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""What clients and runs may be called: their names become folders."""


class Holding(Protocol):
    """What a site has."""

    def samples(self, match: Match) -> Samples:
        """Its samples for a match."""

    def survey(self, data: str, target: str | None) -> Survey:
        """What others may know of data of its own."""


class OutOfStep(Exception):
    """The server believes that this client knows what it doesn't."""


@dataclass
class Seat:
    """A client in a match, and the last question that it has answered."""

    client: Client
    folder: Path
    answered: int | None = None
    written: tuple[int, int] | None = None
    """Which now.pt this state is the same as."""


class Host:
    """Plays for one client, in whatever process an engine gives it.

    Parameters
    ----------
    name
        The client's name.
    holding
        What it has: samples for a match, and what may be known of data of its own.
    disk
        Where its states are kept.
    forgets
        Whether the engine may ask the next question in another process: then the state is written after every answer.
    """

    def __init__(self, name: str, holding: Holding, disk: Path, forgets: bool = False) -> None:
        self.name = as_folder(name)
        self.holding = holding
        self.disk = disk
        self.forgets = forgets
        self._lock = threading.Lock()
        self._seat: Seat | None = None

    def handle(self, payload: bytes) -> bytes:
        """Answer a payload. What goes wrong is an answer too: the server hears the reason, this site's log the rest."""
        number = 0
        # An answer that comes too late for the server is still being worked out when the next question arrives.
        with self._lock:
            try:
                header, tensors = unpack(payload)
                number = header.get("number", 0)
                torch.set_num_threads(header["threads"])
                if header["kind"] == "survey":
                    survey = self.holding.survey(str(header["data"]), header["target"])
                    return pack({"client": self.name, "number": 0, "survey": survey.model_dump()})
                seat = self._seat_for(header)
                match header["kind"]:
                    case "ask":
                        return self._answer(seat, read_ask(header, tensors))
                    case "save":
                        self._save(seat, int(header["round"]), header["keep"])
                    case "restore":
                        self._restore(seat, int(header["round"]))
                    case "leave":
                        self._leave(seat)
                    case "rounds":
                        pass
                    case unknown:
                        raise ValueError(f"{unknown!r} is nothing that a client can do")
                return pack({"client": self.name, "number": 0, "rounds": saved_rounds(seat.folder)})
            except Exception as error:
                log.exception("%s could not answer", self.name)
                reason = f"{type(error).__name__}: {error}"[:LONGEST_REASON]
                return pack({"client": self.name, "number": number, "error": reason})

    def _answer(self, seat: Seat, ask: Ask) -> bytes:
        if ask.after is None:
            seat.client.forget()
        elif ask.after != seat.answered:
            raise OutOfStep(f"the server goes on from question {ask.after}, and {self.name} from {seat.answered}")
        # Until the answer is ready nobody knows how far the client came.
        seat.answered = None
        answer = pack_answer(self.name, ask, seat.client.answer(ask))
        seat.answered = ask.number
        if self.forgets:
            self._write_now(seat)
        return answer

    def _seat_for(self, header: Mapping[str, Any]) -> Seat:
        run, match = as_folder(header["run"]), Match.from_dict(header["match"])
        folder = self.disk / self.name / run / match.key
        begins = header["kind"] == "ask" and header["task"] == "introduce"
        if begins:  # whatever is there under this name belongs to a game that nobody will go on with
            shutil.rmtree(folder, ignore_errors=True)
        if begins or self._seat is None or self._seat.folder != folder:
            samples = self.holding.samples(match)
            method = match.entry.make(input_shape({self.name: samples}), match.source.classes)
            site = Site(self.name, samples, match.seed, chosen_device(header["device"]))
            # One match at a time: a run plays them one after the other.
            self._seat = Seat(method.client(site), folder)
        if self.forgets and _stamp(folder / "now.pt") != self._seat.written:
            self._load(self._seat, "now.pt")
        return self._seat

    def _save(self, seat: Seat, round_: int, keep: Collection[int]) -> None:
        _write(seat.folder / f"round-{round_}.pt", _state(seat))
        for old in set(saved_rounds(seat.folder)) - {round_, *keep}:
            (seat.folder / f"round-{old}.pt").unlink(missing_ok=True)

    def _restore(self, seat: Seat, round_: int) -> None:
        rounds = saved_rounds(seat.folder)
        if round_ in rounds:
            self._load(seat, f"round-{round_}.pt")
        else:
            if rounds:  # its moments and moves are of another round, but they are its own
                self._load(seat, f"round-{max(rounds)}.pt")
            seat.answered = None
        if self.forgets:
            self._write_now(seat)
        if round_ not in rounds:
            raise OutOfStep(f"{self.name} has no state of round {round_}, but of {rounds or 'none'}: it is told again")

    def _leave(self, seat: Seat) -> None:
        shutil.rmtree(seat.folder, ignore_errors=True)
        self._seat = None

    def _write_now(self, seat: Seat) -> None:
        _write(seat.folder / "now.pt", _state(seat))
        seat.written = _stamp(seat.folder / "now.pt")

    def _load(self, seat: Seat, name: str) -> None:
        path = seat.folder / name
        seat.written = _stamp(path)
        state: Mapping[str, Any] = torch.load(path, weights_only=True, map_location=seat.client.site.device)
        seat.client.load_state_dict(state["client"])
        seat.answered = state["answered"]


def as_folder(name: str) -> str:
    """The name, if it can be one of a folder."""
    if not FOLDER_NAME.fullmatch(name):
        raise UserError(f"{name!r} can't be a name: letters, digits, '.', '_' and '-' only")
    return name


def saved_rounds(folder: Path) -> list[int]:
    """The rounds whose states are on the disk."""
    return sorted(int(path.stem.removeprefix("round-")) for path in folder.glob("round-*.pt"))


def _state(seat: Seat) -> dict[str, Any]:
    return {"client": seat.client.state_dict(), "answered": seat.answered}


def _write(path: Path, state: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    torch.save(state, buffer)
    write_atomically(path, buffer.getvalue())


def _stamp(path: Path) -> tuple[int, int] | None:
    """What tells a file from the one that was there before; None if there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_ino

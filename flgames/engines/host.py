"""A client's home at its site: payloads come in, payloads go out; samples and states stay.

```
DISK/CLIENT/RUN/MATCH/round-R.pt   its state after round R of a match, while the server may go back to it
DISK/CLIENT/RUN/MATCH/now.pt       its state after its last answer, where every question meets a new process
DISK/CLIENT/.site                  its journal, for people at the site
```

States are sealed. One that was damaged is dropped: the client says that it is out of step, and is told again.
"""

from __future__ import annotations

import logging
import re
import shutil
import threading
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

from flgames.core.client import Client, Site
from flgames.core.messages import Ask
from flgames.core.state import State, taken
from flgames.data.own.roles import Roles
from flgames.data.own.source import OwnOptions
from flgames.data.own.survey import Survey
from flgames.data.samples import Samples, input_shape
from flgames.devices import chosen_device
from flgames.engines.wire import Unreadable, pack, pack_answer, read_ask, unpack
from flgames.errors import UserError
from flgames.models.architecture import Weights
from flgames.policy import games
from flgames.policy.codes import BadQuestion, OutOfStep, Refused, code_of, told_of
from flgames.policy.journal import Journal, sha256
from flgames.policy.limits import Limits
from flgames.policy.rules import Rules, rules_of_site
from flgames.runs.match import Match
from flgames.sealed import Damaged, Seal, read_state, round_of, write_state

log = logging.getLogger(__name__)

LONGEST_REASON = 500
LONGEST_NAME = 100

SERVER = "server"
"""Who may ask."""

SITE = ".site"
"""The journal's folder. No run can be called so."""

ROUND = "round-"
"""How the names of states begin that the server may go back to."""

NOW = -1
"""In a seal, instead of a question's number: the state follows none."""

FOLDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""What clients and runs may be called: their names become folders."""


class SiteDataSource(Protocol):
    """What a site has."""

    def samples(self, match: Match) -> Samples:
        """Its samples for a match."""

    def survey(self, data: str, roles: Roles) -> Survey:
        """What others may know of data of its own."""


@dataclass
class Session:
    """A client in a match, and the last question that it has answered."""

    client: Client
    folder: Path
    plan: str
    """The hash of what is played."""
    match: str
    """The match's key."""
    answered: int | None = None
    written: tuple[int, int] | None = None
    """Which now.pt this state is the same as."""


class Host:
    """Plays for one client, in whatever process an engine gives it.

    Parameters
    ----------
    name
        The client's name.
    source
        What it has: samples for a match, and what may be known of data of its own.
    disk
        Where its states are kept.
    forgets
        Whether the engine may ask the next question in another process: then the state is written after every answer.
    rules
        What its site tells and can be asked; None: what its environment says.
    """

    def __init__(
        self, name: str, source: SiteDataSource, disk: Path, forgets: bool = False, rules: Rules | None = None
    ) -> None:
        self.name = as_folder(name)
        self.source = source
        self.disk = disk
        self.forgets = forgets
        self.rules = rules or rules_of_site()
        self.journal = Journal(disk / self.name / SITE)
        self.limits = Limits(self.rules.limits, disk / self.name, self.journal.folder)
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._told: tuple[object, Match, str] | None = None
        """The last match as it was told, and its key: every question tells it, and to read it takes time."""

    def handle(self, payload: bytes, caller: str = SERVER) -> bytes:
        """Answer a payload. What goes wrong is an answer too: the server hears a code, this site's journal the rest.

        ``caller`` is who asks, as the engine knows it: nobody but the server is answered.
        """
        # An answer that comes too late for the server is still being worked out when the next question arrives.
        with self._lock:
            header: dict[str, Any] = {}
            error: Exception | None = None
            try:
                if caller != SERVER:
                    raise Refused(f"only the server may ask, and {caller} did")
                games.check_payload(self.rules.game, len(payload))
                header, tensors = _read(payload)
                reply = self._reply(header, tensors)
            except Exception as why:
                error, reply = why, self._failure(_number(header), why)
            return self._recorded(caller, header, payload, reply, error)

    def _recorded(
        self, caller: str, header: Mapping[str, Any], payload: bytes, reply: bytes, error: Exception | None
    ) -> bytes:
        """The reply, once it is written down that it leaves."""
        if not self.rules.journal:
            return reply
        asked = {key: str(header[key])[:LONGEST_NAME] for key in ("kind", "task", "run") if key in header}
        plan = self._session.plan if self._session and "match" in header and error is None else ""
        ended = told_of(error)[:LONGEST_REASON] if error else "answered"
        try:
            self.journal.record(
                caller=caller, **asked, number=_number(header), plan=plan, received=len(payload),
                sent=len(reply), sha256=sha256(reply), ended=ended,
            )  # fmt: skip
        except OSError as why:
            log.error("%s can't write its audit log: %s", self.name, why.strerror)
            return self._failure(_number(header), Refused("nothing leaves that can't be written down"))
        return reply

    def _failure(self, number: int, error: Exception) -> bytes:
        if self.rules.errors == "texts":
            log.exception("%s could not answer", self.name)
            reason = f"{type(error).__name__}: {error}"
        else:
            # Engines send their logs to the server: what an error is about is in no log of theirs.
            log.error("%s could not answer: %s", self.name, code_of(error))
            with suppress(OSError):  # a disk that is full is no reason to say more
                self.journal.explain(error)
            reason = told_of(error)
        return pack({"client": self.name, "number": number, "error": reason[:LONGEST_REASON]})

    def _reply(self, header: Mapping[str, Any], tensors: Weights) -> bytes:
        torch.set_num_threads(min(_whole(header["threads"]), self.rules.game.max_threads))
        if header["kind"] == "survey":
            self.limits.take("surveys")
            survey = self.source.survey(str(header["data"]), Roles(**header["roles"]))
            return pack({"client": self.name, "number": 0, "survey": survey.model_dump()})
        if header["kind"] == "leave":
            self._leave(header)
            return pack({"client": self.name, "number": 0})
        session = self._session_for(header)
        match header["kind"]:
            case "ask":
                return self._answer(session, read_ask(header, tensors))
            case "save":
                self._save(session, _whole(header["round"]), header["keep"])
            case "restore":
                self._restore(session, _whole(header["round"]))
            case "rounds":
                _drop_damaged(session)
            case unknown:
                raise BadQuestion(f"{unknown!r} is nothing that a client can do")
        return pack({"client": self.name, "number": 0, "rounds": saved_rounds(session.folder)})

    def _answer(self, session: Session, ask: Ask) -> bytes:
        if ask.after is None:
            session.client.forget()
        elif ask.after != session.answered:
            raise OutOfStep(f"the server goes on from question {ask.after}, and {self.name} from {session.answered}")
        # Until the answer is ready nobody knows how far the client came.
        session.answered = None
        answer = pack_answer(self.name, ask, session.client.answer(ask))
        session.answered = ask.number
        if self.forgets:
            self._write_now(session)
        return answer

    def _session_for(self, header: Mapping[str, Any]) -> Session:
        match, folder = self._match_of(header)
        begins = header["kind"] == "ask" and header["task"] == "introduce"
        is_new = begins or not folder.exists()
        if begins:  # whatever is there under this name belongs to a game that nobody will go on with
            shutil.rmtree(folder, ignore_errors=True)
        if begins or self._session is None or self._session.folder != folder:
            if self.rules.journal:
                self.journal.keep_plan(match, self.limits)
            games.check_match(self.rules, match)
            if is_new:
                self.limits.check_disk()
                self.limits.take("games")
            samples = self.source.samples(match)
            method = match.entry.make(input_shape({self.name: samples}), match.classes)
            device, validation = chosen_device(header["device"]), match.entry.validation
            site = Site.of(self.name, samples, self._seed(match), device, validation)
            games.check_samples(self.rules.game, len(site.samples), len(site.held_back or ()) or None)
            # One match at a time: a run plays them one after the other.
            self._session = Session(method.client(site), folder, games.plan_hash(match), match.key)
        changed = self.forgets and _stamp(folder / "now.pt") != self._session.written
        if changed and not self._load(self._session, "now.pt"):
            self._load_latest(self._session)
        return self._session

    def _seed(self, match: Match) -> int:
        """What this client draws batches by; a benchmark's samples are no secret."""
        own = isinstance(match.options, OwnOptions)
        return self.journal.secret_seed(match.seed) if own and self.rules.game.secret_order else match.seed

    def _save(self, session: Session, round_: int, keep: Collection[int]) -> None:
        _write(session, f"{ROUND}{round_}.pt", round_)
        for old in set(saved_rounds(session.folder)) - {round_, *keep}:
            (session.folder / f"{ROUND}{old}.pt").unlink(missing_ok=True)

    def _restore(self, session: Session, round_: int) -> None:
        _drop_damaged(session)
        rounds = saved_rounds(session.folder)
        if round_ in rounds:
            self._load(session, f"{ROUND}{round_}.pt")
        else:
            self._load_latest(session)
        if self.forgets:
            self._write_now(session)
        if round_ not in rounds:
            raise OutOfStep(f"{self.name} has no state of round {round_}, but of {rounds or 'none'}: it is told again")

    def _leave(self, header: Mapping[str, Any]) -> None:
        """A match has ended, with this client or while it was away: nothing of it is kept, and nothing is read."""
        _, folder = self._match_of(header)
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # the run has other matches
            folder.parent.rmdir()
        if self._session and self._session.folder == folder:
            self._session = None

    def _match_of(self, header: Mapping[str, Any]) -> tuple[Match, Path]:
        """The match that a question is of, and where its states are."""
        if self._told is None or self._told[0] != header["match"]:
            match = Match.model_validate(header["match"])
            self._told = header["match"], match, match.key
        _, match, key = self._told
        return match, self.disk / self.name / _run_named(header["run"]) / key

    def _write_now(self, session: Session) -> None:
        _write(session, "now.pt", NOW if session.answered is None else session.answered)
        session.written = _stamp(session.folder / "now.pt")

    def _load(self, session: Session, name: str) -> bool:
        """Whether the session has the state of this file now; one that was damaged is dropped."""
        path = session.folder / name
        session.written = _stamp(path)
        state = _state_in(session, path)
        if state is None:
            session.written = None
            return False
        session.client.load_state_dict(taken(state, "client", dict))
        session.answered = taken(state, "answered", int) if state["answered"] is not None else None
        return True

    def _load_latest(self, session: Session) -> None:
        """Its moments and moves are of another round then, but they are its own."""
        _drop_damaged(session)
        if rounds := saved_rounds(session.folder):
            self._load(session, f"{ROUND}{max(rounds)}.pt")
        session.answered = session.written = None


def as_folder(name: str) -> str:
    """The name, if it can be one of a folder."""
    if not FOLDER_NAME.fullmatch(name):
        raise UserError(f"{name!r} can't be a name: letters, digits, '.', '_' and '-' only")
    return name


def _read(payload: bytes) -> tuple[dict[str, Any], Weights]:
    try:
        return unpack(payload)
    except Unreadable as why:
        raise BadQuestion(f"the question {why}") from None


def _run_named(name: object) -> str:
    if not isinstance(name, str) or not FOLDER_NAME.fullmatch(name):
        raise BadQuestion(f"{name!r} can't be a name")
    return name


def _whole(number: object) -> int:
    if not isinstance(number, int):
        raise BadQuestion(f"{number!r} is no whole number")
    return number


def _number(header: Mapping[str, Any]) -> int:
    """Of the question, if it has one."""
    number = header.get("number")
    return number if isinstance(number, int) else 0


def saved_rounds(folder: Path) -> list[int]:
    """The rounds whose states are on the disk."""
    return sorted(int(path.stem.removeprefix(ROUND)) for path in folder.glob(f"{ROUND}*.pt"))


def _write(session: Session, name: str, round_: int) -> None:
    session.folder.mkdir(parents=True, exist_ok=True)
    state: State = {"client": session.client.state_dict(), "answered": session.answered}
    write_state(session.folder / name, state, _seal(session, round_))


def _state_in(session: Session, path: Path) -> State | None:
    """The state of a file; None if there is none, or if it was damaged: then it is dropped."""
    said = round_of(path)
    try:
        if path.stem.startswith(ROUND) and path.stem != f"{ROUND}{said}":
            raise Damaged(f"{path} is damaged: it says that it is of round {said}.")
        return read_state(path, _seal(session, NOW if said is None else said), session.client.site.device)
    except Damaged as why:
        if path.exists():
            log.warning("%s It is dropped, and the server will tell again what it lacks.", why)
            path.unlink()
        return None


def _drop_damaged(session: Session) -> None:
    for round_ in saved_rounds(session.folder):
        _state_in(session, session.folder / f"{ROUND}{round_}.pt")


def _seal(session: Session, round_: int) -> Seal:
    site = session.client.site
    return Seal(session.match, site.seed, round_, site.name)


def _stamp(path: Path) -> tuple[int, int] | None:
    """What tells a file from the one that was there before; None if there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_ino

"""What a site writes down for its own people. Nothing of it is sent."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from flgames.core.knobs import Plain
from flgames.files import write_json
from flgames.policy.games import plan_hash
from flgames.policy.limits import Limits
from flgames.runs.match import Match

AUDIT = "audit.jsonl"
ERRORS = "errors.log"
PLANS = "plans"
SECRET = "secret"

LONGEST_LINE = 2**14


class Journal:
    """The files of a site's folder:

    ```
    audit.jsonl       every question: who asked what and when, bytes and SHA-256 of what left
    errors.log        what went wrong, in full
    plans/HASH.json   every game that the server wanted to play
    asked.json        how many games and surveys there were, today and in all
    secret            what this site's random draws are made of
    ```

    Lines of the audit log are only ever added, and each has the SHA-256 of the one before: a line that is changed or
    taken out shows, but for the last ones.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def record(self, **line: Plain) -> None:
        """A line of the audit log."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(os.open(self.folder / AUDIT, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            entry = {"time": _now(), **line, "before": sha256(_last_line(file))}
            file.write(json.dumps(entry).encode() + b"\n")

    def explain(self, error: Exception) -> None:
        """What the server hears only a code of."""
        said = "".join(traceback.format_exception(error))
        self._append(ERRORS, f"{_now()}\n{said}\n".encode())

    def secret_seed(self, seed: int) -> int:
        """Another seed for every one that a server names, always the same here, which nobody else can know."""
        path = self.folder / SECRET
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with suppress(FileExistsError):  # another process was faster
                _write_once(path, secrets.token_bytes(32))
        return int(sha256(path.read_bytes() + str(seed).encode()), 16)

    def keep_plan(self, match: Match, limits: Limits) -> None:
        """A game, before it is played or refused, for people to read."""
        path = self.folder / PLANS / f"{plan_hash(match)}.json"
        if not path.exists():
            limits.check_plans(path.parent)
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_json(path, match.model_dump(mode="json"))

    def _append(self, name: str, content: bytes) -> None:
        """To the end of a file that nobody else can read."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = os.open(self.folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, content)
        finally:
            os.close(file)


def _write_once(path: Path, content: bytes) -> None:
    """All of a file, or nothing; never over another one."""
    beside = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(file, content)
        os.link(beside, path)
    finally:
        os.close(file)
        beside.unlink()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def lines_of(audit: Path) -> list[dict[str, Any]]:
    """What was asked, in its order."""
    return [json.loads(line) for line in audit.read_bytes().splitlines()]


def broken_line(audit: Path) -> int | None:
    """The first line of an audit log that does not follow from the one before, counted from 1; None: all do."""
    before = b""
    for number, line in enumerate(audit.read_bytes().splitlines(), 1):
        try:
            follows = json.loads(line)["before"] == sha256(before)
        except (ValueError, KeyError, TypeError):
            follows = False
        if not follows:
            return number
        before = line
    return None


def _last_line(file: BinaryIO) -> bytes:
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - LONGEST_LINE))
    lines = file.read().splitlines()
    return lines[-1] if lines else b""


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")

"""The run folder: settings, one line of measures a round, checkpoints, the final model, results.

```
RUN/
  settings.json  environment.json  results.json  table.md  curves.png  profile.png
  clients.json      of own data: what each client told of them
  METHOD/seed-S/
    measures.jsonl  probe.jsonl  model.safetensors  result.json
    state.pt        the whole state of a game under way; gone when it has ended
    whole.pt        the last state with all clients, where that is an earlier one
```

Whole files are written under a temporary name and renamed; lines are appended, and those after the last checkpoint
are dropped when a run goes on.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import platform
import secrets
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch

import flgames
from flgames.data.own.layout import Survey
from flgames.errors import UserError
from flgames.federation import Weights
from flgames.files import write_atomically, write_json
from flgames.settings import Settings, validated


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep a second process from playing in the same folder."""
    with open(path / ".lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"Another process is playing in {path}: wait for it or stop it first.") from None
        yield


class RunFolder:
    """A folder that belongs to one run, for ever."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self.path = path
        self.settings = settings

    @classmethod
    def create(cls, path: Path | None, settings: Settings) -> RunFolder:
        """A new folder; one that holds anything is never touched."""
        if path is None:
            path = _free_name(settings)
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise UserError(f"{path} is {_what_is_there(path)}: choose another --out.")
        try:
            path.mkdir(parents=True, exist_ok=True)
            write_json(path / "environment.json", environment() | {"run": secrets.token_hex(6)})
            write_json(path / "settings.json", settings.model_dump())
        except OSError as error:
            raise UserError(f"The run folder {path} can't be made: {error.strerror}.") from None
        return cls(path, settings)

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """A run that was begun before."""
        try:
            saved = json.loads((path / "settings.json").read_text())
            if not isinstance(saved, dict) or "benchmark" not in saved:
                raise ValueError
        except (OSError, ValueError):
            raise UserError(f"{path} is not a run folder: it has no readable settings.json.") from None
        return cls(path, validated(saved))

    @property
    def id(self) -> str:
        """What sites keep their states of this run under: no other run has it, wherever its folder is."""
        return str(json.loads((self.path / "environment.json").read_text())["run"])

    def game(self, method: str, seed: int, holdout: str | None = None) -> GameFolder:
        """One game of the run; where every client is held out in turn, in a folder of that client's name."""
        folder = self.path / holdout if holdout and self.settings.holdout != holdout else self.path
        return GameFolder(folder / method / f"seed-{seed}")

    @property
    def surveys(self) -> dict[str, Survey] | None:
        """What the clients of own data have told of them; None before they did."""
        path = self.path / "clients.json"
        if not path.exists():
            return None
        return {name: Survey.model_validate(told) for name, told in json.loads(path.read_text()).items()}

    def save_surveys(self, surveys: Mapping[str, Survey]) -> None:
        write_json(self.path / "clients.json", {name: survey.model_dump() for name, survey in surveys.items()})


class GameFolder:
    """One method played with one seed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._saved_at = time.monotonic()

    @property
    def result(self) -> dict[str, Any] | None:
        """The result of a game that has ended."""
        path = self.path / "result.json"
        return json.loads(path.read_text()) if path.exists() else None

    @property
    def saved_rounds(self) -> set[int]:
        """The rounds after which a state was saved that one may have to go back to."""
        return {state["next_round"] for state in self._states()}

    def load_state(self, possible: set[int] | None = None) -> dict[str, Any] | None:
        """The last checkpoint, of those rounds to which all clients can go back if there is one.

        Lines written after it are dropped, because those rounds will be played again.
        """
        states = self._states()
        common = [state for state in states if possible is None or state["next_round"] in possible]
        state = next(iter(common or states), None)
        rounds = state["next_round"] if state else 0
        for name in ("measures.jsonl", "probe.jsonl"):
            kept = [line for line in self._lines(name) if line["round"] < rounds]
            if (self.path / name).exists():
                write_atomically(self.path / name, "".join(json.dumps(line) + "\n" for line in kept))
        return state

    def save_state(self, state: dict[str, Any]) -> None:
        """A checkpoint. The last one with all clients is kept beside one that lacks some."""
        last, whole = self.path / "state.pt", self.path / "whole.pt"
        if not state["whole"] and not whole.exists() and last.exists():
            os.replace(last, whole)
        buffer = io.BytesIO()
        torch.save(state, buffer)
        write_atomically(last, buffer.getvalue())
        if state["whole"]:
            whole.unlink(missing_ok=True)
        self._saved_at = time.monotonic()

    def _states(self) -> list[dict[str, Any]]:
        """Those on the disk, the newest first."""
        paths = [self.path / "state.pt", self.path / "whole.pt"]
        return [torch.load(path, weights_only=True) for path in paths if path.exists()]

    def is_due(self, seconds: float) -> bool:
        """Whether the last checkpoint is older than this."""
        return time.monotonic() - self._saved_at >= seconds

    def append(self, name: str, line: dict[str, Any]) -> None:
        with open(self.path / name, "a") as file:
            file.write(json.dumps(line, allow_nan=False) + "\n")

    def measures(self) -> list[dict[str, Any]]:
        return self._lines("measures.jsonl")

    def probes(self) -> list[dict[str, Any]]:
        return self._lines("probe.jsonl")

    def finish(self, weights: Weights, result: dict[str, Any]) -> None:
        """The final model and its result; the checkpoint has served."""
        write_atomically(self.path / "model.safetensors", safetensors.torch.save(weights))
        write_json(self.path / "result.json", result)
        for name in ("state.pt", "whole.pt"):
            (self.path / name).unlink(missing_ok=True)

    def _lines(self, name: str) -> list[dict[str, Any]]:
        path = self.path / name
        if not path.exists():
            return []
        whole = [line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
        return [json.loads(line) for line in whole]


def environment() -> dict[str, Any]:
    """What a reader needs to judge a figure: bits are the same only where these are."""
    return {
        "flgames": flgames.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "platform": platform.platform(),
        "started": datetime.now().astimezone().isoformat(timespec="seconds"),
    }


def _commit() -> str | None:
    """The commit of the code that runs, if it is a checkout; with + if files differ from it."""
    here = Path(__file__)

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(here.parent), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", here.name)  # an installed copy may lie in somebody else's repository
        return git("rev-parse", "HEAD")[:12] + ("+" if git("status", "--porcelain", ".") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _free_name(settings: Settings) -> Path:
    stem = f"{datetime.now():%Y%m%d-%H%M%S}-{settings.benchmark}-{settings.name}"
    path, number = Path("runs") / stem, 1
    while path.exists():
        number += 1
        path = Path("runs") / f"{stem}-{number}"
    return path


def _what_is_there(path: Path) -> str:
    try:
        there = RunFolder.open(path).settings
    except UserError:
        return "not empty"
    return (
        f"not empty and belongs to another run ({there.name} on {there.benchmark}, seed {there.seed}), "
        f"which goes on by --resume {path}"
    )

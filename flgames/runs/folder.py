"""The run folder: settings, plan, one line of measures a round, checkpoints, the final model, results.

```
RUN/
  settings.json     what it was told, flat, as on the command line
  plan.json         what follows from that: every match with all that decides it
  environment.json  results.json  table.md  curves.png  profile.png
  clients.json      of own data: what each client told of them
  METHOD/seed-S/
    measures.jsonl  probe.jsonl  model.safetensors  result.json
    disagreement.safetensors  of a settled game: its players, and the direction in which they disagree
    state.pt        the whole state of a game under way; gone when it has ended
    before.pt       the one before, if state.pt was damaged
    whole.pt        the last state with all clients, where that is an earlier one
```

States and models are sealed: :mod:`flgames.sealed`.

Whole files are written under a temporary name and renamed; lines are appended, and those after the last checkpoint
are dropped when a run goes on.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import logging
import os
import platform
import secrets
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from pydantic import BaseModel, ValidationError

import flgames
from flgames.core.records import RoundRecord
from flgames.core.state import State, taken
from flgames.data.own.survey import Survey
from flgames.errors import UserError
from flgames.files import write_atomically, write_json
from flgames.models.architecture import Weights
from flgames.runs.match import Match
from flgames.runs.plan import FORMAT, Plan, make_plan
from flgames.runs.result import Environment, ProbeRecord, Result, as_line, read_result, write_result
from flgames.runs.settings import Settings, validated, without_unchosen
from flgames.sealed import Damaged, Seal, read_state, read_tensors, round_of, write_state, write_tensors

log = logging.getLogger(__name__)

LOCK, SOON = ".lock", 0.5
"""The file that is locked, and the seconds after which it is said that it is."""

PLAN = "plan.json"
MODEL = "model.safetensors"
EVIDENCE = "disagreement.safetensors"

LAST, BEFORE, WHOLE = "state.pt", "before.pt", "whole.pt"
"""The states of a game under way."""

Record = TypeVar("Record", bound=BaseModel)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep a second process from playing in the same folder. One that only looks whether it may is soon gone."""
    deadline = time.monotonic() + SOON
    with open(path / LOCK, "w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    why = f"Another process is playing in {path}: wait for it or stop it first."
                    raise UserError(why) from None
                time.sleep(SOON / 20)
        yield


class RunFolder:
    """A folder that belongs to one run, for ever."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self.path = path
        self.settings = settings

    @classmethod
    def create(cls, path: Path | None, settings: Settings, surveys: Mapping[str, Survey] | None = None) -> RunFolder:
        """A new folder with its plan; one that holds anything is never touched.

        The plan of own data that lie elsewhere is made when their surveys have come: :meth:`add_surveys`.
        """
        try:
            path = _free_name(settings) if path is None else path
            _check_free(path)
            path.mkdir(parents=True, exist_ok=True)
            with locked(path):
                _check_free(path)  # nobody else has made it meanwhile
                return cls._made(path, settings, surveys)
        except OSError as error:
            raise UserError(f"The run folder {path or 'runs'} can't be made: {error.strerror}.") from None

    @classmethod
    def _made(cls, path: Path, settings: Settings, surveys: Mapping[str, Survey] | None) -> RunFolder:
        run = cls(path, settings)
        write_json(path / "environment.json", environment().model_dump() | {"run": secrets.token_hex(6)})
        write_json(path / "settings.json", settings.flat())
        if surveys:
            run.add_surveys(surveys)
        elif settings.data is None:
            run.keep_plan()
        return run

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """A run that was begun before."""
        try:
            saved = json.loads((path / "settings.json").read_bytes())
            if not isinstance(saved, dict) or "benchmark" not in saved:
                raise ValueError
        except (OSError, ValueError):
            raise UserError(f"{path} is not a run folder: it has no readable settings.json.") from None
        return cls(path, validated(without_unchosen(saved)))

    def with_threads(self, threads: int) -> RunFolder:
        """The same run, which goes on with so many threads: its settings say so from now on."""
        settings = self.settings.model_copy(update={"threads": threads})
        with locked(self.path):
            write_json(self.path / "settings.json", settings.flat())
        return RunFolder(self.path, settings)

    @property
    def has_ended(self) -> bool:
        """Whether all of its games have ended."""
        return self.is_planned and all(folder.has_ended for _, folder in self.games())

    @property
    def id(self) -> str:
        """What sites keep their states of this run under: no other run has it, wherever its folder is."""
        path = self.path / "environment.json"
        try:
            return str(json.loads(path.read_bytes())["run"])
        except (OSError, ValueError, KeyError, TypeError):
            raise UserError(f"{path} is damaged: it does not say which run this is.") from None

    @property
    def is_planned(self) -> bool:
        """Whether its matches are known; those of own data that lie elsewhere are not before their survey."""
        return self.has_plan or self.settings.data is None or self.surveys is not None

    @property
    def plan(self) -> Plan:
        """What is played, as it was planned when the folder was made."""
        path = self.path / PLAN
        if not path.exists():  # a folder of a version that stored none, which had the presets of this one
            return make_plan(self.settings, self.surveys)
        try:
            saved = json.loads(path.read_bytes())
            if (found := saved.get("format")) != FORMAT:
                raise UserError(f"{path} has the format {found}, and this version of flgames reads {FORMAT}.")
            return Plan.model_validate(saved)
        except ValidationError as error:
            raise UserError(f"{path} can't be read: {error.errors()[0]['msg']}.") from None
        except (json.JSONDecodeError, UnicodeDecodeError, AttributeError) as error:
            raise UserError(f"{path} can't be read: {error}.") from None

    def keep_plan(self) -> None:
        """Store the plan, if it is not there yet: from now on nothing can change it."""
        if not self.has_plan:
            write_json(self.path / PLAN, self.plan.model_dump(mode="json"))

    @property
    def has_plan(self) -> bool:
        """Whether its plan is stored."""
        return (self.path / PLAN).exists()

    @property
    def surveys(self) -> dict[str, Survey] | None:
        """What the clients of own data have told of them; None before they did."""
        path = self.path / "clients.json"
        if not path.exists():
            return None
        try:
            return {name: Survey.model_validate(told) for name, told in json.loads(path.read_bytes()).items()}
        except (ValueError, AttributeError):
            raise UserError(f"{path} is damaged: it does not say what clients have told.") from None

    def add_surveys(self, surveys: Mapping[str, Survey]) -> None:
        """Clients of own data have told of them: now the plan can be made."""
        write_json(self.path / "clients.json", {name: survey.model_dump() for name, survey in surveys.items()})
        self.keep_plan()

    def games(self) -> list[tuple[Match, GameFolder]]:
        """Every match of the plan, and where it is played."""
        plan = self.plan
        return [(match, GameFolder(self.path / plan.folder(match), match)) for match in plan.matches]


class GameFolder:
    """One method played with one seed."""

    def __init__(self, path: Path, match: Match) -> None:
        self.path = path
        self.match = match
        self._saved_at = time.monotonic()

    @property
    def has_ended(self) -> bool:
        return (self.path / "result.json").exists()

    def result(self) -> Result:
        """The result of a game that has ended."""
        if not self.has_ended:
            raise UserError(f"{self.path} has no result: that game has not ended.")
        return read_result(self.path / "result.json")

    @property
    def saved_rounds(self) -> set[int]:
        """The rounds after which a state was saved that one may have to go back to."""
        found = (round_of(self.path / name) for name in (LAST, BEFORE, WHOLE))
        return {each for each in found if each is not None}

    def load_state(self, possible: set[int] | None = None) -> State | None:
        """The last checkpoint, of those rounds to which all clients can go back if there is one.

        Lines written after it are dropped, because those rounds will be played again. Checkpoints that are damaged are
        dropped too, if there is another one.
        """
        states = self._states()
        common = [state for state in states if possible is None or state["next_round"] in possible]
        state = next(iter(common or states), None)
        rounds = taken(state, "next_round", int) if state else 0
        for name, records in (("measures.jsonl", self.measures()), ("probe.jsonl", self.probes())):
            if (self.path / name).exists():
                kept = "".join(as_line(record) for record in records if record.round < rounds)
                write_atomically(self.path / name, kept)
        return state

    def save_state(self, state: State) -> None:
        """A checkpoint. The one before is kept, and the last one with all clients beside one that lacks some."""
        last, whole, new = self.path / LAST, self.path / WHOLE, self.path / f".{LAST}.new"
        rounds = taken(state, "next_round", int)
        write_state(new, state, self._seal(rounds))
        if last.exists() and not state["whole"] and not whole.exists():
            os.replace(last, whole)
        elif last.exists() and round_of(last) != rounds:
            os.replace(last, self.path / BEFORE)
        os.replace(new, last)
        if state["whole"]:
            whole.unlink(missing_ok=True)
        self._saved_at = time.monotonic()

    def drop_damaged(self) -> None:
        """Say which checkpoints are damaged, and drop them, before another process plays on from the rest."""
        self._states()

    def _states(self) -> list[State]:
        """Those on the disk, the newest first."""
        states, damaged = list[State](), dict[Path, Damaged]()
        for path in (self.path / name for name in (LAST, BEFORE, WHOLE)):
            if path.exists():
                try:
                    states.append(read_state(path, self._seal(round_of(path) or 0)))
                except Damaged as error:
                    damaged[path] = error
        states.sort(key=lambda state: taken(state, "next_round", int), reverse=True)
        for path, why in damaged.items():
            if not states:
                raise UserError(f"{why} There is no other checkpoint: remove it, and this game begins anew.")
            log.warning("%s It is dropped: there is a state after round %s.", why, states[0]["next_round"])
            path.unlink()
        return states

    def _seal(self, round_: int) -> Seal:
        return Seal(self.match.key, self.match.seed, round_)

    def is_due(self, seconds: float) -> bool:
        """Whether the last checkpoint is older than this."""
        return time.monotonic() - self._saved_at >= seconds

    def append(self, record: RoundRecord | ProbeRecord) -> None:
        name = "measures.jsonl" if isinstance(record, RoundRecord) else "probe.jsonl"
        with open(self.path / name, "a") as file:
            file.write(as_line(record))

    def measures(self) -> list[RoundRecord]:
        return self._read("measures.jsonl", RoundRecord)

    def probes(self) -> list[ProbeRecord]:
        return self._read("probe.jsonl", ProbeRecord)

    def finish(self, weights: Weights, result: Result, evidence: Weights | None = None) -> None:
        """The final model and its result, and what it was found by; the checkpoint has served."""
        seal = self._seal(result.rounds)
        write_tensors(self.path / MODEL, weights, seal)
        if evidence:
            write_tensors(self.path / EVIDENCE, evidence, seal)
        write_result(self.path / "result.json", result)
        for name in (LAST, BEFORE, WHOLE):
            (self.path / name).unlink(missing_ok=True)

    def weights(self) -> Weights:
        """Of the final model."""
        return read_tensors(self.path / MODEL, self._seal(self.result().rounds))

    def evidence(self) -> Weights | None:
        """What a settled game found its shortcut by: its players, and the direction in which they disagree."""
        path = self.path / EVIDENCE
        return read_tensors(path, self._seal(self.result().rounds)) if path.exists() else None

    def _read(self, name: str, kind: type[Record]) -> list[Record]:
        path = self.path / name
        if not path.exists():
            return []
        *whole, _ = path.read_bytes().split(b"\n")
        try:
            return [kind.model_validate_json(line) for line in whole]
        except ValidationError as error:
            raise UserError(f"{path} is damaged: {error.errors()[0]['msg']}.") from None


def environment() -> Environment:
    """That of this process."""
    return Environment(
        flgames=flgames.__version__,
        commit=_commit(),
        python=platform.python_version(),
        torch=torch.__version__,
        numpy=np.__version__,
        platform=platform.platform(),
        started=datetime.now().astimezone().isoformat(timespec="seconds"),
    )


def _commit() -> str | None:
    """The commit of the code that runs, if it is a checkout; with + if files differ from it."""
    package = Path(flgames.__file__).parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(package), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")  # an installed copy may lie in somebody else's repository
        return git("rev-parse", "HEAD")[:12] + ("+" if git("status", "--porcelain", ".") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _free_name(settings: Settings) -> Path:
    """A folder that nobody else has, made at once."""
    stem = f"{datetime.now():%Y%m%d-%H%M%S}-{settings.benchmark}-{settings.slug}"
    for number in itertools.count(1):
        path = Path("runs") / (f"{stem}-{number}" if number > 1 else stem)
        with suppress(FileExistsError):
            path.mkdir(parents=True)
            return path
    raise AssertionError("there are always more numbers")


def _check_free(path: Path) -> None:
    if path.exists() and (not path.is_dir() or any(each.name != LOCK for each in path.iterdir())):
        raise UserError(f"{path} is {_what_is_there(path)}: choose another `out`.")


def _what_is_there(path: Path) -> str:
    try:
        there = RunFolder.open(path).settings
    except UserError:
        return "not empty"
    return (
        f"not empty and belongs to another run ({there.name} on {there.benchmark}, seed {there.seed}), "
        f"which goes on by `resume` {path}"
    )

"""What is kept of a game: typed, written by one function and loaded by one."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from statistics import fmean

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from flgames.core.figures import Figures
from flgames.core.records import GameResult
from flgames.evaluation.profile import InvarianceProfile
from flgames.files import write_json
from flgames.sealed import Damaged

SHA256 = "sha256"
"""Of all the rest of a result, in its own file."""

SOMETIMES = ("profile", "unseen_clients", "held_back", "finding", "balanced")
"""What not every kind of data has."""


class Result(GameResult):
    """How a game ended, and what its model does on clients that nobody trained on."""

    input_shape: tuple[int, ...]
    profile: InvarianceProfile | None = None
    """Of a benchmark whose spurious feature is known."""
    unseen_clients: dict[str, Figures] = Field(default_factory=dict)
    """Of real data, if clients were held out."""

    @model_validator(mode="before")
    @classmethod
    def _of_before(cls, values: object) -> object:
        """Matches that were played before rules told their reasons, and before they chose rounds, had one rule."""
        if not isinstance(values, dict):
            return values
        level = values.get("stop_below")
        why = f"train < {level:.2f}" if values.get("end") == "rule" and level is not None else None
        return {"stopped_by": why, "chosen_round": values.get("rounds", 1) - 1} | values

    def saved(self) -> dict[str, object]:
        """As it is written: without what this kind of data does not have."""
        lacks = {name for name in SOMETIMES if not getattr(self, name)}
        lacks |= set() if self.held_back else {"temperature"}
        return self.model_dump(mode="json", exclude=lacks)

    @property
    def unseen(self) -> float | None:
        """Accuracy on the client that nobody trained on, if there is one; of several, the mean."""
        if self.profile:
            return self.profile.unseen
        return fmean(each.accuracy for each in self.unseen_clients.values()) if self.unseen_clients else None


class ProbeRecord(BaseModel):
    """A look at the unseen client while the game goes on, with all that the profile or the counts say there."""

    model_config = ConfigDict(frozen=True, extra="allow")

    round: int
    unseen: float
    agree: float | None = None
    conflict: float | None = None
    flip_rate: float | None = None


class Environment(BaseModel):
    """What a reader needs to judge a figure: bits are the same only where these are."""

    model_config = ConfigDict(frozen=True, extra="allow")

    flgames: str
    commit: str | None
    python: str
    torch: str
    numpy: str
    platform: str
    started: str


class StoredMatch(BaseModel):
    """The file of a match that has been played, to keep and to share."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    method: str
    title: str
    seed: int
    environment: Environment
    result: Result
    train_curve: list[float]
    probes: dict[str, list[float]] = {}


def write_result(path: Path, result: Result) -> None:
    saved = result.saved()
    write_json(path, saved | {SHA256: _digest(saved)})


def read_result(path: Path) -> Result:
    """What was written; results of before have no SHA-256. A key that is none of ours is one that was damaged."""
    try:
        saved = json.loads(path.read_bytes())
        if SHA256 in saved:
            if saved.pop(SHA256) != _digest(saved):
                raise Damaged(f"{path} is damaged: its SHA-256 is not the one that it was written with.")
        elif strange := set(saved) - {*Result.model_fields, *Result.model_computed_fields}:
            raise Damaged(f"{path} is damaged: {sorted(strange)[0]!r} is nothing that a result has.")
        return Result.model_validate(saved)
    except ValidationError as error:
        raise Damaged(f"{path} is damaged: {error.errors()[0]['msg']}.") from None
    except (json.JSONDecodeError, UnicodeDecodeError, AttributeError, TypeError, RecursionError) as error:
        raise Damaged(f"{path} is damaged: {error}.") from None


def _digest(saved: dict[str, object]) -> str:
    return hashlib.sha256(json.dumps(saved, sort_keys=True).encode()).hexdigest()


def read_stored(path: Path) -> StoredMatch:
    return StoredMatch.model_validate_json(path.read_text())


def as_line(record: BaseModel) -> str:
    """A record as a line of a file."""
    return json.dumps(record.model_dump(mode="json", exclude_none=True), allow_nan=False) + "\n"

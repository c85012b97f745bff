"""The store of finished matches: one small JSON file each, found again by everything that decided it.

```
ROOT/
  runs/BENCHMARK/METHOD-seed-S-KEY.json    to keep and to share: what was played, by which code, what came of it
  games/BENCHMARK/METHOD-seed-S-KEY/       its curve and its model, or its state while it is under way: stays here
```
"""

from __future__ import annotations

import json
from pathlib import Path

from flgames.files import write_atomically, write_json
from flgames.runs.folder import GameFolder, environment
from flgames.runs.match import Match
from flgames.runs.result import ProbeRecord, Result, StoredMatch, read_stored

DIGITS = 5
"""Of a figure that is kept."""

PROBED = ("round", "unseen", "agree", "conflict", "flip_rate")
"""What is kept of every look at the unseen client."""


class Store:
    """Matches under a folder. No match is ever played twice."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = environment()  # of the code that is loaded now, whatever is committed while it plays

    def read(self, match: Match) -> StoredMatch | None:
        """The whole file of a match that has been played."""
        for path in (self.root / "runs" / match.options.benchmark).glob(f"*-{match.key}.json"):
            return read_stored(path)
        return None

    def has(self, match: Match) -> bool:
        """Whether a match has been played, here or elsewhere."""
        return any((self.root / "runs" / match.options.benchmark).glob(f"*-{match.key}.json"))

    def find(self, match: Match) -> Result | None:
        """The result of a match that has been played."""
        played = self.read(match)
        return played.result if played else None

    def has_model(self, match: Match) -> bool:
        """Whether the model of a match is on this machine, where it was played."""
        return (self.root / "games" / match.stem / "model.safetensors").exists()

    def begun(self, match: Match) -> int:
        """Rounds that a match has played which has not ended."""
        path = self.root / "games" / match.stem / "measures.jsonl"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def folder(self, match: Match) -> GameFolder:
        """Where a match is played."""
        return GameFolder(self.root / "games" / match.stem, match)

    def keep(self, match: Match) -> None:
        """Write the file of a match whose folder has a result."""
        folder = self.folder(match)
        path = self.root / "runs" / f"{match.stem}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        title = {"method": match.entry.slug, "title": match.entry.title}
        result = folder.result()
        played: dict[str, object] = {
            "environment": self.environment.model_dump(),
            "result": shortened(result.saved()),
            # Matches on real sites come by the hundred, with figures of every site: they are kept short.
            "train_curve": [] if result.unseen_clients else [_brief(each.accuracy) for each in folder.measures()],
        }
        if probes := folder.probes():
            played["probes"] = {name: [_brief(_of(probe, name)) for probe in probes] for name in PROBED}
        whole = title | match.what | played
        if result.unseen_clients:
            write_atomically(path, json.dumps(whole, allow_nan=False) + "\n")
        else:
            write_json(path, whole)


def shortened(saved: dict[str, object]) -> dict[str, object]:
    """A result whose figures by client have as many digits as anybody reads."""
    return {name: _short(value) if name in ("held_back", "unseen_clients") else value for name, value in saved.items()}


def _short(value: object) -> object:
    if isinstance(value, dict):
        return {name: _short(each) for name, each in value.items()}
    return round(value, DIGITS) if isinstance(value, float) else value


def _of(probe: ProbeRecord, name: str) -> float:
    value: float = getattr(probe, name)
    return value


def _brief(value: float) -> float:
    return round(value, 4)

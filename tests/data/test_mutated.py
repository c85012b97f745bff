"""Whatever lies where data or settings should: one sentence, and no traceback.

``FLGAMES_MUTATIONS`` is how many files of data are tried, and a quarter as many of settings.
"""

from __future__ import annotations

import os
import random
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from flgames.data.own.roles import Roles
from flgames.data.own.source import OwnData, OwnOptions, surveys_of
from flgames.errors import UserError
from flgames.runs.plan import likely_entries
from flgames.runs.resolve import read_file, resolve
from flgames.runs.settings import knobs
from tests.data.mutated import PICTURES, TABLES, mutated, picture, settings_file

FILES = int(os.environ.get("FLGAMES_MUTATIONS", "200"))
SEED = int(os.environ.get("FLGAMES_MUTATIONS_SEED", "0"))


def tracebacks(tries: int, attempt: Callable[[random.Random], None]) -> Counter[str]:
    """Where tries ended in anything but a sentence; commands make one of what a disk says, too."""
    found: Counter[str] = Counter()
    for number in range(tries):
        try:
            with warnings.catch_warnings(), suppress(UserError, OSError):
                warnings.simplefilter("ignore")  # PIL's and NumPy's, which are no tracebacks
                attempt(random.Random(f"{SEED}-{number}"))
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            ours = [frame for frame in frames if "/flgames/" in frame.filename][-1]
            found[f"{type(error).__name__}: {str(error)[:80]} in {Path(ours.filename).name}:{ours.lineno}"] += 1
    return found


def play_on(data: Path, roles: Roles) -> None:
    """All that is done with data before a game."""
    surveys = surveys_of(str(data), roles)
    options = OwnOptions.of(str(data), roles, None, (), surveys)
    for samples in OwnData(options).training_clients().values():
        samples.batch(samples.targets[:0].long())


def test_mutated_tables_give_a_sentence(tmp_path: Path) -> None:
    whole = {ending: [make(seed) for seed in range(2)] for ending, make in TABLES.items()}
    for ending, (one, other) in whole.items():
        folder = tmp_path / ending.strip(".")
        folder.mkdir()
        (folder / f"a{ending}").write_bytes(one)
        (folder / f"b{ending}").write_bytes(other)
        play_on(folder, Roles() if "npz" in ending else Roles(target="sick"))

    def attempt(draw: random.Random) -> None:
        ending = draw.choice((".csv", ".csv", *TABLES))
        folder = tmp_path / ending.strip(".")
        changed = mutated(whole[ending][0], draw, ending in (".csv", ".tsv", ".dat"))
        (folder / f"a{ending}").write_bytes(changed)
        play_on(folder, Roles() if "npz" in ending else Roles(target="sick"))

    assert tracebacks(FILES * 3 // 4, attempt) == {}


def test_mutated_pictures_give_a_sentence(tmp_path: Path) -> None:
    whole = {ending: picture(ending, 0) for ending in PICTURES}
    for client in "ab":
        for label in ("ill", "well"):
            (tmp_path / client / label).mkdir(parents=True)
            (tmp_path / client / label / "0.png").write_bytes(whole[".png"])

    def attempt(draw: random.Random) -> None:
        ending = draw.choice(list(PICTURES))
        path = tmp_path / "a" / "ill" / f"1{ending}"
        path.write_bytes(mutated(whole[ending], draw, False))
        try:
            play_on(tmp_path, Roles())
        finally:
            path.unlink()

    assert tracebacks(FILES // 4, attempt) == {}


def test_odd_settings_give_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    keys = [name.replace("_", "-") for name in knobs()]
    path = tmp_path / "settings.toml"

    def attempt(draw: random.Random) -> None:
        path.write_bytes(settings_file(keys, draw))
        likely_entries(resolve(read_file(path, ["track"])))

    assert tracebacks(FILES // 4, attempt) == {}

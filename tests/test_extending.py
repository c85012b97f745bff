"""The recipes of docs/extending.md: added to a copy of the package, they do what the page says."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

HEADINGS = ("A method", "A stopping rule", "A benchmark", "A benchmark of real sites", "An engine", "A knob")

FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', re.DOTALL | re.MULTILINE)

MORE = [
    "play --rounds 3 --against none --out runs/local",
    "play --config game.toml --rounds 1 --against none --out runs/file",
]
"""What is run beside the page's own commands."""

PLAYED = """
import json, sys
from typer.testing import CliRunner
from flgames import FLGames
from flgames.cli import app

said = {}
for command in json.loads(sys.argv[1]):
    ended = CliRunner().invoke(app, command)
    said[" ".join(command)] = ended.output
    assert ended.exit_code == 0, (command, ended.output, ended.exception)
said["estimator"] = str(FLGames(patience_of_players=7, alike=0.5).get_params())
print(json.dumps(said))
"""


def recipe(heading: str) -> list[tuple[str, str, str]]:
    """The blocks of a section: language, file, content."""
    page = (ROOT / "docs" / "extending.md").read_text()
    sections = re.split(r"^## ", page, flags=re.MULTILINE)
    (found,) = (part for part in sections if part.startswith(f"{heading}\n"))
    return FENCE.findall(found)


def files(heading: str) -> list[str]:
    return [title for _, title, _ in recipe(heading) if title]


def patched(old: str, diff: str) -> str:
    """Lines that begin with + stand after the line before them."""
    before, *added = diff.splitlines()
    line = f"{before[1:]}\n"
    assert old.count(line) == 1, f"{line!r} is not there"
    return old.replace(line, line + "".join(f"{new[1:]}\n" for new in added))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with all recipes in it."""
    folder = tmp_path_factory.mktemp("recipes")
    shutil.copytree(ROOT / "flgames", folder / "flgames", ignore=shutil.ignore_patterns("__pycache__"))
    for heading in HEADINGS:
        for language, title, content in recipe(heading):
            if title:
                path = folder / title
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(patched(path.read_text(), content) if language == "diff" else content)
    (folder / "game.toml").write_text("patience-of-players = 5\n")
    return folder


@pytest.fixture(scope="module")
def said(folder: Path) -> dict[str, str]:
    """What every command of the page prints, all of them run in one process."""
    shown = [line for heading in HEADINGS for language, _, content in recipe(heading) if language == "sh"
             for line in content.splitlines()]  # fmt: skip
    commands = [shlex.split(line.removeprefix("flgames ")) for line in [*shown, *MORE]]
    environment = os.environ | {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", PLAYED, json.dumps(commands)]
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    told: dict[str, str] = json.loads(ended.stdout)
    return told


def of(said: dict[str, str], beginning: str) -> str:
    (found,) = (text for command, text in said.items() if command.startswith(beginning))
    return found


def test_a_method_is_one_file_and_one_line(folder: Path, said: dict[str, str]) -> None:
    assert files("A method") == ["flgames/methods/fedsign.py", "flgames/methods/registry.py"]
    assert "FedSign" in of(said, "play --against fedsign")
    assert json.loads((folder / "runs/method/fedsign/seed-0/result.json").read_text())["rounds"] == 3


def test_a_stopping_rule_is_one_file(folder: Path, said: dict[str, str]) -> None:
    assert len(files("A stopping rule")) == 1
    assert "apart <= 0.9" in of(said, "play --alike")
    (result,) = folder.glob("runs/rule/*/seed-0/result.json")
    assert json.loads(result.read_text())["rounds"] == 3, "two rounds of warm start, and one that stops"
    assert "'alike': 0.5" in said["estimator"]


def test_a_benchmark_is_one_file(folder: Path, said: dict[str, str]) -> None:
    assert len(files("A benchmark")) == 1
    assert "Marked Shadows" in of(said, "play --benchmark marked-shadows")
    assert (folder / "marked-shadows.png").exists()


def test_a_benchmark_of_real_sites_is_one_file(folder: Path, said: dict[str, str]) -> None:
    assert len(files("A benchmark of real sites")) == 1
    shown = of(said, "data show four-wards")
    for words in ("north  │ trains", "west   │ trains", "south  │ unseen"):
        assert words in shown
    assert (folder / "four-wards.png").exists()


def test_an_engine_is_one_package(folder: Path, said: dict[str, str]) -> None:
    assert {Path(title).parent.name for title in files("An engine")} == {"loopback"}
    one, other = (next(folder.glob(f"runs/{name}/*/seed-0/model.safetensors")) for name in ("engine", "local"))
    assert one.read_bytes() == other.read_bytes()


def test_a_knob_is_one_line(folder: Path, said: dict[str, str]) -> None:
    (only,) = [content for _, title, content in recipe("A knob") if title]
    assert sum(line.startswith("+") for line in only.splitlines()) == 1
    assert 'patience-of-players = ""' in of(said, "knobs --form flower")
    for run, value in {"knob": 4, "file": 5}.items():
        assert json.loads((folder / "runs" / run / "settings.json").read_text())["patience_of_players"] == value
    assert "'patience_of_players': 7" in said["estimator"]

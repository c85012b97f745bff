"""What the documentation shows can be done as it is shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flgames.cli import play
from flgames.settings import Settings

ROOT = Path(__file__).parent.parent


def test_the_python_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)
    exec(blocks[0], {})
    assert re.search(r"(rule|rounds) after \d+ rounds", capsys.readouterr().out)


def test_every_option_that_is_mentioned_exists() -> None:
    words = " ".join(path.read_text() for path in [ROOT / "README.md", *ROOT.glob("docs/*.md")])
    known = set(play.__annotations__) | set(Settings.model_fields) | {"help"}
    mentioned = {option.replace("-", "_") for option in re.findall(r"`--([a-z][a-z-]+)", words)}
    assert mentioned
    assert mentioned <= known, mentioned - known


def test_every_setting_is_an_option() -> None:
    assert set(Settings.model_fields) <= set(play.__annotations__)

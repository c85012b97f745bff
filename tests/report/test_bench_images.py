"""flgames bench --images: what reading costs, beside decoding."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flgames.cli import app


def test_reading_is_measured_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result = CliRunner().invoke(app, ["bench", "--images", "100", "--out", str(tmp_path / "results")])
    assert result.exit_code == 0, result.output
    for files in ("100 of 32 x 32", "5 of 256 x 256"):
        ratios = [float(ratio) for ratio in re.findall(rf"│\s+{files} │.*│\s+([\d.]+) │", result.output)]
        assert len(ratios) == 5
        assert ratios[0] == 1.0, "decoding is what others are beside"
        assert ratios[-1] < ratios[-2], "what was kept is not decoded"
    assert not list(tmp_path.glob("flgames-*"))

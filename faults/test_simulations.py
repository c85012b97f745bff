"""`flgames play --engine`, as a person uses it: interrupted, and gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from flgames.engines import processes
from tests.games import local_weights, same, weights

pytestmark = pytest.mark.xdist_group("alone")

GAME = ("--variant", "f-fl-games-smooth", "--stop-below", "never", "--against", "none", "--threads", "1")


def start(*options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "flgames.cli", "play", *options],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def rounds(out: Path) -> list[dict[str, Any]]:
    paths = list(out.glob("*/seed-0/measures.jsonl"))
    return [json.loads(line) for line in paths[0].read_text().splitlines()] if paths else []


@pytest.mark.parametrize(("engine", "number"), [("nvflare", 150), ("flower", 30)])
def test_a_simulation_is_interrupted_and_goes_on(engine: str, number: int, tmp_path: Path) -> None:
    out, limit = tmp_path / "run", ("--rounds", str(number))
    playing = start(*GAME, *limit, "--engine", engine, "--out", str(out))
    deadline = time.monotonic() + 90
    while len(rounds(out)) < 5:
        assert time.monotonic() < deadline
        assert playing.poll() is None, playing.communicate()[0]
        time.sleep(0.05)
    playing.send_signal(signal.SIGINT)
    said, _ = playing.communicate(timeout=90)
    assert playing.returncode == 130, said
    assert f"flgames play --resume {out}" in said
    before = rounds(out)
    assert 5 <= len(before) < number
    identity = json.loads((out / "environment.json").read_text())["run"]
    assert not processes.marked(identity), "nothing plays on"

    again = start("--resume", str(out))
    said, _ = again.communicate(timeout=150)
    assert again.returncode == 0, said
    after = rounds(out)
    assert [line["seconds"] for line in before] == [line["seconds"] for line in after[: len(before)]]
    assert not any(line["failures"] for line in after)
    assert same(weights(out), local_weights(tmp_path / "here", *GAME, *limit))
    assert (out / "curves.png").exists()
    assert not processes.marked(identity)

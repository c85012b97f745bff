"""Processes of an engine end with the one that started them, and with no other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flgames.cli import app
from flgames.engines import processes
from flgames.engines.serve import ERROR, STOP, serve
from flgames.errors import UserError
from flgames.runs.folder import RunFolder, locked
from flgames.runs.resolve import resolve
from tests.by_hand import ByHand

PARENT = """
import os, subprocess, sys, time
from flgames.engines import processes
mark = sys.argv[1]
with processes.watched(mark, os.environ):
    subprocess.Popen(["sleep", "100"], env=os.environ | {processes.MARK: mark}, start_new_session=True)
    print("started", flush=True)
    time.sleep(100)
"""


def test_they_end_when_their_parent_is_killed() -> None:
    mark = f"test-{os.getpid()}"
    with subprocess.Popen([sys.executable, "-c", PARENT, mark], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "started\n"
        _wait_for(mark, number=1)  # on a busy machine a process takes a while to show its environment
        parent.send_signal(signal.SIGKILL)
    _wait_for(mark, number=0)


def _wait_for(mark: str, number: int) -> None:
    deadline = time.monotonic() + 20
    while len(processes.marked(mark)) != number:
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize("engine", ["nvflare", "flower"])
def test_a_refused_resume_does_not_touch_the_game_that_is_played(engine: str, tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "run", resolve({"engine": engine, "rounds": 3, "against": "none"}))
    (run.path / STOP).touch()
    environment = os.environ | {processes.MARK: run.id}
    with locked(run.path), subprocess.Popen(["sleep", "100"], env=environment) as playing:
        result = CliRunner().invoke(app, ["play", "--resume", str(run.path)])
        there = playing.poll() is None
        playing.kill()
    assert result.exit_code == 2
    assert "Another process is playing" in result.output
    assert there, "it plays on"
    assert (run.path / STOP).exists()


def test_a_refused_server_does_not_touch_the_game_that_is_played(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "run", resolve({"engine": "flower", "rounds": 3, "against": "none"}))
    (run.path / STOP).touch()
    with locked(run.path), pytest.raises(UserError, match="Another process is playing"):
        serve(run, lambda: ByHand(tmp_path / "sites"))
    assert (run.path / STOP).exists()
    assert not (run.path / ERROR).exists(), "whoever plays there would take it for its own"

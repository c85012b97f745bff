"""Settings that depend on where a run is played."""

from __future__ import annotations

import os

import pytest
from typer.testing import CliRunner

from flgames.cli import app
from flgames.runs.resolve import resolve
from flgames.runs.settings import MOST_THREADS, THREADS_VARIABLE, knobs, usable_threads

CORES = min(len(os.sched_getaffinity(0)), MOST_THREADS)


@pytest.mark.parametrize("told", [1, 3, 24])
def test_the_environment_says_how_many_threads_there_are(told: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS_VARIABLE, f" {told} ")
    assert resolve({}).threads == usable_threads() == told
    assert resolve({"threads": 2}).threads == 2, "what is said by hand wins"


@pytest.mark.parametrize("told", [None, "", "0", "-1", "2.5", "many", "4,2", "9999"])
def test_what_is_no_number_of_threads_is_ignored(told: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(THREADS_VARIABLE, raising=False)
    if told is not None:
        monkeypatch.setenv(THREADS_VARIABLE, told)
    assert resolve({}).threads == CORES


def test_the_help_says_so() -> None:
    assert f"Default: {THREADS_VARIABLE} if it is set" in str(knobs()["threads"].description)
    assert THREADS_VARIABLE in CliRunner().invoke(app, ["play", "--help"]).output

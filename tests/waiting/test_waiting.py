"""People who wait see how far the work is and how long the rest takes; a log has a line now and then."""

from __future__ import annotations

import re

import numpy as np
import pytest
from rich.console import Console

from flgames import FLGames
from flgames.waiting import bar as bars
from flgames.waiting.bar import WorkBar, shown
from flgames.waiting.forecast import Forecast
from flgames.waiting.told import followed, tell, telling, within
from tests.clocks import Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(bars, "time", made)
    return made


def test_a_part_of_a_work_is_told_as_such() -> None:
    heard: list[tuple[str, int, int]] = []
    tell("nobody listens", 1, 2)
    with telling(lambda *what: heard.append(what)):
        for number in range(2):
            with within(number, 2):
                for each in followed(["x", "y"], str.upper):
                    assert each in "xy"
    tell("nobody listens any more", 1, 2)
    assert heard == [("X", 0, 4), ("Y", 1, 4), ("X", 2, 4), ("Y", 3, 4)]


def test_who_was_told_before_is_told_again_after_an_error() -> None:
    heard: list[str] = []
    with telling(lambda what, *_: heard.append(what)):
        with pytest.raises(ZeroDivisionError), telling(lambda *_: None), within(0, 2):
            raise ZeroDivisionError
        tell("after", 0, 1)
    assert heard == ["after"]


def test_a_log_has_a_line_now_and_then_and_no_control_characters(clock: Clock) -> None:
    console = Console(width=80, force_terminal=False)
    with console.capture() as captured, shown(console):
        for done in range(1, 101):
            clock.now += 1.0
            tell("counting", done, 100)
    assert captured.get().splitlines() == ["70 s left: counting", "40 s left: counting", "10 s left: counting"]


def test_a_terminal_has_a_bar_with_the_time_left(clock: Clock) -> None:
    console = Console(width=80, force_terminal=True)
    with console.capture() as captured, WorkBar(console, Forecast({"a": 10.0, "b": 30.0})) as bar:
        bar("a", 0.0, "beginning")
        bar._bar.refresh()
        clock.now += 20.0
        bar("a", 1.0, "a is done")
        bar._bar.refresh()
    said = captured.get()
    assert "━" in said
    assert "60 s left  a is done" in said, "twice as long as was thought"
    assert not re.search(r"left +beginning", said), "nothing is known before something is done"


def test_another_work_has_a_pace_of_its_own(clock: Clock) -> None:
    console = Console(width=80, force_terminal=False)
    with console.capture() as captured, shown(console):
        clock.now += 100.0
        tell("slow", 9, 10)
        tell("quick", 0, 10)
        clock.now += 40.0
        tell("quick", 5, 10)
    assert captured.get().splitlines() == ["11 s left: slow", "40 s left: quick"]


def fitted(monkeypatch: pytest.MonkeyPatch, terminal: bool, progress: bool, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setenv("FORCE_COLOR" if terminal else "NO_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1" if terminal else "0")
    monkeypatch.setattr(bars, "LOG_SECONDS", 0.0)
    draw = np.random.default_rng(0)
    clients = {name: (draw.normal(size=(30, 3)), np.arange(30) % 2) for name in "ab"}
    FLGames(rounds=3).fit(clients, progress=progress)
    return capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:rounds=3 ended the game")
def test_fit_shows_rounds_and_the_time_left_if_it_is_asked_to(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = fitted(monkeypatch, False, True, capsys).splitlines()
    rounds = [re.sub(r"train.*", "", line) for line in lines if "round" in line]
    assert rounds == [f"0 s left: round {number}/3, " for number in (1, 2, 3)]
    assert "\x1b" not in "".join(lines)
    assert re.search(r"0 s left.*round 3/3", fitted(monkeypatch, True, True, capsys), re.DOTALL)
    assert fitted(monkeypatch, True, False, capsys) == "", "nobody asked"

"""Who looks at a run that holds out every client in turn sees whose turn it is, and how long the rest takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.console import Console

from flgames.cli.ui import live as live_line
from flgames.cli.ui import turns
from flgames.cli.ui.live import LiveLine
from flgames.cli.ui.turns import Turns
from flgames.core.callbacks import Callback
from flgames.core.records import GameResult, RoundRecord
from flgames.data.own.source import surveys_of
from flgames.runs.folder import RunFolder
from flgames.runs.resolve import resolve
from flgames.runs.runner import info_of, phi_game, play_run
from tests.clocks import Clock
from tests.own_data import disagreeing_tables, three_hospitals

ROUNDS = 4


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(turns, "time", made)
    return made


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    data = disagreeing_tables(tmp_path / "data", 40)
    few = {"rounds": ROUNDS, "early": "never", "against": "fedavg", "against_rounds": ROUNDS, "threads": 1}
    settings = resolve({"data": str(data), "target": "sick", "holdout": "each"} | few)
    return RunFolder.create(tmp_path / "run", settings, surveys_of(str(data), settings.roles))


class Played(Callback):
    """What was told of a run, to tell it again at another pace."""

    def __init__(self) -> None:
        self.records: list[RoundRecord] = []
        self.result: GameResult | None = None

    def on_round(self, record: RoundRecord) -> None:
        self.records.append(record)

    def on_end(self, result: GameResult) -> None:
        self.result = result


def test_the_time_left_follows_from_what_methods_took_with_other_clients(run: RunFolder, clock: Clock) -> None:
    """FedAvg takes 4 seconds, with perceptrons 12, and the game 20: 36 with each client."""
    follower, said, pace = Turns(run), dict[str, list[str]](), {"fedavg": 1.0, "fedavg-perceptrons": 3.0}
    heard = Played()
    copy = RunFolder.create(run.path.parent / "copy", run.settings, run.surveys)
    play_run(copy, [heard])
    assert heard.result is not None
    for match, folder in run.games():
        follower.on_start(info_of(match, folder))
        lines = said.setdefault(str(match.holdout), [])
        lines.append(str(follower))
        for record in heard.records[:ROUNDS]:
            clock.now += pace.get(match.entry.slug, 5.0)
            follower.on_round(record)
            lines.append(str(follower))
        taken = ROUNDS * pace.get(match.entry.slug, 5.0)
        follower.on_end(heard.result.model_copy(update={"seconds": taken, "rounds": ROUNDS}))
    assert said["a"][0] == "client 1 of 3 held out: a", "nothing is known yet"
    assert said["b"][0] == "client 2 of 3 held out, about 72 s left: b"
    assert said["b"][2] == "client 2 of 3 held out, about 70 s left: b", "two rounds later"
    assert said["c"][0] == "client 3 of 3 held out, about 36 s left: c"
    assert said["c"][-2] == "client 3 of 3 held out, about 5 s left: c", "one round is to be played"


def test_a_run_that_goes_on_knows_what_was_played_before(run: RunFolder, clock: Clock) -> None:
    play_run(run)
    games = run.games()
    for _, folder in games[3:]:
        (folder.path / "result.json").unlink()
    took = sum(folder.result().seconds for _, folder in games[:3])
    follower = Turns(run)
    follower.on_start(info_of(*games[3]))
    assert str(follower) == f"client 2 of 3 held out, about {2 * took:.0f} s left: b"


def test_what_trains_phi_belongs_to_its_game(tmp_path: Path, clock: Clock) -> None:
    scans = three_hospitals(tmp_path / "scans", 4)
    few = {"settle": "never", "rounds": 3, "phi_rounds": 2, "against": "none", "threads": 1}
    settings = resolve({"data": str(scans), "holdout": "each"} | few)
    run = RunFolder.create(tmp_path / "run", settings, surveys_of(str(scans), settings.roles))
    match, folder = run.games()[0]
    ((before, inside),) = phi_game(match, folder)
    follower = Turns(run)
    follower.on_start(info_of(before, inside))
    assert str(follower) == "client 1 of 3 held out: a"


def test_the_live_line_begins_with_it(run: RunFolder) -> None:
    console = Console(width=80, force_terminal=True)
    with console.capture() as captured, LiveLine(console, run) as live:
        play_run(run, [live])
    assert re.search(r"client 3 of 3 held out, about \d+ s left: c.*round 4/4", captured.get(), re.DOTALL)


def test_a_run_that_holds_out_one_has_no_turns(tmp_path: Path) -> None:
    data = disagreeing_tables(tmp_path / "data", 20)
    few = {"rounds": 2, "against": "none", "threads": 1}
    run = RunFolder.create(tmp_path / "run", resolve({"data": str(data), "target": "sick", "holdout": "c"} | few))
    console = Console(width=80, record=True)
    with console.capture() as captured, LiveLine(console, run) as live:
        play_run(run, [live])
    assert "held out" not in captured.get()


@pytest.mark.parametrize("is_terminal", [True, False])
def test_any_run_says_how_far_it_is_and_what_is_read_before(
    tmp_path: Path, is_terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_line, "LOG_SECONDS", 0.0)
    settings = resolve({"rounds": 2, "against": "fedavg", "against_rounds": 2, "threads": 1})
    run = RunFolder.create(tmp_path / "run", settings)
    console = Console(width=80, force_terminal=is_terminal)
    with console.capture() as captured, LiveLine(console, run) as live:
        live.told("reading the images of a", 16, 40)
        if live._live:
            live._live.refresh()
        play_run(run, [live])
    said = captured.get()
    assert "reading the images of a: 16 of 40" in said
    assert re.search(r"game 2 of 2, about 0 s left.*round 2/2", said, re.DOTALL)
    assert is_terminal == ("\x1b" in said) == ("━" in said)

"""How a match is played: images are loaded once, and whoever follows hears of it the same way everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from flgames.core.callbacks import Callback
from flgames.core.records import RoundRecord
from flgames.data.benchmarks.catalogue import colored_digits
from flgames.data.benchmarks.digits import digits
from flgames.data.benchmarks.images import ImageSet
from flgames.engines.launch import Onlooker
from flgames.runs.folder import GameFolder, RunFolder
from flgames.runs.plan import make_plan
from flgames.runs.resolve import resolve
from flgames.runs.runner import Interrupted, Runner, play_run
from tests.games import Following

CPU = torch.device("cpu")
ROUNDS = 3
SHORT: dict[str, object] = {"rounds": ROUNDS, "against": "none", "threads": 1, "sizes": (60, 40)}


@pytest.mark.parametrize("given", [{}, {"variant": "v-fl-games", "phi_rounds": 1}], ids=["game", "phi trained before"])
def test_images_are_loaded_once_a_match(
    given: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[int] = []

    def counting(seed: int) -> ImageSet:
        loaded.append(seed)
        return digits(seed)

    monkeypatch.setattr(colored_digits, "digits", counting)
    (match,) = make_plan(resolve(SHORT | {"seed": 4} | given)).matches
    assert loaded == [], "a plan needs none"
    Runner(CPU, probe_every=1).play(GameFolder(tmp_path, match), match)
    assert loaded == [4]


class Looking(Callback):
    """Lets an onlooker look around after every round, as another process would."""

    def __init__(self, look: Onlooker) -> None:
        self.look = look

    def on_round(self, record: RoundRecord) -> None:
        self.look.around()


@pytest.mark.parametrize("live", [True, False], ids=["while it is played", "afterwards"])
def test_callbacks_are_told_the_same_in_this_process_and_by_an_onlooker(live: bool, tmp_path: Path) -> None:
    run, here, there = RunFolder.create(tmp_path / "run", resolve(SHORT)), Following(), Following()
    look = Onlooker(run, [there])
    look.around()
    assert there.told == [], "nothing has been played"
    play_run(run, [here, Looking(look)] if live else [here])
    assert there.told == (["start"] + ["round"] * ROUNDS if live else [])
    assert look.has_ended
    look.around()
    look.around()
    assert here.told == there.told == ["start", *["round"] * ROUNDS, "end"]
    assert here.started == there.started
    assert here.records == there.records
    assert here.ended == there.ended

    ((match, folder),) = run.games()
    (info,) = here.started
    assert (info.name, info.title, info.seed) == (match.entry.slug, match.entry.title, 0)
    assert (info.rounds, info.ends, info.folder) == (ROUNDS, "stops below 0.70", folder.path)
    assert [record.round for record in here.records] == list(range(ROUNDS))
    assert here.records == folder.measures()
    assert here.ended == [folder.result()]


def test_a_runner_tells_of_one_match_what_a_run_tells_of_it(tmp_path: Path) -> None:
    (match,) = make_plan(resolve(SHORT)).matches
    following = Following()
    Runner(CPU, [following]).play(GameFolder(tmp_path, match), match)
    assert following.told == ["start", *["round"] * ROUNDS, "end"]


def test_every_callback_hears_of_every_game(tmp_path: Path) -> None:
    settings = resolve(SHORT | {"against": "fedavg", "against_rounds": 1, "seeds": 2})
    run, one, two, there = RunFolder.create(tmp_path / "run", settings), Following(), Following(), Following()
    look = Onlooker(run, [there])
    play_run(run, [one, two])
    look.around()
    assert one.told == two.told == there.told == 2 * ["start", "round", "end", "start", *["round"] * ROUNDS, "end"]
    assert [(game.name, game.seed) for game in one.started] == [
        (match.entry.slug, match.seed) for match in run.plan.matches
    ]


def test_a_game_that_goes_on_tells_of_the_rest_only(tmp_path: Path) -> None:
    run, first, rest = RunFolder.create(tmp_path / "run", resolve(SHORT)), Following(), Following()
    with pytest.raises(Interrupted):
        play_run(run, [first], interrupted=lambda: len(first.records) == 1)
    assert first.told == ["start", "round"]
    there = Following()
    look = Onlooker(run, [there])
    play_run(run, [rest])
    look.around()
    assert rest.told == there.told == ["start", "round", "round", "end"]
    assert rest.records == there.records
    again, ended = Following(), Following()
    play_run(run, [again])
    Onlooker(run, [ended]).around()
    assert again.told == ended.told == [], "all of it has been told"

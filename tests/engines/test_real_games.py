"""Settled games on own tables: the same wherever the clients are, to the last bit and byte."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from flgames.core.records import RoundRecord
from flgames.data.own.files import read
from flgames.data.own.roles import Roles
from flgames.data.samples import held_back
from flgames.engines.remote import Replies
from flgames.engines.serve import serve
from flgames.engines.wire import unpack
from flgames.methods.fl_games.client import FLGamesClient
from flgames.models.networks import Linear
from flgames.runs.folder import GameFolder, RunFolder
from flgames.runs.resolve import resolve
from flgames.runs.result import Result
from flgames.runs.runner import Interrupted, play_run
from tests.by_hand import ByHand
from tests.games import same

PLAYERS = ("north", "south", "west")
EVERYBODY = (*PLAYERS, "unseen")
VISITS = 3
"""Of every patient."""


def trial(path: Path, patients: int, flip: float, seed: int) -> None:
    """A table as in examples/own_table.py, with so many patients, each of whom comes three times."""
    draw = np.random.default_rng(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "patient", "dose", "recovers", "ward"])
        for patient in range(patients):
            for _ in range(VISITS):
                age, dose = draw.normal(size=2)
                recovers = bool((dose - age > 0) ^ (draw.random() < 0.25))
                ward = recovers ^ bool(draw.random() < flip)
                writer.writerow([age, f"p{patient}", dose, int(recovers), ward + 0.1 * draw.normal()])


@pytest.fixture(scope="module")
def hospitals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("real") / "hospitals"
    for seed, (name, flip) in enumerate({"north": 0.3, "south": 0.2, "west": 0.05, "unseen": 0.9}.items()):
        trial(folder / f"{name}.csv", patients=100, flip=flip, seed=seed)
    return folder


def settings(folder: Path, **more: Any) -> dict[str, Any]:
    """Of own tables as they are played by default, but for fewer rounds."""
    own = {"data": str(folder), "target": "recovers", "group_column": "patient", "validation": 0.25}
    return own | {"holdout": "unseen", "against": "none", "rounds": 14, "threads": 1} | more


def game_of(run: RunFolder) -> GameFolder:
    ((_, folder),) = run.games()
    return folder


def untimed(run: RunFolder) -> tuple[list[RoundRecord], Result]:
    """All that is written of a game, but for how long it took."""
    folder = game_of(run)
    lines = [record.model_copy(update={"seconds": 0.0}) for record in folder.measures()]
    return lines, folder.result().model_copy(update={"seconds": 0.0})


@pytest.fixture(scope="module")
def here(hospitals: Path, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """The run in this process."""
    run = RunFolder.create(tmp_path_factory.mktemp("real") / "here", resolve(settings(hospitals)))
    play_run(run)
    return run


def test_the_game_that_is_compared_is_a_settled_one(here: RunFolder, hospitals: Path) -> None:
    """Own tables have linear players, which settle; patients are no input, and nobody is on both sides."""
    (match,) = here.plan.matches
    assert match.entry.network == Linear()
    assert match.entry.validation == 0.25
    result = game_of(here).result()
    assert result.input_shape == (3,)
    assert result.finding is not None
    assert ([each.column for each in result.finding.contested], result.finding.settled) == ([2], True)
    assert set(result.finding.effective) == set(PLAYERS)
    assert {name: each.n for name, each in result.held_back.items()} == dict.fromkeys(PLAYERS, 75)
    assert result.temperature != 1
    assert set(result.unseen_clients) == {"unseen"}
    clients = match.data().training_clients()
    for name, samples in clients.items():
        patients = np.array(read(name, hospitals / f"{name}.csv", Roles(target="recovers", group="patient")).groups)
        sides = [set(patients[side.rows]) for side in held_back(samples, 0.25, 0, name)]  # type: ignore[union-attr]
        assert (len(sides[0]), len(sides[1]), sides[0] & sides[1]) == (75, 25, set())


@pytest.mark.parametrize("processes", [1, 2])
def test_it_ends_the_same_wherever_the_clients_are(
    processes: int, here: RunFolder, hospitals: Path, tmp_path: Path
) -> None:
    """Weights, temperature, figures, finding, and every line with its bytes."""
    there = RunFolder.create(tmp_path / "there", resolve(settings(hospitals)))
    exchange = ByHand(tmp_path / "states", EVERYBODY, processes=processes, forgets=processes > 1)
    assert serve(there, lambda: exchange)
    assert same(game_of(here).weights(), game_of(there).weights())
    (lines, result), (their_lines, theirs) = untimed(here), untimed(there)
    assert their_lines == lines
    assert (theirs.bytes_down, theirs.bytes_up) == (result.bytes_down, result.bytes_up)
    assert theirs.temperature == result.temperature
    assert theirs.held_back == result.held_back
    assert theirs.unseen_clients == result.unseen_clients
    assert theirs.finding == result.finding
    assert theirs == result


def test_what_crosses_is_less_than_a_number_a_sample(hospitals: Path, tmp_path: Path) -> None:
    """75 samples of each client were held back, and it trains on 225."""
    there = RunFolder.create(tmp_path / "there", resolve(settings(hospitals, rounds=4)))
    sizes: set[int] = set()

    class Watching(ByHand):
        def __call__(self, payloads: Mapping[str, bytes], timeout: float | None) -> Replies:
            replies = super().__call__(payloads, timeout)
            for reply in replies.arrived.values():
                header, tensors = unpack(reply)
                sizes.add(sum(tensor.numel() for tensor in tensors.values()) + len(header.get("numbers", {})))
            return replies

    assert serve(there, lambda: Watching(tmp_path / "states", EVERYBODY))
    assert max(sizes) == 41, "losses at so many temperatures"


def stopping_after(run: RunFolder, rounds: int) -> Callable[[], bool]:
    return lambda: len(game_of(run).measures()) >= rounds if run.has_plan else False


@pytest.mark.parametrize("where", ["here", "there", "there, forgetting"])
def test_a_settled_game_that_was_interrupted_ends_the_same(
    where: str, here: RunFolder, hospitals: Path, tmp_path: Path
) -> None:
    run = RunFolder.create(tmp_path / "run", resolve(settings(hospitals)))
    if where == "here":
        with pytest.raises(Interrupted):
            play_run(run, interrupted=stopping_after(run, 5))
        assert len(game_of(run).measures()) == 5
        play_run(RunFolder.open(run.path))
    else:

        def connect() -> ByHand:
            """New processes, with the disks of the old ones."""
            return ByHand(tmp_path / "states", EVERYBODY, forgets="forgetting" in where)

        assert not serve(run, connect, stopping_after(run, 5))
        assert len(game_of(run).measures()) == 5
        assert serve(RunFolder.open(run.path), connect)
    assert same(game_of(here).weights(), game_of(run).weights())
    assert untimed(run) == untimed(here)


class Signed(ByHand):
    """Notes by which sign every client weights its samples, question by question."""

    def __init__(self, disk: Path) -> None:
        super().__init__(disk, EVERYBODY)
        self.signs: dict[str, list[int]] = {name: [] for name in EVERYBODY}

    def __call__(self, payloads: Mapping[str, bytes], timeout: float | None) -> Replies:
        replies = super().__call__(payloads, timeout)
        for name in payloads:
            session = self.hosts[0][name]._session
            if session and isinstance(session.client, FLGamesClient):
                self.signs[name].append(session.client.sign)
        return replies


def test_a_settled_client_that_lost_its_disk_goes_on_settled(hospitals: Path, tmp_path: Path) -> None:
    """It is told again what is contested, and the sign with its next move."""
    run = RunFolder.create(tmp_path / "run", resolve(settings(hospitals)))
    assert not serve(run, lambda: ByHand(tmp_path / "states", EVERYBODY), stopping_after(run, 5))
    for path in (tmp_path / "states" / "south").rglob("*.pt"):
        path.unlink()
    exchange = Signed(tmp_path / "states")
    assert serve(RunFolder.open(run.path), lambda: exchange)
    ends = {exchange.signs[name][-1] for name in PLAYERS}
    assert ends in ({1}, {-1})
    assert exchange.signs["south"][:2] == [0, 0], "it was told to go back, and had nothing to go back to"
    lines = game_of(run).measures()
    assert len(lines) == 14
    assert all(set(line.moved) == set(PLAYERS) for line in lines)


@pytest.mark.parametrize("against", ["fedavg", "fedmedian", "local-mean"])
def test_baselines_hold_back_the_same_samples_everywhere(against: str, hospitals: Path, tmp_path: Path) -> None:
    given = settings(hospitals, against=against, against_rounds=4, rounds=2)
    runs = [RunFolder.create(tmp_path / name, resolve(given)) for name in ("here", "there")]
    play_run(runs[0])
    assert serve(runs[1], lambda: ByHand(tmp_path / "states", EVERYBODY))
    games = [{match.entry.slug: folder for match, folder in run.games()} for run in runs]
    one, other = (each[against].result().model_copy(update={"seconds": 0.0}) for each in games)
    assert one == other
    weights = [each[against].weights() for each in games]
    assert all(torch.equal(tensor, weights[1][name]) for name, tensor in weights[0].items())

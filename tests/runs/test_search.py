"""The search sees training clients only, and its choice is what is declared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from flgames.cli import app
from flgames.core.callbacks import Callback
from flgames.data.benchmarks.benchmark import BenchmarkData
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import by_name
from flgames.data.samples import Subset
from flgames.runs import baselines, entries
from flgames.runs.baselines import CHOSEN, SEARCHED, SEED, SETTLING_GRIDS, SETTLING_SEARCHED
from flgames.runs.search import Search, chosen_for_all, parted, search_on
from flgames.runs.trials import trials

CPU = torch.device("cpu")
DIGITS = BenchmarkOptions(benchmark="colored-digits")
COMMITTED = Path(__file__).parents[2] / "results" / "search"


def test_clients_are_parted_in_two() -> None:
    clients = by_name("colored-digits").training_clients(0)
    train, judge = parted(clients, 0)
    for name, samples in clients.items():
        one, two = train[name], judge[name]
        assert isinstance(one, Subset)
        assert isinstance(two, Subset)
        assert sorted([*one.rows.tolist(), *two.rows.tolist()]) == list(range(len(samples)))
        assert len(two) == round(0.2 * len(samples))
        assert torch.equal(one.batch(torch.tensor([3]))[0], samples.batch(one.rows[3:4])[0])


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "STEPS", 20)
    monkeypatch.setitem(baselines.GRIDS, "fedsgd", {"learning_rate": (1e-9, 1e-2)})

    def refuse(*_: Any) -> None:
        raise AssertionError("the unseen client was built")

    monkeypatch.setattr(BenchmarkData, "held_out_client", refuse)
    monkeypatch.setattr(BenchmarkData, "held_out_portion", refuse)


@pytest.mark.usefixtures("quick")
def test_it_chooses_what_does_best_without_the_unseen_client(tmp_path: Path) -> None:
    work = Search(DIGITS, tmp_path, CPU)
    assert work.good("fedsgd") == [], "nothing has been tried"
    bad, good = [work.play(entry, Callback()) for entry in trials("fedsgd")]
    assert bad.accuracy < 0.7 < good.accuracy
    assert work.good("fedsgd") == [good]
    assert work.chosen() == {"fedsgd": {"learning_rate": 1e-2}}


@pytest.mark.usefixtures("quick")
def test_the_command_plays_no_trial_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["search", "colored-digits", "--methods", "fedsgd,fedavg", "--out", str(tmp_path), "--threads", "1"]
    first = CliRunner().invoke(app, command)
    assert first.exit_code == 0, first.output
    assert "NOT as declared" in first.output

    def refuse(*_: Any) -> None:
        raise AssertionError("a trial was played again")

    monkeypatch.setattr(Search, "play", refuse)
    again = CliRunner().invoke(app, command)
    assert again.exit_code == 0, again.output
    assert again.output == first.output


def test_a_trial_that_diverges_is_as_bad_as_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "STEPS", 20)
    (entry, *_) = trials("fedsgd")
    wild = entry.model_copy(update={"config": entry.config | {"learning_rate": 1e30, "optimiser": "sgd"}})
    assert Search(DIGITS, tmp_path, CPU).play(wild, Callback()).accuracy == 0.0


def test_an_unknown_method_is_named(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["search", "colored-digits", "--methods", "fedsg", "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert "Did you mean 'fedsgd'" in result.output


@pytest.mark.usefixtures("quick")
def test_a_settled_game_is_chosen_by_its_training_clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rates = {"settle_after": (10,), "learning_rate": (1e-9, 1e-2)}
    monkeypatch.setitem(baselines.SETTLING_GRIDS, "shortcut", rates)
    by = {"train_by": ("fedavg", "fedsgd"), "settle_after": (10,)}
    monkeypatch.setitem(baselines.SETTLING_GRIDS, "settled-by", by)
    work = Search(DIGITS, tmp_path, CPU)
    unable, able = [work.play(entry, Callback()) for entry in work.trials("shortcut")]
    assert (unable.score, able.score) == (unable.differs, able.differs)
    assert able.score > unable.score + able.margin
    assert work.good("shortcut") == [able]
    averaged, stepped = work.trials("settled-by")
    assert (stepped.rounds - 10) == 10 * (averaged.rounds - 10), "a step a round instead of ten"
    short = averaged.model_copy(update={"rounds": 14})
    trial = work.play(short, Callback())
    assert trial.differs is None
    assert 0.4 < trial.score < 1
    assert 0 < trial.samples <= 260, "as weights count them"


def test_of_equals_the_gentlest_is_taken_that_is_good_on_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(baselines.SETTLING_GRIDS, "shortcut", {"settle_after": (20, 60, 100)})

    def searched(benchmark: str, statistics: tuple[float, float, float]) -> Search:
        work = Search(BenchmarkOptions(benchmark=benchmark), tmp_path, CPU)
        for entry, statistic in zip(work.trials("shortcut"), statistics, strict=True):
            path = work.path(entry)
            path.parent.mkdir(exist_ok=True)
            rules = {"settle_after": entry.config["settle_after"]}
            path.write_text(json.dumps({"rules": rules, "accuracy": 0.0, "samples": 0, "differs": statistic}))
        return work

    saturated = searched("colored-mnist", (190.0, 194.0, 196.0))
    hard = searched("spurious-cifar10", (50.0, 95.0, 100.0))
    assert [trial.rules["settle_after"] for trial in saturated.good("shortcut")] == [20, 60, 100]
    assert chosen_for_all("shortcut", (saturated, hard)) == {"settle_after": 60}


@pytest.mark.parametrize("name", SETTLING_GRIDS)
def test_a_settled_game_has_the_values_that_were_chosen(name: str) -> None:
    searches = [search_on(BenchmarkOptions(benchmark=each), COMMITTED, CPU) for each in SETTLING_SEARCHED]
    assert chosen_for_all(name, searches) == searches[0].declared(name)


@pytest.mark.parametrize("benchmark", SEARCHED)
def test_what_is_declared_is_what_was_chosen(benchmark: str) -> None:
    work = search_on(BenchmarkOptions(benchmark=benchmark), COMMITTED, CPU)
    assert work.chosen() == CHOSEN[benchmark]
    for path in (COMMITTED / benchmark).iterdir():
        assert json.loads(path.read_text())["seed"] == SEED

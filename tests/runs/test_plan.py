"""A plan is a value: written and read back it is the same, and so are the keys of its matches."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flgames.core.stopping.best_round import BestRound
from flgames.core.stopping.early_round import EarlyRound
from flgames.core.stopping.stop_below import StopBelow
from flgames.data.own.source import OwnOptions, surveys_of
from flgames.errors import UserError
from flgames.models.networks import MLP, Linear, PooledCNN
from flgames.runs.folder import RunFolder
from flgames.runs.plan import FORMAT, Plan, likely_entries, make_plan
from flgames.runs.resolve import resolve
from flgames.runs.settings import Settings
from tests.own_data import table, three_hospitals


@pytest.fixture(scope="module")
def hospitals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Settings]:
    """A folder of images and one of tables, with each client held out in turn."""
    folder = tmp_path_factory.mktemp("own")
    for seed, name in enumerate("abc"):
        table(folder / "tables" / f"{name}.csv", seed=seed)
    return {
        "images": resolve({"data": str(three_hospitals(folder / "scans", 4)), "holdout": "each"}),
        "table": resolve({"data": str(folder / "tables"), "target": "sick", "holdout": "each"}),
    }


def plan_of(settings: Settings) -> Plan:
    return make_plan(settings, surveys_of(settings.data, settings.roles) if settings.data else None)


def is_the_same_when_read_back(plan: Plan) -> None:
    again = Plan.model_validate_json(plan.model_dump_json())
    assert again == plan
    assert [match.key for match in again.matches] == [match.key for match in plan.matches]
    assert [match.stem for match in again.matches] == [match.stem for match in plan.matches]
    assert [again.folder(match) for match in again.matches] == [plan.folder(match) for match in plan.matches]
    for one, other in zip(plan.matches, again.matches, strict=True):
        assert type(one.options) is type(other.options)
        assert type(one.entry.rule) is type(other.entry.rule)
        assert type(one.entry.network) is type(other.entry.network)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"seeds": 3, "seed": 2, "against": "fedbn", "against_rounds": 7},
        {
            "benchmark": "colored-mnist",
            "variant": "v-fl-games-smooth-fast",
            "phi_rounds": 2,
            "initialisation": "glorot",
        },
        {"flips": (0.3, 0.1), "sizes": (200, 100), "stop_below": 0.65, "stop_spread": 0.02, "warm_start": 4},
        {"classes": 5, "patience": 20, "against": "grey-oracle"},
        {"stop_below": "never", "rounds": 3, "local_steps": "1-10", "phi_every": 1},
    ],
)
def test_a_plan_on_a_benchmark_is_the_same_when_it_is_read_back(given: dict[str, object]) -> None:
    settings = resolve(given)
    plan = plan_of(settings)
    assert len(plan.matches) == settings.seeds * len(plan.entries)
    is_the_same_when_read_back(plan)


@pytest.mark.parametrize("kind", ["images", "table"])
def test_a_plan_on_own_data_is_the_same_when_it_is_read_back(hospitals: dict[str, Settings], kind: str) -> None:
    plan = plan_of(hospitals[kind])
    assert plan.holdouts == ["a", "b", "c"]
    layouts = {match.options.layout for match in plan.matches if isinstance(match.options, OwnOptions)}
    assert len(layouts) == 3, "who is held out has no say in how values are standardised"
    networks = {entry.slug: entry.network for entry in plan.entries}
    linear = {"fedavg": Linear(), "fedavg-perceptrons": MLP(), "f-fl-games-smooth": Linear()}
    assert networks == (linear if kind == "table" else {"fedavg": PooledCNN(), "settled": PooledCNN()})
    is_the_same_when_read_back(plan)


def test_matches_of_a_plan_have_folders_of_their_own(hospitals: dict[str, Settings]) -> None:
    plan = plan_of(resolve({"seeds": 2}))
    assert [str(plan.folder(match)) for match in plan.matches] == [
        "fedavg/seed-0",
        "f-fl-games-smooth/seed-0",
        "fedavg/seed-1",
        "f-fl-games-smooth/seed-1",
    ], "every method has played a seed before the next one begins"
    each = plan_of(hospitals["table"].model_copy(update={"against": ("none",)}))
    assert [str(each.folder(match)) for match in each.matches] == [f"{name}/f-fl-games-smooth/seed-0" for name in "abc"]
    one = plan_of(hospitals["table"].model_copy(update={"against": ("none",), "holdout": ("b",)}))
    assert [str(one.folder(match)) for match in one.matches] == ["f-fl-games-smooth/seed-0"]
    assert one.matches[0].key == each.matches[1].key, "it is the same match"


def test_entries_are_known_before_anything_is_read(hospitals: dict[str, Settings]) -> None:
    for settings in (*hospitals.values(), resolve({"benchmark": "colored-mnist"})):
        assert likely_entries(settings) == plan_of(settings).entries


def test_rules_are_planned(hospitals: dict[str, Settings]) -> None:
    fedavg, game = plan_of(resolve({"stop_below": 0.6, "stop_bias": 0.2})).entries
    assert fedavg.rule is None
    assert game.rule == StopBelow(stop_below=0.6, stop_bias=0.2)
    fedavg, perceptrons, own = plan_of(hospitals["table"]).entries
    assert own.rule == EarlyRound(early=200)
    assert fedavg.rule == perceptrons.rule == EarlyRound(early=20), "in rounds of ten steps"
    fedavg, images = plan_of(hospitals["images"]).entries
    assert fedavg.rule == images.rule == EarlyRound(early=60)
    assert fedavg.rounds == images.rounds - 100, "as many as the settled game has left for training"
    given = {"data": hospitals["table"].data, "target": "sick", "predictor": "mlp"}
    fedavg, own = plan_of(resolve(given)).entries
    assert fedavg.network == own.network == MLP()
    assert own.rule == BestRound(patience=100)


def test_a_run_is_played_as_it_was_planned(tmp_path: Path) -> None:
    settings = resolve({"seeds": 2})
    run = RunFolder.create(tmp_path / "run", settings)
    assert run.plan == RunFolder.open(run.path).plan == make_plan(settings)
    assert [(match.key, folder.path) for match, folder in run.games()] == [
        (match.key, run.path / run.plan.folder(match)) for match in run.plan.matches
    ]
    changed = run.plan.model_copy(update={"matches": run.plan.matches[:1]})
    (run.path / "plan.json").write_text(changed.model_dump_json())
    assert RunFolder.open(run.path).plan == changed, "it is read, and not made again"


def test_own_data_are_planned_when_their_surveys_have_come(hospitals: dict[str, Settings], tmp_path: Path) -> None:
    settings = hospitals["table"]
    surveys = surveys_of(str(settings.data), settings.roles)
    run = RunFolder.create(tmp_path / "run", settings)
    assert not run.is_planned
    run.add_surveys(surveys)
    assert run.is_planned
    assert run.surveys == surveys
    assert run.plan == RunFolder.create(tmp_path / "other", settings, surveys).plan == make_plan(settings, surveys)


def test_a_plan_of_another_version_is_refused(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "run", resolve({}))
    path = run.path / "plan.json"
    newer = run.plan.model_copy(update={"format": FORMAT + 1})
    path.write_text(newer.model_dump_json())
    with pytest.raises(UserError, match=f"has the format {FORMAT + 1}, and this version of flgames reads {FORMAT}"):
        _ = run.plan
    path.write_text("{}")
    with pytest.raises(UserError, match=r"plan\.json (can't be read|has the format None)"):
        _ = run.plan


def test_of_many_that_make_the_same_folder_one_does_and_the_others_change_nothing(tmp_path: Path) -> None:
    many, path = 8, tmp_path / "run"
    together = threading.Barrier(many)

    def make(seed: int) -> str:
        settings = resolve({"seed": seed})
        together.wait()
        try:
            RunFolder.create(path, settings)
        except UserError as error:
            return str(error)
        return ""

    for _ in range(3):
        shutil.rmtree(path, ignore_errors=True)
        with ThreadPoolExecutor(many) as pool:
            said = list(pool.map(make, range(many)))
        (seed,) = [seed for seed, why in enumerate(said) if not why]
        assert all("belongs to another run" in why or "Another process" in why for why in said if why)
        assert RunFolder.open(path).settings.seed == seed
        assert {match.seed for match in RunFolder.open(path).plan.matches} == {seed}

"""Every table and figure of the paper by one command: declared right, drawn from real matches, none played twice."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flgames.cli import app
from flgames.core.knobs import Plain
from flgames.core.stopping.stop_below import StopBelow
from flgames.evaluation.profile import InvarianceProfile
from flgames.paper import ablations, experiments, v_games, worth
from flgames.paper import printed as paper
from flgames.paper.case import Case, on
from flgames.paper.experiments import EXPERIMENTS
from flgames.paper.scope import BENCHMARKS, Scope
from flgames.report import choosing, lime
from flgames.report.drawings import first_below
from flgames.report.lines import NOT_PLAYED, Line
from flgames.runs import entries
from flgames.runs.compare import Comparison
from flgames.runs.entries import entry
from flgames.runs.folder import environment
from flgames.runs.match import Match
from flgames.runs.result import Result, StoredMatch
from flgames.waiting.bar import WorkBar
from flgames.waiting.forecast import Forecast
from tests.benchmarks import make_small

NAMES = [
    "table-accuracy", "table-rounds", "table-stopping", "table-initialisation", "table-phi",
    "table-v-search", "table-v-chosen", "table-memorised", "table-sprites", "table-classes", "table-clients",
    "figure-clients", "figure-memory", "figure-fast", "figure-exact-response",
    "figure-participation", "figure-lime", "settled-games", "figure-settling", "figure-datasets",
]  # fmt: skip
"""Tables and figures of the paper."""

COMMITTED = Path(__file__).parents[2] / "results"

QUICK = [name for name in NAMES if name not in ("table-v-search", "table-v-chosen", "table-sprites")]
"""Those that "all" plays on the embedded digits: a search is played by its name only, and digits are no sprites."""

REAL = ["real-fars", "real-rand-health", "real-digits"]
"""Ours, on real sites."""


def cases(name: str, **scope: Any) -> list[Case]:
    return EXPERIMENTS[name].cases(Scope(**scope))


def test_every_table_and_figure_has_a_name() -> None:
    assert list(EXPERIMENTS) == NAMES + REAL
    assert [name for name, each in EXPERIMENTS.items() if each.is_real] == REAL


def test_the_main_table_is_the_papers() -> None:
    table = [case for case in cases("table-accuracy") if not case.labels["method"].startswith(("ours", "possible"))]
    assert len(table) == 4 * 12
    assert all(case.paper for case in table), "the paper prints every cell"
    printed = [case for case in table if case.labels["method"] == "Parallel V-FL Games (Smooth + Fast)"]
    assert [case.paper and case.paper.mean for case in printed] == [65.73, 69.41, 49.89, 68.91]
    assert [len(case.seeds) for case in printed] == [3, 3, 2, 2]


def test_what_is_ours_stands_beside_the_papers_by_the_same_matches() -> None:
    ours = [case for case in cases("table-accuracy") if case.labels["method"].startswith(("ours", "possible"))]
    assert [len([case for case in ours if case.options.benchmark == name]) for name in BENCHMARKS] == [3, 3, 2, 2]
    assert not any(case.paper for case in ours)
    settled = {match.key for case in cases("settled-games") for match in case.matches()}
    assert {match.key for case in ours for match in case.matches()} <= settled


def test_sprites_are_the_published_ones_few_and_all() -> None:
    assert all(case.options.sprites == "published" for name in NAMES for case in cases(name))
    totals = {case.labels["sprites"]: sum(case.options.sizes or ()) for case in cases("table-sprites")}
    assert totals == {"30,000": 0, "all 471,090": 471_090}
    main = {match.key for case in cases("table-accuracy") for match in case.matches()}
    assert cases("table-sprites")[0].matches()[0].key in main


def test_memorising_is_the_same_baseline_trained_for_longer() -> None:
    usual, long = cases("table-memorised")[:2]
    assert usual.matches()[0].key == cases("table-accuracy")[2].matches()[0].key
    assert (long.entry.slug, long.entry.network, long.paper) == (usual.entry.slug, usual.entry.network, usual.paper)
    assert long.entry.config["local_steps"] == "all"
    assert paper.training("colored-mnist", "FedBN") == paper.Figure(99.75, 0.11)
    assert long.entry.probe_every, "a picture shows how the unseen client fares on the way there"


def test_the_search_tries_every_setting_on_a_seed_that_no_table_shows() -> None:
    search = cases("table-v-search")
    assert len({(case.labels["weights"], case.labels["phi"]) for case in search}) == 6
    assert len({match.key for case in search for match in case.matches()}) == 6 * 8
    assert {match.seed for case in search for match in case.matches()} == {100}
    assert EXPERIMENTS["table-v-search"] not in experiments.everything()


def test_what_training_clients_chose_is_played_in_all_eight_cells() -> None:
    ranked = (COMMITTED / "table-v-search.md").read_text().split("## What training clients would choose")[1]
    best = [line for line in ranked.splitlines() if line.startswith("| ")][2]
    assert best.startswith(f"| {' | '.join(v_games.CHOSEN)} | ")
    searched = [case.entry for case in cases("table-v-search") if tuple(case.labels.values())[1:] == v_games.CHOSEN]
    chosen = cases("table-v-chosen")
    assert len(chosen) == 8
    assert sum(case.entry in searched for case in chosen) == 4, "the other four are Fast, which was not searched"


def test_training_clients_choose_a_setting_by_how_little_they_differ() -> None:
    alike, apart = (
        {"client-1": [[7, 3], [3, 7]], "client-2": [[right, 10 - right], [10 - right, right]]} for right in (7, 9)
    )
    games = [
        played(0.5, 0.5, 0.5).model_copy(
            update={"result": played(0.5, 0.5, 0.5).result.model_copy(update={"confusion_of": confusion})}
        )
        for confusion in (apart, alike)
    ]
    tried = [
        Line(
            Case(
                {"method": "x", "phi": name},
                on("colored-mnist"),
                entry("parallel-v-fl-games", on("colored-mnist")),
                range(1),
            ),
            [game],
        )
        for name, game in zip(("paper's", "slow"), games, strict=True)
    ]
    page = choosing.chosen(tried)
    assert choosing.score(games[1].result) == pytest.approx(0.7)
    assert choosing.score(games[0].result) == pytest.approx(0.8 - 6 * 0.2)
    assert page.index("| slow | 0.700 | 0.700 | 1 of 1 |") < page.index("| paper's | -0.400 | -0.400 | 1 of 1 |")


def test_the_emptiest_cell_is_played_first_and_of_equals_the_quickest() -> None:
    options = on("colored-mnist")
    quick, slow, begun = (
        Case({"method": name}, options, entry(name, options), range(2)) for name in ("fedsgd", "fedavg", "fedbn")
    )
    has = begun.matches()[1].key
    seconds = {match.stem: time for case, time in ((quick, 1), (slow, 2), (begun, 0)) for match in case.matches()}

    def is_played(match: Match) -> bool:
        return match.key == has

    order = worth.by_worth([slow, begun, quick, slow], is_played, seconds)
    waiting = [(match.entry.slug, match.seed) for match in order if not is_played(match)]
    assert waiting == [("fedsgd", 0), ("fedavg", 0), ("fedbn", 0), ("fedsgd", 1), ("fedavg", 1)]
    assert worth.empty([slow, begun, quick, slow], is_played) == [slow, quick]
    shared = Case({"method": "x"}, options, begun.entry, range(1))
    order = worth.by_worth([begun, quick, shared], is_played, seconds)
    first = next(match for match in order if not is_played(match))
    assert (first.entry.slug, first.seed) == ("fedbn", 0), "it fills an empty cell too"


def test_rounds_are_printed_for_three_benchmarks() -> None:
    rounds = {(case.options.benchmark, case.labels["method"]): case.paper_rounds for case in cases("table-rounds")}
    assert rounds["colored-dsprites", "Parallel V-FL Games (Smooth + Fast)"] == 203.0
    assert [value for (name, _), value in rounds.items() if name == "colored-mnist"] == [None] * 8
    assert sum(value is not None for value in rounds.values()) == 24


def test_two_classes_stand_beside_the_main_table_not_beside_the_pasted_rows() -> None:
    two = next(case for case in cases("table-classes") if case.options.benchmark == "colored-fashion-mnist")
    assert two.labels == {"method": "Sequential F-FL Games", "classes": "2"}
    assert two.paper == paper.Figure(68.40, 1.83), "the class table prints CIFAR10's 47.36 there"
    assert two.matches()[0].key == cases("table-accuracy")[15 + 4].matches()[0].key, "and it is the same match"


def test_every_number_of_clients_is_played() -> None:
    seeds = {(case.options.benchmark, case.labels["clients"]): len(case.seeds) for case in cases("table-clients")}
    assert seeds["colored-mnist", "5-uneven"] == 2
    assert seeds["spurious-cifar10", "3"] == 1
    assert {len(case.seeds) for case in cases("table-clients", seeds=3)} == {3}
    uneven = next(case for case in cases("table-clients") if case.labels["clients"] == "5-uneven")
    assert uneven.options.flips == (0.3, 0.2, 0.19, 0.12, 0.1)
    printed = {case.options.benchmark for case in cases("table-clients") if case.paper}
    assert printed == set(BENCHMARKS) - {"colored-mnist"}


def test_no_cell_is_beyond_the_budget() -> None:
    assert all(case.seeds for each in EXPERIMENTS.values() for case in each.cases(Scope()))


def test_compare_and_reproduce_share_their_matches() -> None:
    compared = Comparison(on("colored-mnist"), ("fedavg", "sequential-f-fl-games"), range(1)).matches()
    reproduced = {match.key for case in cases("table-accuracy") for match in case.matches()}
    assert {match.key for match in compared} <= reproduced


def test_a_curve_with_probes_is_a_match_of_its_own() -> None:
    curve = cases("figure-memory")[0].matches()[0]
    assert curve.entry.probe_every == ablations.PROBE_EVERY
    assert curve.entry.rule is None
    bare = curve.entry.model_copy(update={"probe_every": 0})
    assert bare.decides() != curve.entry.decides(), "the store must not answer with one that has no probes"


ENVIRONMENT = environment()


def played(unseen: float, agree: float, conflict: float, rounds: int = 10, clients: int = 2) -> StoredMatch:
    profile = InvarianceProfile(
        agree=agree, conflict=conflict, flip_rate=0.1, unseen=unseen, unseen_p=0.9, ceiling=0.75
    )
    rule = StopBelow(stop_below=0.6)
    names = [f"client-{k}" for k in range(1, clients + 1)]
    result = Result(
        end="rule",
        rule=str(rule),
        stopped_by=rule.reason,
        rounds=rounds,
        chosen_round=rounds - 1,
        train=0.6,
        train_of=dict.fromkeys(names, 0.6),
        confusion_of={},
        stop_below=rule.level,
        bytes_up=1_000_000,
        bytes_down=2_000_000,
        seconds=1.0,
        input_shape=(2, 28, 28),
        profile=profile,
    )
    curve = [0.8, 0.6, 0.8]
    return StoredMatch(method="x", title="X", seed=0, environment=ENVIRONMENT, result=result, train_curve=curve)


def line(*seeds: StoredMatch, name: str = "parallel-f-fl-games", **config: Plain) -> Line:
    options = on("colored-mnist")
    played_by = entry(name, options)
    played_by = played_by.model_copy(update={"config": played_by.config | config})
    case = Case({"method": "x"}, options, played_by, range(2), paper.Figure(67.0, 2.0), 20.0)
    return Line(case, seeds)


@pytest.mark.parametrize(
    ("unseen", "agree", "conflict", "mark"),
    [
        (0.64, 0.6, 0.6, "within 2 sd"),
        (0.62, 0.6, 0.6, "lower"),
        (0.72, 0.7, 0.7, "higher"),
        (0.77, 0.4, 0.8, "reversed"),
        (0.68, 0.4, 0.7, "within 2 sd"),
    ],
)
def test_marks(unseen: float, agree: float, conflict: float, mark: str) -> None:
    assert line(played(unseen, agree, conflict)).mark == mark
    assert line(played(unseen - 0.01, agree, conflict), played(unseen + 0.01, agree, conflict)).mark == mark


def test_what_a_line_says() -> None:
    cells = line(played(0.64, 0.6, 0.6, rounds=10), played(0.66, 0.6, 0.6, rounds=20)).cells()
    assert cells["seeds"] == "2"
    assert cells["paper"] == "67.0 ± 2.0"
    assert cells["ratio"] == "0.75"
    assert cells["MB"] == "3"
    assert cells["oscillation"] == "20.00"
    assert line().cells()["seeds"] == NOT_PLAYED
    assert line().record()["seeds"] == 0


def test_moves_are_those_of_predictors() -> None:
    game = played(0.64, 0.6, 0.6, rounds=10)
    assert line(game).moves == [20]
    assert line(game, name="sequential-f-fl-games").moves == [10]
    assert line(game, name="parallel-v-fl-games").moves == [10], "phi moves in every other round"
    ten = played(0.64, 0.6, 0.6, rounds=10, clients=10)
    assert line(ten, participation=0.2).moves == [20]
    assert line(game, name="fedavg").moves == []


def test_the_first_round_below_a_level() -> None:
    assert first_below([0.5] * 30 + [0.8, 0.8, 0.6], 0.7) == 33, "it must have been above"
    assert first_below([0.8, 0.6] * 5, 0.7) is None, "the first rounds are not looked at"


SHORT = 2


@pytest.fixture(scope="module")
def few() -> Iterator[None]:
    """Few rounds on few images: what is shown here is that all of it is played, written and drawn."""
    with pytest.MonkeyPatch.context() as patch:
        make_small("colored-digits", patch, train=300, test=100)
        patch.setattr(experiments, "QUICK_ROUNDS", SHORT)
        patch.setattr(entries, "STEPS", 10)
        patch.setattr(lime, "IMAGES", 2)
        yield


def reproduce(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory, few: None) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("reproduce") / "results"
    result = reproduce("all", "--quick", "--out", out, "--threads", "1", "--offline")
    assert result.exit_code == 0, result.output
    return out, result.output


@pytest.mark.parametrize("name", QUICK)
def test_every_name_runs_and_leaves_its_files(everything: tuple[Path, str], name: str) -> None:
    out, _ = everything
    if name != "figure-datasets":
        page = (out / f"quick-{name}.md").read_text()
        assert f"flgames reproduce {name} --quick" in page
        assert NOT_PLAYED not in page
        records = list(csv.DictReader((out / f"quick-{name}.csv").read_text().splitlines()))
        assert len(records) == len(EXPERIMENTS[name].cases(Scope(quick=True)))
        assert {record["seeds"] for record in records} == {"1"}
    assert (out / f"quick-{name}.png").exists() == (
        name.startswith("figure") or name in ("table-accuracy", "table-stopping", "table-memorised", "settled-games")
    )


def test_nothing_is_played_twice_not_even_for_another_figure(everything: tuple[Path, str]) -> None:
    out, printed = everything
    files = list((out / "runs" / "colored-digits").glob("*.json"))
    distinct = {match.key for name in QUICK for case in cases(name, quick=True) for match in case.matches()}
    assert f"{len(distinct)} matches, 0 of them played before" in printed
    assert len(files) == len(distinct)
    again = reproduce("figure-clients", "--quick", "--out", out, "--threads", "1")
    assert "10 matches, all played before" in again.output


def test_models_that_lie_elsewhere_are_played_again_for_lime_only(everything: tuple[Path, str], tmp_path: Path) -> None:
    out, _ = everything
    (tmp_path / "runs").symlink_to(out / "runs")
    result = reproduce("figure-lime", "--quick", "--out", tmp_path, "--threads", "1")
    assert result.exit_code == 0, result.output
    assert "3 matches, all played before" in result.output
    assert "3 matches, 0 of them played before" in result.output
    shares = list(csv.DictReader((out / "quick-figure-lime-shares.csv").read_text().splitlines()))
    again = list(csv.DictReader((tmp_path / "quick-figure-lime-shares.csv").read_text().splitlines()))
    assert shares == again, "a match played again gives the same model"


def test_what_has_not_been_played_is_said_to_be_so(tmp_path: Path, few: None) -> None:
    result = reproduce("table-rounds", "--quick", "--no-play", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    page = (tmp_path / "quick-table-rounds.md").read_text()
    assert "from 0 matches; 8 of the budget's 8 wait" in page
    assert page.count(NOT_PLAYED) == 8


def test_no_match_is_begun_that_would_not_end_within_the_budget(tmp_path: Path, few: None) -> None:
    result = reproduce("table-rounds", "--quick", "--budget", "0", "--out", tmp_path, "--threads", "1")
    assert result.exit_code == 0, result.output
    assert "0 played within the budget; 8 wait for the next" in result.output
    assert not list(tmp_path.rglob("measures.jsonl"))
    assert (tmp_path / "quick-table-rounds.md").read_text().count(NOT_PLAYED) == 8
    result = reproduce("table-rounds", "--quick", "--budget", "1", "--out", tmp_path, "--threads", "1")
    assert "8 played within the budget; 0 wait for the next" in result.output


def test_a_match_that_takes_longer_than_the_budget_goes_on_next_time(
    tmp_path: Path, few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as wrong:
        wrong.setattr(Forecast, "fits", lambda *_: True)
        wrong.setattr(WorkBar, "elapsed", property(lambda bar: 3600.0 if bar.forecast.done else 0.0))
        result = reproduce("table-rounds", "--quick", "--budget", "0.5", "--out", tmp_path, "--threads", "1")
    assert result.exit_code == 0, result.output
    assert "0 played within the budget; 8 wait for the next" in result.output
    (begun,) = tmp_path.rglob("measures.jsonl")
    assert len(begun.read_text().splitlines()) == 1, "of two rounds"
    result = reproduce("table-rounds", "--quick", "--budget", "1", "--out", tmp_path, "--threads", "1")
    assert "8 played within the budget" in result.output


def test_the_list_says_what_each_needs_and_how_long_it_takes(tmp_path: Path) -> None:
    result = reproduce("--list", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    for name in NAMES + REAL:
        assert name in result.output
    assert "captum" in result.output
    assert re.search(r"figure-participation\W+colored-mnist\W+5\W+5\W+10\W+0", result.output), "all five are empty"
    assert not list(tmp_path.iterdir()), "a list makes nothing"


def test_names_that_do_not_exist() -> None:
    wrong = reproduce("table-acuracy")
    assert wrong.exit_code == 2
    assert "table-accuracy" in wrong.output
    assert "--list" in reproduce().output
    assert "colored-mnist" in reproduce("table-rounds", "--benchmarks", "mnist").output
    assert "figure-fast is about colored-mnist" in reproduce("figure-fast", "--benchmarks", "spurious-cifar10").output
    assert "leave --seeds and --benchmarks out" in " ".join(reproduce("all", "--quick", "--seeds", "2").output.split())

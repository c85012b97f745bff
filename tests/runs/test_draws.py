"""Real sites compared: the same draws for every method, paired differences by hand, and the command that plays them."""

from __future__ import annotations

import csv
import importlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pytest
from click.testing import Result as Ran
from matplotlib.figure import Figure
from scipy.stats import t as student
from typer.testing import CliRunner

from flgames.cli import app
from flgames.core.figures import Figures
from flgames.core.records import Finding
from flgames.data.benchmarks.compose import training_sites
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import NamedBenchmark, benchmark, sites_by_name
from flgames.data.benchmarks.site_set import SiteSet
from flgames.data.benchmarks.sites import Sites
from flgames.report.difference import Difference
from flgames.report.draws import DrawsRow, DrawsTable, draw
from flgames.runs import entries, presets
from flgames.runs.compare import Comparison, drawn
from flgames.runs.match import Match
from flgames.runs.result import Result
from flgames.runs.store import Store
from tests.benchmarks import sites_at_hand

FARS = BenchmarkOptions(benchmark="fars")
RAND = BenchmarkOptions(benchmark="rand-health")
METHODS = ("fedavg", "logistic", "fl-games")

CLINICS = ("ash", "birch", "cedar", "elm", "fir", "oak")
"""Six sites of 60 samples, to be played on as if they were fars."""


def few_samples() -> SiteSet:
    """A number tells the label, with a tenth of mistakes, and a mark does, with other mistakes at every site."""
    draw, sites = np.random.default_rng(0), len(CLINICS)
    places = np.repeat(np.arange(sites), 60)
    labels = draw.integers(0, 2, len(places))
    age = np.where(draw.random(len(places)) < 0.1, -1, 1) * (2 * labels - 1) + 0.3 * draw.normal(size=len(places))
    mark = np.where(draw.random(len(places)) < places / sites, 1 - labels, labels)
    values = np.stack([age, mark], axis=1).astype(np.float32)
    return SiteSet(values, labels.astype(np.uint8), CLINICS, places.astype(np.uint8), ("AGE", "MARK=yes"))


def clinics(options: BenchmarkOptions) -> Sites:
    players = training_sites(options, CLINICS, CLINICS[:3])
    unseen = tuple(site for site in CLINICS if site not in players)
    small, sizes = few_samples(), dict.fromkeys(CLINICS, 60)
    return Sites(
        options.benchmark, "Clinics", lambda seed: small, players, unseen, ("well", "ill"), "table", sizes=sizes,
        core_columns=("AGE",),
    )  # fmt: skip


def make_small(patch: pytest.MonkeyPatch) -> None:
    """Six clinics under the name of fars."""
    catalogue = importlib.import_module("flgames.data.benchmarks.catalogue.fars")
    patch.setattr(catalogue, "BENCHMARK", NamedBenchmark(clinics))


def make_short(patch: pytest.MonkeyPatch) -> None:
    """Few rounds."""
    patch.setattr(entries, "REAL_STEPS", 60)
    patch.setattr(presets, "LINEAR_ON_TABLES", {**presets.LINEAR_ON_TABLES, "rounds": 30, "early": 10})


# Draws.


def test_a_seed_has_its_own_draw_of_training_sites() -> None:
    (options,) = drawn(FARS, seed=7, states=2)
    assert (options.draw, options.states) == (7, 2)
    source = benchmark(options)
    assert isinstance(source, Sites)
    assert len(source.players) == 2
    assert not set(source.players) & set(source.unseen)
    assert min(source.sizes[site] for site in source.players) >= 500
    assert min(source.sizes[site] for site in source.unseen) >= 200
    assert len({tuple(benchmark(*drawn(FARS, seed, 3)).players) for seed in range(12)}) == 12
    assert benchmark(*drawn(FARS, 7, 2)).players == source.players


def test_without_a_draw_every_site_is_unseen_in_turn() -> None:
    cases = drawn(RAND, seed=0)
    everyone = {*sites_by_name("rand-health").players, *sites_by_name("rand-health").unseen}
    sources = [benchmark(each) for each in cases]
    assert len(cases) == len(everyone) == 6
    assert {source.unseen for source in sources if isinstance(source, Sites)} == {(site,) for site in everyone}
    assert all(set(source.players) == everyone - {*source.unseen} for source in sources if isinstance(source, Sites))


def test_sites_that_were_named_or_planted_are_always_the_same() -> None:
    for options in (
        FARS.model_copy(update={"train": ("CA", "TX")}),
        FARS.model_copy(update={"draw": 3}),
        BenchmarkOptions(benchmark="colored-digits"),
    ):
        assert drawn(options, seed=5) == [options]


def test_every_method_plays_on_the_same_draws() -> None:
    comparison = Comparison(FARS, METHODS, range(100, 103), states=2)
    cases = comparison.cases()
    assert [(options.draw, options.states, seed) for options, seed in cases] == [
        (100, 2, 100), (101, 2, 101), (102, 2, 102),
    ]  # fmt: skip
    by_entry = comparison.by_entry()
    assert [entry.slug for entry, _ in by_entry] == list(METHODS)
    for _, matches in by_entry:
        assert [(match.options, match.seed) for match in matches] == cases
    order = [(match.seed, match.entry.slug) for match in comparison.matches()]
    assert order == [(seed, name) for seed in (100, 101, 102) for name in METHODS], "all methods, then the next draw"
    assert len({match.key for match in comparison.matches()}) == 9


def test_every_case_of_every_seed_is_played_where_sites_are_unseen_in_turn() -> None:
    comparison = Comparison(RAND, ("fedavg",), range(2))
    assert len(comparison.cases()) == 12
    assert len({match.key for match in comparison.matches()}) == 12


def test_what_is_held_back_and_the_rule_are_the_same_for_all_that_learn_by_rounds() -> None:
    for entry, _ in Comparison(FARS, ("fedavg", "fedsgd", "fedmedian", "local-mean", "fl-games"), range(1)).by_entry():
        assert entry.validation == 0.2
        assert entry.rule is not None
        steps = int(str(entry.config.get("local_steps", 1)))
        assert (entry.rounds * steps, entry.rule.values()["early"] * steps) == (600, 200)  # type: ignore[operator]


def test_files_are_named_by_what_was_drawn() -> None:
    def label(*seeds: int, states: int | None = 2, methods: tuple[str, ...] = METHODS) -> str:
        return Comparison(FARS, methods, range(*seeds), states).label

    assert label(2) == "fars-fedavg-logistic-fl-games-2-draws-of-2"
    assert label(2) != label(3)
    assert label(2) != label(2, states=3)
    assert label(0, 2) != label(100, 102), "other draws have another table: it must not take the place of the first"


# Differences.


@pytest.mark.parametrize(
    ("values", "mean", "half", "wins", "losses"),
    [
        ((1.0, 3.0), 2.0, 12.71 * math.sqrt(2) / math.sqrt(2), 2, 0),
        ((1.0, 2.0, 3.0), 2.0, 4.30 / math.sqrt(3), 3, 0),
        ((-1.0, 0.0, 1.0, 4.0), 1.0, 3.18 * math.sqrt(14 / 3) / 2, 2, 1),
        ((0.5, 0.5, 0.5), 0.5, 0.0, 3, 0),
    ],
)
def test_a_difference_by_hand(values: Sequence[float], mean: float, half: float, wins: int, losses: int) -> None:
    """Student's t times the deviation over the root of the number of draws; a draw that is level is neither."""
    found = Difference(values)
    assert (found.mean, found.half) == pytest.approx((mean, half))
    assert (found.wins, found.losses) == (wins, losses)
    assert str(found) == f"{mean:+.1f} ± {half:.1f}"


def test_of_one_draw_nobody_knows_how_far_it_is_off() -> None:
    found = Difference([1.5])
    assert math.isnan(found.half)
    assert str(found) == "+1.5"


@pytest.mark.parametrize("draws", [2, 5, 12, 13, 24, 36, 100])
def test_intervals_are_students(draws: int) -> None:
    values = np.random.default_rng(draws).normal(size=draws).tolist()
    expected = student.ppf(0.975, draws - 1) * stdev(values) / math.sqrt(draws)
    assert Difference(values).half == pytest.approx(expected, rel=0.02)


def figures(right: int, of: int = 20, ones: int | None = None) -> Figures:
    """Of a client, with so many right answers; half of its samples, or so many, are of the second class."""
    ones = of // 2 if ones is None else ones
    missed = min(of - right, ones)
    raised = of - right - missed
    confusion = [[of - ones - raised, raised], [missed, ones - missed]]
    return Figures(
        confusion=confusion, auc=right / of, auc_error=0.1, log_loss=1 - right / of, log_loss_error=0.1,
        calibration_error=0.05,
    )  # fmt: skip


def result(*unseen: int, back: int = 15, ones: int | None = None, **more: Any) -> Result:
    """So many of 20 right at every unseen site, and on the held-back samples of two training sites."""
    given: dict[str, Any] = {
        "end": "rule", "rounds": 30, "chosen_round": 9, "train": back / 20, "train_of": {}, "confusion_of": {},
        "input_shape": (2,), "held_back": {"a": figures(back), "b": figures(back)},
        "unseen_clients": {str(place): figures(right, ones=ones) for place, right in enumerate(unseen)},
    }  # fmt: skip
    return Result.model_validate(given | more)


def test_a_row_by_hand() -> None:
    """Two draws with two unseen sites each: 60 and 80%, then 90 and 70%."""
    row = DrawsRow.of("x", "X", [result(12, 16), result(18, 14, back=17)])
    assert row.values["mean"] == pytest.approx([70, 80])
    assert row.values["worst"] == pytest.approx([60, 70])
    assert row.values["tenth"] == pytest.approx([62, 72]), "a tenth of the way from the worst to the best"
    assert row.values["auc"] == pytest.approx([0.7, 0.8])
    assert row.values["log_loss"] == pytest.approx([0.3, 0.2])
    assert row.values["calibration_error"] == pytest.approx([5, 5])
    assert row.values["held_back"] == pytest.approx([75, 85])
    assert row.values["rounds"] == [10, 10], "of the model that was chosen"
    assert row.values["settled"] == [0, 0]
    settled = Finding(contested=(), reliance=0.9, settled=True)
    assert DrawsRow.of("x", "X", [result(12, finding=settled)]).values["settled"] == [1]
    assert row.mean("mean") == pytest.approx(75)


def test_the_constant_answer_by_hand() -> None:
    """The most frequent label of the training sites, at unseen ones: 5 of 20 have the second label."""
    row = DrawsRow.constant([result(12, 16, ones=5, held_back={"a": figures(15, ones=14)})])
    assert row.values["mean"] == pytest.approx([25])
    assert row.values["worst"] == pytest.approx([25])
    assert math.isnan(row.values["auc"][0])
    assert row.cells(None)[3:6] == ("", "", ""), "a constant ranks nothing"


def test_differences_are_paired() -> None:
    """Draws of 60 and 90%, and of 65 and 95%: five points ahead in each, however much draws differ."""
    fedavg = DrawsRow.of("fedavg", "FedAvg", [result(12), result(18)])
    other = DrawsRow.of("x", "X", [result(13), result(19)])
    found = other.minus(fedavg, "mean")
    assert found.values == pytest.approx([5, 5])
    assert found.half == pytest.approx(0, abs=1e-9)
    cells = dict(zip(("mean", "ahead", "wins"), (other.cells(fedavg)[0], *other.cells(fedavg)[6:8]), strict=True))
    assert cells == {"mean": "80.0", "ahead": "+5.0 ± 0.0", "wins": "2:0"}
    assert fedavg.cells(fedavg)[6:9] == ("", "", ""), "nobody is compared with itself"
    record = other.record(fedavg)
    assert (record["draws"], record["mean_minus_fedavg"], record["mean_wins"], record["mean_losses"]) == (2, 5, 2, 0)
    assert record["mean_minus_fedavg_half"] == pytest.approx(0)


@pytest.mark.parametrize(
    ("unseen", "measures"),
    [((13,), ["mean over unseen sites (bars: 95%)"]), ((13, 15), ["mean over unseen sites", "10th percentile"])],
)
def test_a_site_alone_is_drawn_once(
    unseen: tuple[int, ...], measures: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One unseen site is its own mean and 10th percentile."""
    seen: list[Figure] = []
    monkeypatch.setattr("flgames.report.draws.save", lambda figure, path: seen.append(figure))
    rows = [DrawsRow.of(slug, slug, [result(*unseen)] * 2) for slug in ("fedavg", "x")]
    draw(tmp_path / "x.png", [DrawsTable("all", rows)])
    panel = seen[0].axes[0]
    assert panel.get_legend_handles_labels()[1] == measures
    assert panel.get_ylim() == (0.5, -0.5), "room around a single method"


class Remembered(Store):
    """A store of results that were never written."""

    def __init__(self, results: Mapping[str, Result]) -> None:
        self.results = results

    def find(self, match: Match) -> Result | None:
        return self.results.get(match.key)


def test_a_table_of_stored_results() -> None:
    comparison = Comparison(FARS, ("fedavg", "fl-games"), range(2), states=2)
    matches = {(entry.slug, entry.title): its for entry, its in comparison.by_entry()}
    played = {("fedavg", 0): 12, ("fedavg", 1): 14, ("fl-games", 0): 15, ("fl-games", 1): 13}
    store = Remembered({match.key: result(played[match.entry.slug, match.seed]) for match in comparison.matches()})
    table = DrawsTable.of("Draws", matches, store)
    assert [row.slug for row in table.rows] == ["fedavg", "fl-games", "constant"]
    assert table.draws == 2
    assert table.against is table.rows[0]
    text = table.markdown()
    (line,) = (line for line in text.splitlines() if line.startswith("| FL Games"))
    assert "| 70.0 | 66.0 | 65.0 | 0.700 | 0.300 | 75.0 | +5.0 ± 127.1 | 1:1 |" in line, (
        "+15 and -5, 12.71 x 14.1 / 1.41"
    )
    records = {row["method"]: row for row in table.csv(states="2")}
    assert records["fl-games"]["states"] == "2"
    assert records["fl-games"]["mean_minus_fedavg"] == 5
    assert records["fedavg"]["mean_minus_fedavg"] == ""
    assert records["constant"]["auc"] == ""
    with pytest.raises(AssertionError, match="has not been played"):
        DrawsTable.of("Draws", matches, Remembered({}))


# The command.


def compare(out: Path, *arguments: object, name: str = "fars") -> Ran:
    command = ["compare", name, "--out", out, "--threads", 1, *arguments]
    return CliRunner().invoke(app, [str(each) for each in command])


def records(out: Path) -> dict[str, dict[str, str]]:
    (path,) = out.glob("compare-*.csv")
    return {row["method"]: row for row in csv.DictReader(path.read_text().splitlines())}


def check_comparison(out: Path, ran: Ran) -> None:
    """Of two draws of two sites: tables and figures, by what was stored."""
    assert ran.exit_code == 0, ran.output
    assert "6 matches, 0 of them played before" in ran.output
    stem = "compare-fars-fedavg-logistic-fl-games-2-draws-of-2"
    assert {path.name for path in out.glob("compare-*")} == {f"{stem}.{end}" for end in ("md", "csv", "png", "html")}
    assert (out / f"{stem}.png").read_bytes().startswith(b"\x89PNG")
    files = sorted((out / "runs" / "fars").iterdir())
    assert len(files) == 6
    stored = [json.loads(path.read_text()) for path in files]
    drawn_by = {(each["method"], each["seed"]): each["benchmark"] for each in stored}
    for seed in (0, 1):
        assert [drawn_by[name, seed] for name in METHODS] == [{"benchmark": "fars", "draw": seed, "states": 2}] * 3
    unseen = {(each["method"], each["seed"]): set(each["result"]["unseen_clients"]) for each in stored}
    for seed in (0, 1):
        source = benchmark(FARS.model_copy(update={"draw": seed, "states": 2}))
        assert isinstance(source, Sites)
        assert all(unseen[name, seed] == set(source.unseen) for name in METHODS)
    found = records(out)
    assert list(found) == [*METHODS, "constant"]
    means = {
        (each["method"], each["seed"]): 100 * fmean(
            sum(line[place] for place, line in enumerate(site["confusion"])) / sum(map(sum, site["confusion"]))
            for site in each["result"]["unseen_clients"].values()
        )
        for each in stored
    }  # fmt: skip
    for name in METHODS:
        assert float(found[name]["mean"]) == pytest.approx((means[name, 0] + means[name, 1]) / 2, abs=1e-3)
        apart = [means[name, seed] - means["fedavg", seed] for seed in (0, 1)]
        if name != "fedavg":
            assert float(found[name]["mean_minus_fedavg"]) == pytest.approx(fmean(apart), abs=1e-3)
            assert int(found[name]["mean_wins"]) == sum(each > 0 for each in apart)
    table = (out / f"{stem}.md").read_text()
    for words in ("2 draws of 2 training sites", "| FL Games |", "| logistic regression |", "paired differences"):
        assert words in table


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    make_small(monkeypatch)
    make_short(monkeypatch)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ran]:
    out = tmp_path_factory.mktemp("draws") / "results"
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        make_short(patch)
        return out, compare(out, "--draws", 2, "--states", 2, "--methods", ",".join(METHODS))


def test_draws_are_compared_from_end_to_end(small: None, compared: tuple[Path, Ran]) -> None:
    check_comparison(*compared)


def test_no_draw_is_played_twice(small: None, compared: tuple[Path, Ran]) -> None:
    out, _ = compared
    before = {path: path.read_bytes() for path in out.glob("compare-*.[cm]*")}
    again = compare(out, "--draws", 2, "--states", 2, "--methods", ",".join(METHODS))
    assert "6 matches, all played before" in again.output
    assert {path: path.read_bytes() for path in before} == before
    more = compare(out, "--draws", 3, "--states", 2, "--methods", "fedavg,core-only")
    assert more.exit_code == 0, more.output
    assert "6 matches, 2 of them played before" in more.output
    assert "core columns only" in more.output


def test_every_site_in_turn_from_end_to_end(small: None, tmp_path: Path) -> None:
    ran = compare(tmp_path / "results", "--methods", "fedavg,logistic")
    assert ran.exit_code == 0, ran.output
    assert "12 matches" in ran.output
    assert "6 cases" in ran.output
    assert {row["draws"] for row in records(tmp_path / "results").values()} == {"6"}


def test_a_comparison_without_fedavg(small: None, tmp_path: Path) -> None:
    """There is nobody to take differences to: it shows the rest, or says so before anything is played."""
    ran = compare(tmp_path / "results", "--draws", 2, "--states", 2, "--methods", "logistic,local-mean")
    assert not isinstance(ran.exception, AssertionError), repr(ran.exception)
    assert ran.exit_code in (0, 2), ran.output
    if ran.exit_code == 2:
        assert not (tmp_path / "results").exists()


def test_a_draw_of_all_sites_leaves_nobody_unseen(small: None, tmp_path: Path) -> None:
    """It says so before anything is played."""
    ran = compare(tmp_path / "results", "--draws", 1, "--states", 6, "--methods", "fedavg,logistic")
    assert (ran.exit_code, ran.exception.__class__.__name__) == (2, "SystemExit"), repr(ran.exception)
    assert not (tmp_path / "results").exists()


def test_fars_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real one, with few rounds."""
    sites_at_hand("fars")
    make_short(monkeypatch)
    out = tmp_path / "results"
    check_comparison(out, compare(out, "--draws", 2, "--states", 2, "--methods", ",".join(METHODS)))
    accuracy = float(records(out)["fl-games"]["mean"])
    assert 60 < accuracy < 85
    assert float(records(out)["constant"]["mean"]) < 60


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("fars", ("--draws", 2, "--seeds", 2), "--draws draws training sites anew with each seed: leave out --seeds"),
        ("fars", ("--draws", 2, "--draw", 1), "leave out --seeds, --draw and --train"),
        ("fars", ("--draws", 2, "--train", "CA,TX"), "leave out --seeds, --draw and --train"),
        ("fars", ("--states", 2), "--states says how many sites a draw has: give --draw too"),
        ("fars", ("--draws", 1, "--states", 1), "--states should be greater than or equal to 2; 1 was given"),
        ("fars", ("--draws", 1, "--states", 99), "--states 99: fars has 34 sites that can be drawn"),
        ("fars", ("--draw", 1, "--train", "CA,TX"), "give one of the two"),
        ("fars", ("--draws", 0), "--draws"),
        ("fars", ("--draws", 1, "--methods", "grey-oracle"), "Unknown baseline for tables 'grey-oracle'"),
        ("fars", ("--draws", 1, "--methods", "irm-published"), "Unknown baseline for tables 'irm-published'"),
        ("fars", ("--draws", 1, "--flips", "0.2,0.1"), "fars has no --flips 0.2,0.1"),
        ("colored-digits", ("--draws", 2), "--draws is for benchmarks of real sites; colored-digits has --seeds"),
        ("colored-digits", ("--methods", "fl-games"), "fl-games is for real data"),
        ("digits-across-sources", ("--methods", "logistic"), "Unknown baseline for images 'logistic'"),
        ("rand-health", ("--methods", "core-only"), "has no core columns"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else str(value)[:12],
)
def test_what_does_not_go_together_is_refused_before_anything_is_made(
    name: str, arguments: tuple[object, ...], message: str, tmp_path: Path
) -> None:
    ran = compare(tmp_path / "results", *arguments, name=name)
    assert ran.exit_code == 2
    assert message in " ".join(ran.output.split())
    assert not (tmp_path / "results").exists()


def test_small_clinics_are_as_declared(small: None) -> None:
    source = sites_by_name("fars", draw=4, states=3)
    assert (source.title, len(source.players), len(source.unseen)) == ("Clinics", 3, 3)
    pooled = replace(source, pooled=True).data(0).training_clients()
    assert [len(samples) for samples in pooled.values()] == [180]

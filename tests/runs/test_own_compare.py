"""Own data compared: each client held out in turn, one table, and nothing played twice while the data are the same."""

from __future__ import annotations

import csv
import itertools
import json
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import pytest
from click.testing import Result as Ran
from rich.console import Console
from typer.testing import CliRunner

from flgames.cli import app
from flgames.cli.ui.playing import expectations
from flgames.core.figures import wilson
from flgames.core.records import RoundRecord
from flgames.data.own.digest import digest_of
from flgames.data.own.roles import Roles
from flgames.data.own.source import OwnOptions, surveys_of
from flgames.report.difference import Difference
from flgames.report.draws import DrawsRow
from flgames.report.held_out import HeldOutRow, HeldOutTable
from flgames.runs import entries, presets
from flgames.runs.folder import GameFolder
from flgames.runs.own_compare import OwnComparison, own_names
from flgames.runs.store import Store
from tests.own_data import shortcut_tables, table, three_hospitals

METHODS = ("logistic", "fedavg", "fl-games")
STEM = "compare-clinics-target-sick-logistic-fedavg-fl-games"


@pytest.fixture(autouse=True, scope="module")
def short() -> Iterator[None]:
    """Few rounds."""
    settled = {**presets.SETTLED, "rounds": 5, "early": 2, "settle_after": 2}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entries, "REAL_STEPS", 100)
        patch.setattr(entries, "IMAGE_STEPS", 20)
        patch.setattr(presets, "LINEAR_ON_TABLES", {**presets.LINEAR_ON_TABLES, "rounds": 100, "early": 50})
        patch.setattr(presets, "SETTLED", settled)
        yield


def compare(*arguments: object) -> Ran:
    return CliRunner().invoke(app, ["compare", *map(str, arguments), "--threads", "1"])


def compared(data: Path, out: Path, methods: tuple[str, ...] = METHODS, *more: object) -> Ran:
    return compare("--data", data, "--target", "sick", "--out", out, "--methods", ",".join(methods), *more)


def records(out: Path, stem: str = STEM) -> dict[str, dict[str, str]]:
    return {row["method"]: row for row in csv.DictReader((out / f"{stem}.csv").read_text().splitlines())}


@pytest.fixture(scope="module")
def clinics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shortcut_tables(tmp_path_factory.mktemp("own") / "clinics")


@pytest.fixture(scope="module")
def results(clinics: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("compare") / "results"
    ran = compared(clinics, out)
    assert ran.exit_code == 0, ran.output
    assert "9 matches, 0 of them played before" in ran.output
    assert "clinics, each of 3 clients held out in turn" in ran.output
    assert "beyond the 95% interval" in ran.output, "who is better is said"
    return out


def test_one_table_in_three_forms(results: Path) -> None:
    assert {path.name for path in results.glob("compare-*")} == {
        f"{STEM}.{end}" for end in ("md", "csv", "png", "html")
    }
    assert (results / f"{STEM}.png").read_bytes().startswith(b"\x89PNG")
    page = (results / f"{STEM}.md").read_text()
    assert "|  | a | b | c | mean | worst | mean - FedAvg | wins |" in page
    for title in ("logistic regression", "FedAvg", "FL Games", "the most frequent answer"):
        assert f"| {title} |" in page
    assert "beyond the 95% interval of the difference over 3 clients." in page


def test_figures_are_those_of_the_stored_matches(results: Path) -> None:
    stored = [json.loads(path.read_text()) for path in (results / "runs" / "own-data").iterdir()]
    assert len(stored) == 9
    assert {each["entry"]["validation"] for each in stored} == {0.2}, "all hold back the same share"
    right: dict[str, dict[str, float]] = {}
    for each in stored:
        ((client, figures),) = each["result"]["unseen_clients"].items()
        assert each["benchmark"]["holdout"] == [client]
        assert "data" not in each["benchmark"], "where the data lie decides nothing"
        found = sum(line[place] for place, line in enumerate(figures["confusion"]))
        right.setdefault(each["method"], {})[client] = found / sum(map(sum, figures["confusion"]))
    rows = records(results)
    assert list(rows) == [*METHODS, "constant"]
    for name in METHODS:
        row, its = rows[name], right[name]
        for client, accuracy in its.items():
            assert float(row[f"accuracy_at_{client}"]) == pytest.approx(100 * accuracy, abs=1e-3)
            low, high = wilson(accuracy, 1000)
            assert float(row[f"accuracy_at_{client}_low"]) == pytest.approx(100 * low, abs=1e-3)
            assert float(row[f"accuracy_at_{client}_high"]) == pytest.approx(100 * high, abs=1e-3)
        assert float(row["mean"]) == pytest.approx(100 * fmean(its.values()), abs=1e-3)
        assert float(row["worst"]) == pytest.approx(100 * min(its.values()), abs=1e-3)
        apart = Difference([100 * (its[client] - right["fedavg"][client]) for client in "abc"])
        if name != "fedavg":
            assert float(row["mean_minus_fedavg"]) == pytest.approx(apart.mean, abs=1e-3)
            assert float(row["mean_minus_fedavg_half"]) == pytest.approx(apart.half, abs=1e-3)
    assert rows["fedavg"]["mean_minus_fedavg"] == rows["constant"]["accuracy_at_a_low"] == ""
    assert right["fedavg"]["c"] < 0.5 < 0.6 < right["fl-games"]["c"], "the mark is a shortcut, and is settled"


def test_nothing_is_played_twice(clinics: Path, results: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in results.glob("compare-*.[cm]*")}
    assert "9 matches, all played before" in compared(clinics, results).output
    assert {path: path.read_bytes() for path in before} == before
    moved = tmp_path / "clinics"
    shutil.copytree(clinics, moved)
    assert "9 matches, all played before" in compared(moved, results).output, "the same data, elsewhere"


def test_more_seeds_and_methods_play_only_themselves(clinics: Path, results: Path) -> None:
    ran = compared(clinics, results, ("fedavg", "fedprox"), "--seeds", 2)
    assert ran.exit_code == 0, ran.output
    assert "12 matches, 3 of them played before" in ran.output
    rows = records(results, "compare-clinics-target-sick-fedavg-fedprox-seeds-0-to-1")
    assert {row["seeds"] for row in rows.values()} == {"2"}
    assert {row["clients"] for row in rows.values()} == {"3"}, "a client counts once, however many seeds there are"
    assert float(rows["fedavg"]["accuracy_at_c"]) != float(records(results)["fedavg"]["accuracy_at_c"])


def test_one_cell_that_was_changed_plays_again(clinics: Path, results: Path, tmp_path: Path) -> None:
    changed, out = tmp_path / "clinics", tmp_path / "results"
    shutil.copytree(clinics, changed)
    shutil.copytree(results, out)
    file = changed / "b.csv"
    header, first, *rest = file.read_text().splitlines(keepends=True)
    file.write_text(header + "0.5" + first[first.index(",") :] + "".join(rest))
    ran = compared(changed, out, ("logistic", "fedavg"))
    assert "6 matches, 0 of them played before" in ran.output
    file.write_text(header + first + "".join(rest))
    assert "6 matches, all played before" in compared(changed, out, ("logistic", "fedavg")).output


def test_interrupted_it_goes_on_by_the_same_command(
    clinics: Path, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, lines = GameFolder.append, itertools.count(1)

    def interrupting(self: GameFolder, record: RoundRecord) -> None:
        append(self, record)
        if next(lines) == 15:  # in the second match
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(GameFolder, "append", interrupting)
        ran = compared(clinics, tmp_path, ("fedavg", "local-mean"))
    assert ran.exit_code == 130
    assert "Stopped; the state is saved." in ran.output
    ran = compared(clinics, tmp_path, ("fedavg", "local-mean"))
    assert ran.exit_code == 0, ran.output
    assert "6 matches, 1 of them played before" in ran.output
    again = records(tmp_path, "compare-clinics-target-sick-fedavg-local-mean")["fedavg"]
    assert again["mean"] == records(results)["fedavg"]["mean"]


def test_what_a_digest_knows(tmp_path: Path) -> None:
    scans = three_hospitals(tmp_path / "scans", 2)
    first = digest_of(str(scans), Roles())
    shutil.copytree(scans, tmp_path / "moved")
    assert digest_of(str(tmp_path / "moved"), Roles()) == first
    (scans / "a" / "ill" / "notes.txt").write_text("not looked at")
    (scans / "readme.md").write_text("nobody's")
    assert digest_of(str(scans), Roles()) == first
    picture = scans / "a" / "ill" / "0.png"
    picture.rename(scans / "a" / "healthy" / "7.png")
    assert digest_of(str(scans), Roles()) != first, "another label"


def test_a_run_has_no_digest_in_its_keys(clinics: Path) -> None:
    told, roles = {"data": str(clinics), "target": "sick"}, Roles(target="sick")
    options = OwnOptions.of(str(clinics), roles, None, ("c",), surveys_of(str(clinics), roles))
    assert "digest" not in options.decides()
    assert options.decides()["data"] == str(clinics)
    kept = OwnComparison.of(told, ("fedavg",), range(1)).holdouts()[-1]
    bare = {name: value for name, value in options.decides().items() if name != "data"}
    assert kept.decides() == bare | {"digest": digest_of(str(clinics), Roles())}


def test_images_are_compared(tmp_path: Path) -> None:
    scans, out = three_hospitals(tmp_path / "scans", 10), tmp_path / "results"
    ran = compare("--data", scans, "--out", out, "--methods", "fedavg,fl-games", "--side", 8)
    assert ran.exit_code == 0, ran.output
    stored = [json.loads(path.read_text()) for path in (out / "runs" / "own-data").iterdir()]
    assert {tuple(each["result"]["input_shape"]) for each in stored} == {(3, 8, 8)}
    assert {(each["entry"]["validation"], each["entry"]["network"]["kind"]) for each in stored} == {(0.2, "pooled-cnn")}
    assert list(records(out, "compare-scans-side-8-fedavg-fl-games")) == ["fedavg", "fl-games", "constant"]


def test_what_is_compared_unless_others_are_asked_for(clinics: Path) -> None:
    images = ("fedsgd", "fedavg", "fedprox", "fedgma", "fedmedian", "local-mean", "group-dro", "irm", "vrex")
    assert own_names("images") == (*images, "fl-games")
    assert own_names("table") == ("logistic", *images, "fedavg-perceptrons", "fl-games")
    told = {"data": str(clinics), "target": "sick"}
    comparison = OwnComparison.of(told, (), range(1))
    assert comparison.label == "clinics-target-sick"
    assert len({match.key for match in comparison.matches()}) == 12 * 3
    assert {each.validation for each in comparison.entries} == {0.2}


def test_files_can_be_named_by_any_column(tmp_path: Path) -> None:
    for seed, name in enumerate("abc"):
        file = table(tmp_path / f"{name}.csv", seed=seed)
        file.write_text(file.read_text().replace("sick", "BMI (kg/m2) " + "x" * 300))
    told = {"data": str(tmp_path), "target": "BMI (kg/m2) " + "x" * 300}
    label = OwnComparison.of(told, ("fedavg",), range(1)).label
    assert f"{tmp_path.name}-target-BMI-kg-m2-xxx" in label
    assert len(label) < 200


def test_the_same_method_tells_how_long_it_takes_with_others_held_out(clinics: Path, results: Path) -> None:
    told = {"data": str(clinics), "target": "sick"}
    matches = OwnComparison.of(told, ("fedavg", "fedsgd"), range(1)).matches()
    played = [match for match in matches if match.entry.slug == "fedavg"]
    seconds = expectations(matches, Store(results))
    found = [result.seconds for result in map(Store(results).find, played) if result]
    assert [seconds[match.stem] for match in played] == pytest.approx([fmean(found)] * 3)


def row(slug: str, *accuracies: float) -> HeldOutRow:
    measures = ("mean", "worst", "tenth", "auc")
    return HeldOutRow(DrawsRow(slug, slug.upper(), dict.fromkeys(measures, accuracies), in_turn=True))


def test_who_is_better_is_said_plainly() -> None:
    fedavg, near, ahead = row("fedavg", 60, 70, 80), row("near", 61, 69, 84), row("ahead", 70, 80, 91)

    def said(*rows: HeldOutRow) -> str | None:
        return HeldOutTable("", "abc", 1, rows).verdict()

    beyond = ", beyond the 95% interval of the difference over 3 clients."
    assert said(fedavg, near) == f"No method is better than FedAvg{beyond}"
    assert said(near, fedavg, ahead) == f"Better than FedAvg: AHEAD (+10.3 ± 1.4){beyond}"
    assert said(near, ahead) is said(fedavg) is None, "there is nobody to compare with"


@pytest.mark.parametrize(("clients", "tables"), [(3, 1), (7, 3), (9, 1)])
def test_a_terminal_shows_what_fits(clients: int, tables: int) -> None:
    names = [f"hospital-{number}" for number in range(clients)]
    found = HeldOutTable("title", names, 1, [row("fedavg", *range(clients)), row("x", *range(clients))])
    console = Console(width=80, record=True)
    made = list(found.terminal(console))
    assert len(made) == tables
    for each in made:
        console.print(each)
    said = console.export_text()
    assert ("hospital" in said) == (clients < 9), "of many clients the page has a column for each"
    assert all((name in said) == (clients == 7) for name in names), "names are folded where all fit then"
    assert all(column in said for column in ("worst", "mean - FedAvg", "wins"))
    assert "…" not in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "on a benchmark, such as colored-digits, or on --data of your own: name one of the two"),
        (("fars", "--data", "{data}"), "leave one of the two out"),
        (("fars", "--target", "sick"), "--target is for data of your own: give --data instead of a benchmark"),
        (("--data", "{data}", "--flips", "0.1,0.2"), "--flips is for benchmarks; your own data are as they are"),
        (("--data", "{data}", "--clients", "3"), "--clients is for benchmarks"),
        (("--data", "{data}", "--draws", "3"), "--draws is for benchmarks of real sites"),
        (("--data", "{data}"), "say which column of a.csv is to be predicted: --target COLUMN"),
        (("--data", "nowhere", "--target", "sick"), "--data nowhere is no folder"),
        (("--data", "{data}", "--target", "sick", "--methods", "core-only"), "Unknown baseline for own data"),
        (("--data", "{data}", "--target", "sick", "--methods", "fedavgg"), "Did you mean 'fedavg'"),
        (("--data", "{data}", "--target", "sick", "--methods", "settled"), "clinics has real data"),
        (("--data", "{two}", "--target", "sick"), "two others play, at least, and two has 2 in all"),
        (("--data", "{odd}", "--target", "sick"), "c is held out and has 1 of the class '7'"),
        (("colored-digits", "--methods", "fedavg-perceptrons"), "is for tables of your own"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_does_not_go_together_is_refused_before_anything_is_made(
    arguments: tuple[str, ...], message: str, clinics: Path, tmp_path: Path
) -> None:
    two, odd = tmp_path / "two", tmp_path / "odd"
    for number, name in enumerate("abc"):
        table(odd / f"{name}.csv", seed=number, first={"sick": "7"} if name == "c" else None)
    shutil.copytree(odd, two, ignore=shutil.ignore_patterns("c.csv"))
    given = [each.format(data=clinics, two=two, odd=odd) for each in arguments]
    ran = compare(*given, "--out", tmp_path / "results")
    assert ran.exit_code == 2
    assert message in " ".join(ran.output.split())
    assert not (tmp_path / "results").exists()

"""What the documentation shows can be done as it is shown."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from flgames.cli.commands.bench import bench
from flgames.cli.commands.compare import compare
from flgames.cli.commands.data import fetch, show
from flgames.cli.commands.explain import explain_runs
from flgames.cli.commands.knobs import knobs_table
from flgames.cli.commands.model import evaluate, export, predict
from flgames.cli.commands.nvflare import job
from flgames.cli.commands.play import play
from flgames.cli.commands.report import report
from flgames.cli.commands.reproduce import reproduce
from flgames.cli.commands.search import search
from flgames.cli.commands.site import check
from flgames.data.benchmarks.benchmark import Benchmark
from flgames.paper.experiments import EXPERIMENTS, Experiment
from flgames.paper.scope import Scope
from flgames.report.lines import Line, csv_of
from flgames.report.real_reproduction import show_real
from flgames.runs.settings import knobs
from flgames.runs.store import Store

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results"


def python_blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / page).read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.filterwarnings("ignore:rounds=150 ended")
def test_the_python_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, object] = {}
    monkeypatch.chdir(tmp_path)
    for block in python_blocks("python.md")[:4]:
        exec(block, names)
    said = capsys.readouterr().out
    assert re.search(r"ended by its (rule|rounds), after \d+ rounds", said)
    assert re.findall(r"trained at the others, at (\w+): 0\.\d", said) == ["north", "south", "west"]


def test_a_benchmark_of_your_own_is_drawn_and_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec("\n".join(python_blocks("data.md")), names)
    assert (tmp_path / "scanners.png").read_bytes().startswith(b"\x89PNG")
    assert "the mark agrees: " in capsys.readouterr().out
    scanners = names["scanners"]
    assert isinstance(scanners, Benchmark)
    assert {name: len(samples) for name, samples in scanners.training_clients(0).items()} == {
        "north": 667, "south": 667, "west": 666,
    }  # fmt: skip


def test_every_option_that_is_mentioned_exists() -> None:
    words = " ".join(path.read_text() for path in [ROOT / "README.md", *ROOT.glob("docs/*.md")])
    commands = (
        play,
        fetch,
        show,
        compare,
        search,
        reproduce,
        report,
        bench,
        explain_runs,
        job,
        predict,
        evaluate,
        export,
        knobs_table,
        check,
    )
    known = {name.rstrip("_") for each in commands for name in each.__annotations__} | {"help", "list", "no_play"}
    mentioned = {option.replace("-", "_") for option in re.findall(r"`--([a-z][a-z-]+)", words)}
    assert mentioned
    assert mentioned <= known, mentioned - known


def test_every_setting_is_an_option() -> None:
    assert set(knobs()) <= set(play.__annotations__)


@pytest.mark.parametrize("table", ["colored-mnist-17-methods", "colored-fashion-mnist"])
def test_the_docs_show_the_committed_tables(table: str) -> None:
    results = ROOT / "results" / f"compare-{table}.md"
    shown = (ROOT / "docs" / "comparison.md").read_text()
    for line in results.read_text().splitlines():
        assert line in shown, "run the comparison, then copy its table"
    for picture in (f"{results.stem}.png", f"{results.stem}-profiles.png"):
        assert f"](../results/{picture})" in shown
        assert (ROOT / "results" / picture).exists()


OF_THE_PAPER = {name: each for name, each in EXPERIMENTS.items() if not each.is_real}
ON_REAL_DATA = {name: each for name, each in EXPERIMENTS.items() if each.is_real}


@pytest.mark.parametrize("experiment", OF_THE_PAPER.values(), ids=list(OF_THE_PAPER))
def test_reproduced_tables_are_made_of_the_committed_matches(experiment: Experiment) -> None:
    store = Store(RESULTS)
    lines = [Line.of(case, store) for case in experiment.cases(Scope())]
    if lines:
        written = (store.root / f"{experiment.name}.csv").read_text()
        assert csv_of(lines) == written, f"flgames reproduce {experiment.name} --no-play writes it again"
    are_one_click_away(experiment, "reproduction.md")


@pytest.mark.parametrize("experiment", ON_REAL_DATA.values(), ids=list(ON_REAL_DATA))
def test_tables_of_real_sites_are_made_of_the_committed_matches(experiment: Experiment, tmp_path: Path) -> None:
    if not (RESULTS / f"{experiment.name}.csv").exists():
        pytest.skip(f"{experiment.name} has not been played yet")
    (tmp_path / "runs").symlink_to(RESULTS / "runs")
    console = Console(file=io.StringIO())
    show_real(experiment, Scope(), Store(tmp_path), console)
    for ending in (".csv", ".md"):
        written = (RESULTS / f"{experiment.name}{ending}").read_text()
        made = (tmp_path / f"{experiment.name}{ending}").read_text()
        assert made == written, f"flgames reproduce {experiment.name} --no-play writes it again"
    are_one_click_away(experiment, "real-data.md")


def are_one_click_away(experiment: Experiment, page: str) -> None:
    shown = (ROOT / "docs" / page).read_text()
    made = [path.name for path in RESULTS.glob(f"{experiment.name}*") if path.suffix in (".png", ".md")]
    assert made
    for name in made:
        assert f"](../results/{name})" in shown, "every table and figure is one click away"


def test_the_site_is_built_without_a_warning_and_shows_the_examples(tmp_path: Path) -> None:
    mkdocs = str(Path(sys.executable).parent / "mkdocs")
    command = [mkdocs, "build", "--quiet", "--config-file", str(ROOT / "mkdocs.yml"), "--site-dir", str(tmp_path)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=quiet)
    assert built.returncode == 0, built.stderr
    pages = "".join((tmp_path / page / "index.html").read_text() for page in (".", "python"))
    words = re.sub(r"<[^>]*>", "", pages)
    for line in (
        "class Scans(Dataset",
        "def trial(",
        "def backbone()",
        "class Printer",
        "others = {other",
        "onnxruntime.Inf",
    ):
        assert line in words
    assert (tmp_path / "evidence" / "table-accuracy.png").exists()

"""What a reproduced table or figure leaves behind: Markdown, CSV and a picture, made from whatever has been played."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Table

from flgames.data.benchmark import Benchmark
from flgames.data.catalogue import benchmark, by_name
from flgames.experiments import Experiment, Scope
from flgames.experiments.case import BENCHMARKS
from flgames.files import write_atomically
from flgames.report import drawings
from flgames.report.lime import show_lime
from flgames.report.lines import Line, csv_of, markdown
from flgames.report.remarks import majority_shares, remarks
from flgames.report.samples import draw_benchmarks
from flgames.report.tables import reference_rows
from flgames.store import Store

Draw = Callable[[Path, str, Sequence[Line]], None]

PICTURES: dict[str, Draw] = {
    "table-accuracy": drawings.methods,
    "table-stopping": drawings.methods,
    "figure-clients": drawings.clients,
    "figure-memory": drawings.curves,
    "figure-fast": drawings.fast,
    "figure-exact-response": drawings.categories,
    "figure-participation": drawings.categories,
}

LEGEND = """
Accuracies in %, mean ± standard deviation over seeds.

- `unseen client`: at p = 0.9. `mark`: our mean is within two of the paper's standard deviations, higher or lower;
  *reversed*: above 75%, where the spurious feature is used the wrong way round.
- `agree`, `conflict`: held-out images whose spurious feature agrees and conflicts with the label; `mean` of the two;
  `flip rate`: predictions that change when only the feature changes.
- `ratio`: our rounds over the paper's. `moves`: of predictors. `MB`: up and down, all clients. `oscillation`: mean
  absolute change of training accuracy per round, in points.
"""

SHOWN = ("seeds", "unseen client", "paper", "mark", "agree", "conflict", "flip rate", "rounds", "ratio")


def stem_of(experiment: Experiment, scope: Scope) -> str:
    return ("quick-" if scope.quick else "") + experiment.name


def show(experiment: Experiment, scope: Scope, store: Store, console: Console) -> None:
    """Write and print what there is of an experiment."""
    stem = store.root / stem_of(experiment, scope)
    lines = [Line.of(case, store) for case in experiment.cases(scope)]
    sections = {section: [line for line in lines if line.section == section] for section in _sections(lines)}
    files = []
    if lines:
        files += [stem.with_suffix(".md"), stem.with_suffix(".csv")]
        write_atomically(files[0], _page(experiment, scope, sections))
        write_atomically(files[1], csv_of(lines))
    for section, its_lines in sections.items():
        console.print(_brief(section, its_lines))
    drawn = [line for line in lines if line.played]
    if experiment.name in PICTURES and drawn:
        files.append(stem.with_suffix(".png"))
        PICTURES[experiment.name](files[-1], experiment.title, drawn)
    if experiment.name == "figure-datasets":
        files.append(stem.with_suffix(".png"))
        draw_benchmarks(files[-1], datasets(scope), 0)
    if experiment.name == "figure-lime":
        files += show_lime(stem, [line for line in drawn if store.has_model(line.case.matches()[0])], store, console)
    for file in files:
        console.print(str(file), soft_wrap=True)


def datasets(scope: Scope) -> list[Benchmark]:
    """Those that the paper draws."""
    return [by_name(name) for name in scope.of(BENCHMARKS)] + [by_name(scope.of(BENCHMARKS)[0], classes=10)]


def _sections(lines: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(line.section for line in lines))


def _page(experiment: Experiment, scope: Scope, sections: dict[str, list[Line]]) -> str:
    lines = [line for its_lines in sections.values() for line in its_lines]
    played, meant = sum(len(line.played) for line in lines), sum(len(line.case.seeds) for line in lines)
    title = f"# {experiment.title}" + (" (quick version: embedded digits, one seed)" if scope.quick else "")
    command = f"flgames reproduce {experiment.name}" + (" --quick" if scope.quick else "")
    text = f"{title}\n\nThe question: {experiment.asks} Made by `{command}` from {played} matches of {meant}.\n{LEGEND}"
    for section, its_lines in sections.items():
        cells = [line.cells() for line in its_lines]
        labels = list(its_lines[0].case.labels)
        has = [line for line in its_lines if line.played]
        notes: list[str] = []
        if has:
            seeds = sorted({played["seed"] for line in has for played in line.played})
            constants = majority_shares(benchmark(its_lines[0].case.options), seeds)
            for row in reference_rows(has[0].row.profiles[0], constants):
                cells.append(row.cells() | {labels[0]: row.title})
            notes = [
                note.replace(line.row.title, line.label, 1)
                for line in has
                for note in remarks([line.row], fmean(train for train, _ in constants))
            ]
        listed = "".join(f"- {note}\n" for note in notes)
        text += f"\n## {section}\n\n{markdown(cells, labels)}" + (f"\n{listed}" if notes else "")
    return text


def _brief(section: str, lines: Sequence[Line]) -> Table:
    """For a terminal of 80 characters."""
    table = Table(title=section, title_justify="left", padding=(0, 0), collapse_padding=True)
    table.add_column("", min_width=16)
    cells = [line.cells() for line in lines]
    shown = [column for column in SHOWN if any(each.get(column) for each in cells)]
    for column in shown:
        table.add_column(column.removesuffix(" client"), justify="right")
    for line, each in zip(lines, cells, strict=True):
        brief = {name: each.get(name, "").split(" ±")[0] for name in shown}
        brief["unseen client"] = each.get("unseen client", "").split(" reversed")[0]
        table.add_row(line.label, *(brief[name] for name in shown))
    return table

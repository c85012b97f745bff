"""What a reproduced table or figure leaves behind: Markdown, CSV and a picture, made from whatever has been played."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Table

from flgames.data.benchmarks.benchmark import Benchmark
from flgames.data.benchmarks.published import Published
from flgames.data.benchmarks.registry import planted
from flgames.errors import UserError
from flgames.files import write_atomically
from flgames.paper.case import on
from flgames.paper.experiments import Experiment
from flgames.paper.scope import BENCHMARKS, LARGE, Scope
from flgames.report import drawings
from flgames.report.choosing import chosen
from flgames.report.html.stored_pages import reproduction_page
from flgames.report.lime import show_lime
from flgames.report.lines import NOT_PLAYED, Line, csv_of, markdown
from flgames.report.memorising import memorising
from flgames.report.real_reproduction import show_real
from flgames.report.remarks import majority_shares, remarks
from flgames.report.rows import reference_rows
from flgames.report.samples import draw_benchmarks
from flgames.report.settling import draw_settling
from flgames.runs.store import Store

Draw = Callable[[Path, str, Sequence[Line]], None]

PICTURES: dict[str, Draw] = {
    "table-accuracy": drawings.methods,
    "table-stopping": drawings.methods,
    "table-memorised": memorising,
    "settled-games": drawings.methods,
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

ACCURACY = {"seeds": "seeds", "unseen client": "unseen", "paper": "paper", "mark": "mark", "agree": "agree",
            "conflict": "conflict", "flip rate": "flips"}  # fmt: skip
COST = {"rounds": "rounds", "paper's rounds": "paper", "ratio": "ratio", "moves": "moves", "MB": "MB",
        "oscillation": "oscill."}  # fmt: skip
"""What a terminal shows, and what it is called there."""

SHORT = {"within 2 sd": "within", NOT_PLAYED: "none"}


def stem_of(experiment: Experiment, scope: Scope) -> str:
    return ("quick-" if scope.quick else "") + experiment.name


def show(experiment: Experiment, scope: Scope, store: Store, console: Console) -> None:
    """Write and print what there is of an experiment."""
    if experiment.is_real:
        show_real(experiment, scope, store, console)
        return
    stem = store.root / stem_of(experiment, scope)
    # The whole table, whatever part of it was played just now.
    whole = replace(scope, seeds=None, benchmarks=BENCHMARKS)
    lines = [Line.of(case, store) for case in experiment.cases(whole)]
    sections = drawings.by_section(lines)
    files = []
    if lines:
        files += [stem.with_suffix(".md"), stem.with_suffix(".csv")]
        write_atomically(files[0], _page(experiment, scope, sections))
        write_atomically(files[1], csv_of(lines))
    for section, its_lines in sections.items():
        console.print(_brief(f"{section}, accuracies in %", its_lines, ACCURACY))
        console.print(_brief("what it took", its_lines, COST))
    drawn = [line for line in lines if line.played]
    if experiment.name in PICTURES and drawn:
        files.append(stem.with_suffix(".png"))
        PICTURES[experiment.name](files[-1], experiment.title, drawn)
    if experiment.draws_settling and drawn:
        files.append(stem.with_suffix(".png"))
        settled = next(line.case for line in drawn if line.case.entry.method == "settled")
        profiles = {line.row.title: line.row.profiles for line in drawn}
        draw_settling(files[-1], planted(settled.options), settled.entry, 0, profiles)
    if experiment.draws_benchmarks:
        files.append(stem.with_suffix(".png"))
        draw_benchmarks(files[-1], _datasets(scope), 0)
    if experiment.explains:
        here = [line for line in drawn if store.has_model(line.case.matches()[0])]
        files += show_lime(stem, here, store, console)
        if len(here) < len(lines):
            console.print("Models that are not on this machine are not explained.", style="yellow")
    if drawn:
        files.append(
            reproduction_page(
                stem.with_suffix(".html"),
                experiment.title,
                experiment.asks,
                _made(experiment, scope, lines).replace("`", ""),
                sections,
                _notes(drawn),
                _command(experiment, scope),
            )
        )
    for file in files:
        console.print(str(file), soft_wrap=True)


def _command(experiment: Experiment, scope: Scope) -> str:
    return f"flgames reproduce {experiment.name}" + (" --quick" if scope.quick else "")


def _made(experiment: Experiment, scope: Scope, lines: Sequence[Line]) -> str:
    """From how many matches."""
    played, meant = sum(len(line.played) for line in lines), sum(len(line.case.seeds) for line in lines)
    waiting = sum(max(len(line.case.seeds) - len(line.played), 0) for line in lines)
    return f"Made by `{_command(experiment, scope)}` from {played} matches; {waiting} of the budget's {meant} wait."


def _notes(lines: Sequence[Line]) -> list[str]:
    """What must be said beside lines that were played."""
    return [note for line in lines for note in remarks([replace(line.row, title=f"{line.section}, {line.label}")], 0.0)]


def _datasets(scope: Scope) -> list[Benchmark]:
    """Those that the paper draws; ten classes of the first that has them."""
    names = scope.of(BENCHMARKS)
    small = [name for name in names if name not in LARGE]
    return [planted(on(name)) for name in names] + [planted(on(name, classes=10)) for name in small[:1]]


def _constants(lines: Sequence[Line]) -> list[tuple[float, float]]:
    """The majority class of a benchmark, seed by seed; nothing where its images are not at hand."""
    seeds = sorted({played.seed for line in lines for played in line.played})
    source = planted(lines[0].case.options)
    if isinstance(source.images, Published):
        source = replace(source, images=source.images.at_hand())
    try:
        return majority_shares(source, seeds)
    except UserError:
        return []


def _page(experiment: Experiment, scope: Scope, sections: dict[str, list[Line]]) -> str:
    lines = [line for its_lines in sections.values() for line in its_lines]
    title = f"# {experiment.title}" + (" (quick version: embedded digits, one seed)" if scope.quick else "")
    made = _made(experiment, scope, lines)
    text = f"{title}\n\nThe question: {experiment.asks} {made}\n{LEGEND}"
    for section, its_lines in sections.items():
        cells = [line.cells() for line in its_lines]
        labels = list(its_lines[0].case.labels)
        has = [line for line in its_lines if line.played]
        notes: list[str] = []
        if has:
            constants = _constants(has)
            for row in reference_rows(has[0].row.profiles[0], constants):
                cells.append(row.cells() | {labels[0]: row.title})
            train = fmean(train for train, _ in constants) if constants else 0.0
            notes = [note for line in has for note in remarks([replace(line.row, title=line.label)], train)]
        listed = "".join(f"- {note}\n" for note in notes)
        text += f"\n## {section}\n\n{_samples(its_lines)}\n\n{markdown(cells, labels)}" + (
            f"\n{listed}" if notes else ""
        )
    return text + (chosen(lines) if experiment.searches else "")


def _samples(lines: Sequence[Line]) -> str:
    """How many images a section's matches were played on."""
    sources = [planted(line.case.options) for line in lines]
    trained = sorted({sum(source.sizes or source.available[:1]) for source in sources if source.available})
    unseen = {source.available[1] for source in sources if source.available}
    return (
        f"Images: {' or '.join(f'{number:,}' for number in trained)} of the training clients together, "
        f"{' or '.join(f'{number:,}' for number in sorted(unseen))} of the unseen client."
    )


def _brief(title: str, lines: Sequence[Line], columns: Mapping[str, str]) -> Table:
    """For a terminal of 80 characters: means only."""
    table = Table(title=title, title_justify="left", padding=(0, 0), collapse_padding=True)
    table.add_column("", min_width=18)
    cells = [line.cells() for line in lines]
    shown = {column: short for column, short in columns.items() if any(each.get(column) for each in cells)}
    for short in shown.values():
        table.add_column(short, justify="right", no_wrap=True)
    for line, each in zip(lines, cells, strict=True):
        brief = (each.get(column, "").split(" ±")[0].split(" reversed")[0] for column in shown)
        table.add_row(line.label, *(SHORT.get(text, text) for text in brief))
    return table

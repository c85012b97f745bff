"""What a comparison leaves behind: one table as Markdown, CSV and a picture, and the profiles of all methods."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from rich.console import Console

from flgames.data.benchmarks.registry import planted
from flgames.evaluation.profile import InvarianceProfile
from flgames.files import write_atomically
from flgames.report.html.stored_pages import planted_page
from flgames.report.plots import COLOURS, GREY, UNSEEN, save
from flgames.report.remarks import majority_shares, remarks
from flgames.report.rows import ACCURACY, COST, Row, csv_table, long_table, markdown_table, reference_rows, row_of
from flgames.runs.compare import Comparison
from flgames.runs.entries import is_searched
from flgames.runs.store import Store

AGREE, CONFLICT = "#0072B2", "#E69F00"


def show(comparison: Comparison, store: Store, console: Console) -> None:
    """Write and print the comparison of matches that have all been played."""
    source = planted(comparison.options)
    rows = [
        row_of(entry, comparison.options, [result for result in map(store.find, matches) if result])
        for entry, matches in comparison.by_entry()
    ]
    constants = majority_shares(source, comparison.seeds)
    table = rows + reference_rows(rows[0].profiles[0], constants)
    seeds = f"{len(comparison.seeds)} seed{'s' if len(comparison.seeds) > 1 else ''}"
    title = f"{source.title}, {seeds}, accuracies in %"
    notes = list(remarks(rows, fmean(train for train, _ in constants)))
    if not is_searched(comparison.options):
        notes.append(
            "The baselines' values were chosen on other clients than these (flgames/runs/baselines.py says which)."
        )

    stem = store.root / f"compare-{comparison.label}"
    listed = "".join(f"- {note}\n" for note in notes)
    files = [stem.with_name(stem.name + ending) for ending in (".md", ".csv", ".png", "-profiles.png")]
    write_atomically(files[0], f"{title}\n\n{markdown_table(table)}" + (f"\n{listed}" if notes else ""))
    write_atomically(files[1], csv_table(table))
    draw_table(files[2], f"{source.title}, {seeds}", table)
    draw_profiles(files[3], f"{source.title}, {seeds}: invariance profiles", table, list(source.flips.values()))

    page = stem.with_name(stem.name + ".html")
    files.append(planted_page(page, f"{source.title}, {seeds}", table, source, notes, comparison.command))

    console.print(long_table(table, title, ACCURACY))
    console.print(long_table(table, "what it took", COST))
    for note in notes:
        console.print(note, style="yellow")
    for file in files:
        console.print(str(file), soft_wrap=True)


def draw_table(path: Path, title: str, rows: Sequence[Row]) -> None:
    """A line a method: agree and conflict with the span between them, the unseen client, and the paper's figure."""
    figure, axes = pyplot.subplots(figsize=(9.5, 0.42 * len(rows) + 1.9), layout="constrained")
    draw_rows(axes, [(row.title, row) for row in rows])
    axes.set_title(title)
    explain_rows(figure)
    save(figure, path)


def draw_rows(axes: Axes, rows: Sequence[tuple[str, Row]]) -> None:
    """The lines of :func:`draw_table`, each with its name."""
    ceiling = rows[0][1].profiles[0].ceiling
    axes.axvline(100 * ceiling, color=GREY, linestyle=":", linewidth=1.2)
    for place, (_, row) in enumerate(rows):
        agree, conflict, unseen = (row.values(name) for name in ("agree", "conflict", "unseen"))
        axes.plot([fmean(agree), fmean(conflict)], [place, place], color=GREY, linewidth=2.5, alpha=0.4, zorder=1)
        axes.plot(fmean(agree), place, "o", color=AGREE, markersize=7)
        axes.plot(fmean(conflict), place, "s", color=CONFLICT, markersize=7)
        axes.plot(unseen, [place] * len(unseen), "|", color=UNSEEN, markersize=9, alpha=0.6)
        axes.plot(fmean(unseen), place, "*", color=UNSEEN, markersize=13, zorder=4)
        if row.paper:
            axes.errorbar(
                row.paper.mean, place + 0.24, xerr=row.paper.deviation, fmt="D", color="black", markersize=4,
                markerfacecolor="white", elinewidth=1,
            )  # fmt: skip
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.set(xlabel="accuracy on held-out images, %", xlim=(-2, 102), ylim=(len(rows) - 0.4, -0.7))
    axes.grid(axis="x", alpha=0.2)


def explain_rows(figure: Figure) -> None:
    """The legend of :func:`draw_rows`."""
    handles = [
        Line2D([], [], marker=marker, color=colour, linestyle="", markerfacecolor=face, label=label)
        for marker, colour, face, label in (
            ("o", AGREE, AGREE, "agree"),
            ("s", CONFLICT, CONFLICT, "conflict"),
            ("*", UNSEEN, UNSEEN, "unseen client (bars: seeds)"),
            ("D", "black", "white", "unseen client in the paper"),
        )
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=9)


def draw_profiles(path: Path, title: str, rows: Sequence[Row], training_flips: Sequence[float]) -> None:
    """The line of every method over the flip rate p, named where it ends."""
    figure, axes = pyplot.subplots(figsize=(11, 7), layout="constrained")
    colours = itertools.cycle(COLOURS)
    ends = []
    for row in rows:
        mean = InvarianceProfile.mean_of(row.profiles)
        colour, line = (GREY, "-.") if row.is_reference else (next(colours), "-" if "fl-games" in row.slug else "--")
        axes.plot([0, 1], [100 * mean.agree, 100 * mean.conflict], color=colour, linestyle=line, linewidth=1.8)
        axes.plot(mean.unseen_p, 100 * mean.at(mean.unseen_p), "*", color=colour, markersize=10)
        ends.append((100 * mean.conflict, row.title, colour, f"{mean.mean:.0%}, {mean.flip_rate:.0%}"))
    ends.sort(key=lambda end: end[0])
    for height, (conflict, name, colour, numbers) in zip(_apart([end[0] for end in ends], 4.2), ends, strict=True):
        axes.annotate(
            f"{name} ({numbers})", (1.0, conflict), xytext=(1.05, height), fontsize=9, color=colour, va="center",
            annotation_clip=False, arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.6, "relpos": (0, 0.5)},
        )  # fmt: skip
    for flip in training_flips:
        axes.axvline(flip, color=GREY, linewidth=0.6, alpha=0.6)
    axes.axvline(rows[0].profiles[0].unseen_p, color=GREY, linewidth=0.6, alpha=0.6)
    axes.set(
        title=f"{title}\nin brackets: mean of agree and conflict, flip rate", xlim=(-0.01, 1.0), ylim=(-2, 102),
        ylabel="accuracy on held-out images, %",
        xlabel="p: how often the spurious feature contradicts the label\n(thin lines: training clients and unseen)",
    )  # fmt: skip
    axes.grid(alpha=0.2)
    save(figure, path)


def _apart(heights: Sequence[float], gap: float) -> list[float]:
    """Sorted heights, moved up where labels would lie on each other."""
    placed: list[float] = []
    for height in heights:
        placed.append(max(height, placed[-1] + gap) if placed else height)
    return placed

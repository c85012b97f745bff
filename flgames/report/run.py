"""What a finished run leaves behind for people: results.json, table.md, curves.png, profile.png."""

from __future__ import annotations

from statistics import fmean

from rich.console import Console

from flgames.data.benchmarks.benchmark import Benchmark
from flgames.data.benchmarks.registry import benchmark
from flgames.files import write_atomically, write_json
from flgames.report.html.run_page import write_report
from flgames.report.plots import draw_curves, draw_profile
from flgames.report.real import summarise_real
from flgames.report.remarks import majority_shares
from flgames.report.rows import ACCURACY, long_table, markdown_table, reference_rows, row_of, transposed_table
from flgames.report.sentences import of_planted, say
from flgames.runs.folder import GameFolder, RunFolder

MANY = 3
"""From so many methods on a terminal has a line for each, not a column."""


def summarise(run: RunFolder, console: Console) -> None:
    """Write the results of a run whose games have all ended, and show them."""
    settings = run.settings
    source = None if settings.data is not None else benchmark(settings.source)
    if not isinstance(source, Benchmark):
        summarise_real(run, console)
        return
    games: dict[str, list[GameFolder]] = {}
    for match, folder in run.games():
        games.setdefault(match.entry.slug, []).append(folder)
    entries = run.plan.entries
    rows = [row_of(each, settings.source, [folder.result() for folder in games[each.slug]]) for each in entries]
    ceiling = rows[0].profiles[0].ceiling
    constants = majority_shares(source, settings.all_seeds)
    table = rows + reference_rows(rows[0].profiles[0], constants)
    title = f"{source.title}, {settings.seeds} seed{'s' if settings.seeds > 1 else ''}, accuracies in %"

    results = {row.title: [result.saved() for result in row.played] for row in rows}
    write_json(run.path / "results.json", results)
    write_atomically(run.path / "table.md", f"{title}\n\n{markdown_table(table)}")
    titled = {each.title: games[each.slug] for each in entries}
    draw_curves(run.path / "curves.png", source.title, titled, ceiling)
    draw_profile(run.path / "profile.png", f"{source.title}: invariance profile", rows, list(source.flips.values()))

    console.print(transposed_table(table, title) if len(rows) < MANY else long_table(table, title, ACCURACY))
    say(of_planted(entries, rows, fmean(train for train, _ in constants), settings.seeds), console)
    for name in ("curves.png", "profile.png"):
        console.print(f"{run.path / name}", soft_wrap=True)
    console.print(f"run folder: {run.path.resolve()}", soft_wrap=True, style="bold")


def write_summary(run: RunFolder) -> None:
    """The same where nobody looks on: what would be printed is in summary.txt, beside the page."""
    with open(run.path / "summary.txt", "w") as file:
        summarise(run, Console(file=file, width=100))
    write_report([run])

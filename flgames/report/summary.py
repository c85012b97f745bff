"""What a finished run leaves behind for people: results.json, table.md, curves.png, profile.png."""

from __future__ import annotations

from statistics import fmean

from rich.console import Console

from flgames.data.catalogue import benchmark
from flgames.files import write_atomically, write_json
from flgames.lineup import entries
from flgames.report.clients import summarise_own
from flgames.report.figures import draw_curves, draw_profile
from flgames.report.remarks import majority_shares, remarks
from flgames.report.tables import markdown_table, reference_rows, row_of, transposed_table
from flgames.runs import RunFolder


def summarise(run: RunFolder, console: Console) -> None:
    """Write the results of a run whose games have all ended, and show them."""
    settings = run.settings
    if settings.data is not None:
        summarise_own(run, console)
        return
    source = benchmark(settings)
    lineup = entries(settings)
    games = {entry.title: [run.game(entry.slug, seed) for seed in settings.all_seeds] for entry in lineup}
    rows = [row_of(entry, settings, [game.result for game in games[entry.title] if game.result]) for entry in lineup]
    ceiling = rows[0].profiles[0].ceiling
    constants = majority_shares(source, settings.all_seeds)
    table = rows + reference_rows(rows[0].profiles[0], constants)
    title = f"{source.title}, {settings.seeds} seed{'s' if settings.seeds > 1 else ''}, accuracies in %"

    write_json(run.path / "results.json", {row.title: list(row.results) for row in rows})
    write_atomically(run.path / "table.md", f"{title}\n\n{markdown_table(table)}")
    draw_curves(run.path / "curves.png", source.title, games, ceiling)
    draw_profile(run.path / "profile.png", f"{source.title}: invariance profile", rows, list(source.flips.values()))

    console.print(transposed_table(table, title))
    for remark in remarks(rows, fmean(train for train, _ in constants)):
        console.print(remark, style="yellow")
    for name in ("curves.png", "profile.png"):
        console.print(f"{run.path / name}", soft_wrap=True)
    console.print(f"run folder: {run.path.resolve()}", soft_wrap=True, style="bold")

"""What a run on real data leaves behind for people: figures by client, curves, and what the clients' data say."""

from __future__ import annotations

from rich.console import Console

from flgames.files import write_atomically, write_json
from flgames.report.clients import ClientRow, csv_page, markdown_page, rows_of, terminal_tables
from flgames.report.plots import draw_curves, draw_unseen
from flgames.report.sentences import NOBODY_HELD_OUT, Sentence, of_real, say
from flgames.runs.entry import Entry
from flgames.runs.folder import GameFolder, RunFolder
from flgames.runs.match import Match
from flgames.runs.result import Result

Games = list[tuple[Entry, list[Result], list[GameFolder]]]
"""Every entry with the results and the folders of its seeds."""

Methods = dict[str, list[ClientRow]]


def summarise_real(run: RunFolder, console: Console) -> None:
    """Write the results of a run whose games have all ended, and show them."""
    results: dict[str, object] = {}
    pages: list[str] = []
    together: dict[str, list[ClientRow]] = {}
    several = run.settings.holds_out_each
    for match, games in _by_source(run):
        stem = f"-{match.holdout}" if several else ""
        methods: Methods = {entry.title: rows_of(its) for entry, its, _ in games}
        title = f"{match.title}, {_seeds(run)}: accuracy in %"
        for table in terminal_tables(title, methods):
            console.print(table)
        pages.append(markdown_page(title, methods))
        write_atomically(run.path / f"clients{stem}.csv", csv_page(methods))
        say(of_real(match, [(entry, its) for entry, its, _ in games]), console)
        draw_curves(
            run.path / f"curves{stem}.png",
            f"{match.title}, {_seeds(run)}",
            {entry.title: folders for entry, _, folders in games},
        )
        drawn = [f"curves{stem}.png"]
        if any(row.is_unseen for rows in methods.values() for row in rows):
            draw_unseen(run.path / f"unseen{stem}.png", f"{match.title}: unseen clients", methods)
            drawn.append(f"unseen{stem}.png")
        for name in drawn:
            console.print(f"{run.path / name}", soft_wrap=True)
        results[match.holdout or "none"] = {entry.title: [each.saved() for each in its] for entry, its, _ in games}
        for method, rows in methods.items():
            together.setdefault(method, []).extend(row for row in rows if row.is_unseen)
    if several:
        title = f"Every client held out in turn, {_seeds(run)}: accuracy there in %"
        for table in terminal_tables(title, together):
            console.print(table)
        pages.append(markdown_page(title, together))
    if run.settings.data is not None and not run.settings.holdout:
        say([Sentence(NOBODY_HELD_OUT, "warning")], console)
    write_json(run.path / "results.json", results if several else next(iter(results.values())))
    write_atomically(run.path / "table.md", "\n".join(pages))
    console.print(f"run folder: {run.path.resolve()}", soft_wrap=True, style="bold")


def _by_source(run: RunFolder) -> list[tuple[Match, Games]]:
    """Every source of a run, by its first match, with its entries and their games."""
    matches: dict[str | None, Match] = {}
    games: dict[str | None, dict[str, tuple[Entry, list[Result], list[GameFolder]]]] = {}
    for match, folder in run.games():
        matches.setdefault(match.holdout, match)
        its = games.setdefault(match.holdout, {}).setdefault(match.entry.slug, (match.entry, [], []))
        its[1].append(folder.result())
        its[2].append(folder)
    return [(matches[name], list(games[name].values())) for name in matches]


def _seeds(run: RunFolder) -> str:
    return f"{run.settings.seeds} seed{'s' if run.settings.seeds > 1 else ''}"

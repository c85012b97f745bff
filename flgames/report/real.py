"""What a run on real data leaves behind for people: figures by client, curves, and what the clients' data say."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from rich.console import Console

from flgames.data.benchmarks.registry import benchmark
from flgames.data.benchmarks.sites import Sites
from flgames.data.own.source import OwnData, OwnOptions
from flgames.files import write_atomically, write_json
from flgames.report.clients import ClientRow, csv_page, majority_of, markdown_page, rows_of, terminal_tables
from flgames.report.plots import draw_curves, draw_unseen
from flgames.runs.entry import Entry
from flgames.runs.evidence import balanced, beside, chose, doubts, few_left, found, too_simple, weighs
from flgames.runs.folder import GameFolder, RunFolder
from flgames.runs.match import Match
from flgames.runs.names import PERCEPTRONS
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
        _say(match, games, console)
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
        note = "No client was held out, so nobody knows how it does on an unseen one: --holdout CLIENT, or each."
        console.print(note, style="yellow", soft_wrap=True)
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


def _say(match: Match, games: Games, console: Console) -> None:
    """What the training clients' data say, and when to doubt it."""
    held_back = bool(games[0][1][0].held_back)
    where = "on samples that were held back" if held_back else "on the very samples that they trained on"
    console.print(f"Training clients' figures are {where}.", soft_wrap=True)
    if held_back and (few := [name for name in match.players if name not in games[-1][1][0].held_back]):
        console.print(f"{', '.join(few)} had too few samples to hold any back, and has no figures.", soft_wrap=True)
    for remark in weighs(games[-1][0], _classes_of(match)):
        console.print(remark, soft_wrap=True)
    constant = _constant(games[-1][1])
    for entry, results, _ in games:
        for result in results:
            for remark in chose(entry, result):
                console.print(remark, soft_wrap=True)
            say_findings(result, console, columns_of(match))
            for doubt in doubts(entry, result, constant):
                console.print(doubt, style="yellow", soft_wrap=True)
    entry, results, _ = games[-1]
    if not held_back:
        return
    by_slug = {each.slug: its for each, its, _ in games}
    if PERCEPTRONS in by_slug:
        for linear, perceptrons in zip(games[0][1], by_slug[PERCEPTRONS], strict=True):
            for doubt in too_simple(linear, perceptrons):
                console.print(doubt, style="yellow", soft_wrap=True)
    for other, its_results, _ in games[:-1][:1]:
        for result, its_result in zip(results, its_results, strict=True):
            said, is_warning = beside((entry, result), (other, its_result), constant)
            console.print(said, style="yellow" if is_warning else None, soft_wrap=True)


def say_findings(result: Result, console: Console, columns: Sequence[str] = ()) -> None:
    """What clients or players disagree about, and what was made of it."""
    if result.finding:
        console.print(found(result.finding, columns), soft_wrap=True, style="cyan")
        for remark in few_left(result.finding):
            console.print(remark, soft_wrap=True, style="yellow")
    if result.balanced:
        said, is_warning = balanced(result.balanced)
        console.print(said, soft_wrap=True, style="yellow" if is_warning else "cyan")


def _constant(results: Sequence[Result]) -> float:
    """The accuracy of the most frequent answer at the training clients."""
    shares = []
    for result in results:
        label = majority_of(result)
        confusions = [each.confusion for each in result.held_back.values()] or list(result.confusion_of.values())
        shares.append(sum(sum(each[label]) for each in confusions) / sum(sum(map(sum, each)) for each in confusions))
    return fmean(shares)


def _classes_of(match: Match) -> Sequence[str]:
    if isinstance(match.options, OwnOptions):
        return match.options.layout.classes
    source = benchmark(match.options)
    return source.class_names if isinstance(source, Sites) else ()


def columns_of(match: Match) -> Sequence[str]:
    """The names of what a model sees of a table."""
    if isinstance(match.options, OwnOptions):
        return OwnData(match.options).options.layout.features
    source = benchmark(match.options)
    return source.data(match.seed).layout.features if isinstance(source, Sites) else ()

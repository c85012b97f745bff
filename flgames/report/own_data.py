"""What a run on own data leaves behind for people: a table of clients, curves, and why the rule chose what it did."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from rich.console import Console
from rich.table import Table
from rich.text import Text

from flgames.data.own.source import OwnData, OwnOptions
from flgames.evaluation.confusion import Rates
from flgames.files import write_atomically, write_json
from flgames.report.plots import draw_curves
from flgames.report.rows import mean_and_sd
from flgames.runs.entry import Entry
from flgames.runs.folder import GameFolder, RunFolder
from flgames.runs.plan import EACH
from flgames.runs.result import Result

RATES = ("accuracy", "balanced accuracy", "sensitivity", "specificity")

NAMES = ("", "client", "held out")
"""Columns of names; the others have numbers."""

LITTLE = 0.02
"""A model that is not this much better than the most frequent class has learnt little."""


def summarise_own(run: RunFolder, console: Console) -> None:
    """Write the results of a run whose games have all ended, and show them."""
    held_out = _by_holdout(run)
    results: dict[str, object] = {}
    pages = []
    for options, games in held_out:
        title = _title(run, options)
        rows = [row for entry, folders in games for row in _rows(entry, _results(folders), options)]
        name = f"curves-{options.holdout}.png" if run.settings.holdout == EACH else "curves.png"
        draw_curves(run.path / name, title, {entry.title: folders for entry, folders in games})
        console.print(_by_method(title, rows))
        pages.append(_page(title, ("", "client", *RATES), rows))
        for remark in _choices(games):
            console.print(remark, soft_wrap=True)
        for remark in _warnings(games, options):
            console.print(remark, style="yellow", soft_wrap=True)
        console.print(f"{run.path / name}", soft_wrap=True)
        results[options.holdout or "none"] = {
            entry.title: [result.saved() for result in _results(folders)] for entry, folders in games
        }
    if run.settings.holdout == EACH:
        columns, rows = _each_in_turn(held_out)
        title = "Every client held out in turn: accuracy there, in %"
        console.print(_table(title, columns, rows))
        pages.append(_page(title, columns, rows))
    if run.settings.holdout is None:
        note = "No client was held out, so nobody knows how it does on an unseen one: --holdout CLIENT, or each."
        console.print(note, style="yellow", soft_wrap=True)
    write_json(run.path / "results.json", results if run.settings.holdout == EACH else next(iter(results.values())))
    write_atomically(run.path / "table.md", "\n".join(pages))
    console.print(f"run folder: {run.path.resolve()}", soft_wrap=True, style="bold")


Games = list[tuple[Entry, list[GameFolder]]]


def _by_holdout(run: RunFolder) -> list[tuple[OwnOptions, Games]]:
    """Every source of a run, with its entries and their games."""
    found: dict[str | None, tuple[OwnOptions, dict[str, tuple[Entry, list[GameFolder]]]]] = {}
    for match, folder in run.games():
        assert isinstance(match.options, OwnOptions)
        _, games = found.setdefault(match.holdout, (match.options, {}))
        games.setdefault(match.entry.slug, (match.entry, []))[1].append(folder)
    return [(options, list(games.values())) for options, games in found.values()]


def _results(folders: Sequence[GameFolder]) -> list[Result]:
    return [folder.result() for folder in folders]


def _title(run: RunFolder, options: OwnOptions) -> str:
    seeds = f"{run.settings.seeds} seed{'s' if run.settings.seeds > 1 else ''}"
    return f"{OwnData(options).title}, {seeds}, in %"


def _rows(entry: Entry, results: Sequence[Result], options: OwnOptions) -> Iterator[tuple[str, ...]]:
    """A row a client: those that train, then the one that is held out."""
    first = entry.title
    for client in results[0].confusion_of:
        yield first, client, *_cells([result.confusion_of[client] for result in results])
        first = ""
    if unseen := [result.held_out.confusion for result in results if result.held_out]:
        yield first, f"{options.holdout} (unseen)", *_cells(unseen)


def _cells(confusions: Sequence[Sequence[Sequence[int]]]) -> list[str]:
    rates = [Rates.of(torch.tensor(confusion)).as_dict() for confusion in confusions]
    columns = ([100 * each[name.replace(" ", "_")] for each in rates] for name in RATES)
    return ["-" if any(map(math.isnan, values)) else mean_and_sd(values, ".1f") for values in columns]


def _choices(games: Games) -> Iterator[str]:
    """Which round's model each rule chose, and why."""
    for entry, folders in games:
        for result in _results(folders):
            if entry.rule is None or not entry.rule.chooses_round:
                continue
            accuracies = result.train_of.values()
            apart = 100 * (max(accuracies) - min(accuracies))
            why = (result.stopped_by or entry.rule.reason) if result.end == "rule" else "--rounds ended the game"
            yield (
                f"{entry.title}: chose the model of round {result.chosen_round + 1} of {result.rounds} ({why}): "
                f"training accuracy {100 * result.train:.1f} %, clients {apart:.1f} points apart. Its rule "
                f"{entry.rule}."
            )


def _warnings(games: Games, options: OwnOptions) -> Iterator[str]:
    for entry, folders in games:
        for result in _results(folders):
            if entry.rule is not None and result.end != "rule":
                yield (
                    f"{entry.title}: --rounds ended the game before its rule did; a later round may be better. "
                    "Try more --rounds."
                )
            counts = torch.tensor(list(result.confusion_of.values())).sum(0)
            constant = float(counts.sum(1).max() / counts.sum())
            if result.train < constant + LITTLE:
                yield (
                    f"{entry.title}: the most frequent class alone gives {constant:.0%} at the training clients, and "
                    f"this model {result.train:.0%}: it has learnt little that holds for all of them."
                )


def _each_in_turn(held_out: Sequence[tuple[OwnOptions, Games]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    titles = [entry.title for entry, _ in held_out[0][1]]
    rows: list[tuple[str, ...]] = []
    means: dict[str, list[float]] = {title: [] for title in titles}
    for options, games in held_out:
        cells = []
        for entry, folders in games:
            values = [100 * result.held_out.unseen for result in _results(folders) if result.held_out]
            means[entry.title] += [sum(values) / len(values)]
            cells.append(mean_and_sd(values, ".1f"))
        rows.append((str(options.holdout), *cells))
    rows.append(("mean", *(f"{sum(values) / len(values):.1f}" for values in means.values())))
    return ("held out", *titles), rows


def _by_method(title: str, rows: Sequence[Sequence[str]]) -> Table:
    """For a terminal of 80 characters: a method's name is a line of its own."""
    table = Table(title=title, title_justify="left")
    table.add_column("client", overflow="fold")
    for column in RATES:
        short = column.removesuffix(" accuracy")
        table.add_column(short, justify="right", no_wrap=True, min_width=len(short))
    for method, client, *cells in rows:
        if method:
            table.add_row(Text(method, style="bold"))
        table.add_row(f"  {client}", *cells)
    return table


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="left" if column in NAMES else "right")
    for row in rows:
        table.add_row(*row)
    return table


def _page(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return f"{title}\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)

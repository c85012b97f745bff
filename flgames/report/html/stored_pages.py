"""Pages of comparisons and reproductions: made of matches that are kept in a folder of results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from flgames.data.benchmarks.benchmark import Benchmark
from flgames.report.clients import rows_of
from flgames.report.draws import DrawsRow, DrawsTable
from flgames.report.held_out import HeldOutTable
from flgames.report.html import charts
from flgames.report.html.cells import NOTHING, difference, ends, inside, number
from flgames.report.html.measures import HINTS, clients_table, planted_table, profile_chart, unseen_chart
from flgames.report.html.page import Block, Cell, Chart, Command, Page, Section, Table
from flgames.report.html.render import write
from flgames.report.lines import AFTER, BEFORE, Line
from flgames.report.rows import Row
from flgames.runs.result import Result

REFERENCES = ("constant", "optimal")

FOOTER = "Made by flgames from matches that have been played. This file needs no network and sends nothing."


def planted_page(
    path: Path, title: str, table: Sequence[Row], source: Benchmark, notes: Sequence[str], command: str
) -> Path:
    """Of a comparison on a benchmark whose shortcut is known."""
    played = [row for row in table if not row.is_reference]
    best = max(played, key=lambda row: fmean(row.values("mean")))
    flattest = min(played, key=lambda row: fmean(row.values("flip_rate")))
    headline = (
        f"Of {len(played)} methods {best.title} has the best mean of agree and conflict, {fmean(best.values('mean')):.1f}%; "
        f"predictions of {flattest.title} depend least on the shortcut: {fmean(flattest.values('flip_rate')):.1f}% flip with it."
    )
    caption = "Accuracies in %, 95% intervals over seeds" if len(played[0].results) > 1 else "Accuracies in %, one seed"
    profile = Section(
        "Invariance profile",
        [profile_chart(played, source)],
        "A model that uses the shortcut falls from left to right. A flat line does not depend on it.",
    )
    page = Page(
        f"Comparison on {source.title}",
        title,
        headline,
        [("Methods", str(len(played))), ("Seeds", str(len(played[0].results))), ("Clients", str(len(source.flips)))],
        notes,
        [planted_table(caption, table)],
        [profile, _cost(played), _again(command)],
        FOOTER,
    )
    return write(path, page)


def _cost(rows: Sequence[Row]) -> Section:
    lines = []
    for row in rows:
        cells = [
            _mean(row.values(name), form)
            for name, form in (
                ("rounds", ",.0f"),
                ("megabytes_down", ",.1f"),
                ("megabytes_up", ",.1f"),
                ("seconds", ",.1f"),
            )
        ]
        lines.append([Cell(row.title), *cells, Cell(row.ends)])
    columns = ("method", "rounds", "MB down", "MB up", "seconds", "stopped by")
    return Section("Bytes and seconds", [Table("What it took, mean over seeds", columns, lines)])


def _mean(values: Sequence[float], form: str) -> Cell:
    return number(fmean(values), form) if values else NOTHING


def _again(command: str) -> Section:
    says = "Matches that have been played are not played again: the command makes tables and this page from them."
    return Section("Have it again", [Command(command)], says)


def draws_page(
    path: Path,
    title: str,
    about: str,
    tables: Mapping[str, DrawsTable],
    results: Mapping[str, Sequence[Result]],
    command: str,
) -> Path:
    """Of real sites: every method on the same draws, and what each reaches at every unseen site."""
    main = list(tables.values())[-1]
    sections: list[Section] = []
    methods = {name: [row for row in rows_of(its) if row.is_unseen] for name, its in results.items()}
    several = any(len(its) > 1 for its in results.values())
    if chart := unseen_chart("Accuracy at unseen sites" + (", mean over draws" if several else ""), methods):
        rows = sum(map(len, methods.values()))
        folded = "Every site in figures" if rows > 14 else ""
        sections.append(
            Section(
                "Unseen sites", [chart, clients_table("Accuracies in %, with Wilson's 95% intervals", methods, folded)]
            )
        )
    others = [table for table in tables.values() if table is not main]
    if others:
        sections.append(Section("Groups of draws", [block for table in others for block in _draws(table)]))
    page = Page(
        title,
        about,
        _draws_headline(main),
        [("Methods", str(len(main.rows) - 1)), ("Draws of training sites", str(main.draws))],
        answer=_draws(main),
        sections=[*sections, _again(command)],
        footer=FOOTER,
    )
    return write(path, page)


def _draws_headline(table: DrawsTable) -> str:
    rivals = [row for row in table.rows if row.slug not in REFERENCES]
    best = max(rivals, key=lambda row: row.mean("mean"))
    said = f"Over unseen sites {best.title} is best: {best.mean('mean'):.1f}% on average, {best.mean('tenth'):.1f}% at the 10th percentile."
    against = table.against
    if against is None or against is best:
        return said
    found = best.minus(against, "mean")
    half = (
        ""
        if math.isnan(found.half)
        else f" (95% interval {found.mean - found.half:+.1f} to {found.mean + found.half:+.1f})"
    )
    return f"{said} That is {found.mean:+.1f} points to FedAvg{half}, over {table.draws} draw{'s' if table.draws > 1 else ''} of training sites. Of {len(rivals)} methods one may be ahead by chance."


def _draws(table: DrawsTable) -> list[Block]:
    columns = (
        "method",
        "unseen, mean",
        "10th",
        "worst",
        "AUC",
        "held back",
        "mean − FedAvg",
        "wins",
        "10th − FedAvg",
    )
    lines = []
    for row in table.rows:
        plain = [
            _share(row, "mean"),
            number(row.mean("tenth")),
            number(row.mean("worst")),
            number(row.mean("auc"), ".3f"),
            number(row.mean("held_back")),
        ]
        lines.append([Cell(row.title), *plain, *_beside(row, table.against)])
    quiet = frozenset(place for place, row in enumerate(table.rows) if row.slug in (*REFERENCES, "core-only"))
    hints = HINTS | {
        "mean − FedAvg": "Paired difference over draws, in points, with its 95% interval",
        "wins": "Draws in which it is higher : lower than FedAvg",
    }
    blocks: list[Block] = [Table(f"{table.title}: accuracies in %", columns, lines, quiet, hints)]
    if chart := _differences(
        [row for row in table.rows if row.slug not in REFERENCES], table.against, ("mean", "tenth")
    ):
        blocks.append(chart)
    return blocks


def _share(row: DrawsRow, measure: str) -> Cell:
    found = inside(row.values[measure]) if not any(map(math.isnan, row.values[measure])) else None
    more = "" if found is None else f"{found[0]:.1f} to {found[1]:.1f}"
    return Cell(f"{row.mean(measure):.1f}", row.mean(measure), more)


def _beside(row: DrawsRow, against: DrawsRow | None) -> list[Cell]:
    if against is None or against.slug == row.slug:
        return [NOTHING] * 3
    ahead = row.minus(against, "mean")
    tenth = NOTHING if row.in_turn else difference(row.minus(against, "tenth"))
    return [difference(ahead), Cell(f"{ahead.wins}:{ahead.losses}", ahead.wins - ahead.losses), tenth]


def _differences(rows: Sequence[DrawsRow], against: DrawsRow | None, measures: Sequence[str]) -> Chart | None:
    """How far every method is above FedAvg, with intervals."""
    rivals = [row for row in rows if against is not None and row.slug != against.slug]
    if against is None or not rivals:
        return None
    named = {"mean": "mean over unseen sites", "tenth": "10th percentile"}
    values: charts.Rows = []
    for row in rivals:
        for measure in measures:
            if measure == "tenth" and row.in_turn:
                continue
            found = row.minus(against, measure)
            if math.isnan(found.mean):
                continue
            half = None if math.isnan(found.half) else found.half
            low, high = (None, None) if half is None else (round(found.mean - half, 2), round(found.mean + half, 2))
            text = "one draw: not known" if low is None else f"{low:+.1f} to {high:+.1f}"
            values.append(
                {
                    "series": named[measure],
                    "of": row.title,
                    "value": round(found.mean, 2),
                    "low": low,
                    "high": high,
                    "range": text,
                }
            )
    label = "Paired differences to FedAvg: " + ", ".join(
        f"{each['of']} {each['value']:+.1f}" for each in values if each["series"] == named["mean"]
    )
    series = charts.colours(dict.fromkeys(str(each["series"]) for each in values))
    return charts.dots(
        "Points above FedAvg, with 95% intervals",
        f"{label}. The table has the same figures.",
        values,
        series,
        [row.title for row in rivals],
        "points above FedAvg",
        zero=True,
        what="measure",
    )


def held_out_page(
    path: Path, table: HeldOutTable, results: Mapping[str, Sequence[Result]], verdict: str | None, command: str
) -> Path:
    """Of own data: every method, with each client held out in turn."""
    columns = ["method", *table.clients, "mean", "worst", "mean − FedAvg", "wins"]
    lines = []
    for row in table.rows:
        at = [
            Cell(f"{value:.1f}", value, ends(row.intervals[place]) if row.intervals else "")
            for place, value in enumerate(row.accuracies)
        ]
        draws = row.draws
        lines.append(
            [
                Cell(draws.title),
                *at,
                number(draws.mean("mean")),
                number(draws.mean("worst")),
                *_beside(draws, table.against)[:2],
            ]
        )
    quiet = frozenset(place for place, row in enumerate(table.rows) if row.draws.slug in REFERENCES)
    answer: list[Block] = [
        Table("Accuracies in %, where a client was held out, with Wilson's 95% intervals", columns, lines, quiet)
    ]
    if chart := _differences(table.rivals, table.against, ("mean",)):
        answer.append(chart)
    methods = {name: [row for row in rows_of(its) if row.is_unseen] for name, its in results.items()}
    sections = []
    if found := unseen_chart("Accuracy at every client, held out", methods):
        sections.append(
            Section("Clients", [found, clients_table("Accuracies in %", methods, "Every client in figures")])
        )
    best = max((row.draws for row in table.rows if row.draws.slug not in REFERENCES), key=lambda row: row.mean("mean"))
    headline = f"{best.title} is best on average where a client was held out: {best.mean('mean'):.1f}%. {verdict or ''}".strip()
    facts = [("Methods", str(len(table.rows) - 1)), ("Clients", str(len(table.clients))), ("Seeds", str(table.seeds))]
    page = Page(
        "Comparison on your own data", table.title, headline, facts, (), answer, [*sections, _again(command)], FOOTER
    )
    return write(path, page)


def reproduction_page(
    path: Path,
    title: str,
    asks: str,
    made: str,
    sections: Mapping[str, Sequence[Line]],
    notes: Sequence[str],
    command: str,
) -> Path:
    """Of a table of the paper: ours beside what it prints."""
    parts = [Section(name, _lines(lines)) for name, lines in sections.items()]
    played = [line for lines in sections.values() for line in lines if line.played]
    marked = [line.mark for line in played if line.mark]
    near = marked.count("within 2 sd")
    printed = sum(line.case.paper is not None for line in played)
    headline = f"{asks[0].upper()}{asks[1:]} {len(played)} lines have been played" + (
        f"; {near} of the {printed} that the paper prints are within two of its standard deviations."
        if printed
        else "."
    )
    facts = [
        ("Benchmarks", str(len(sections))),
        ("Lines", str(len(played))),
        ("Matches", str(sum(len(line.played) for line in played))),
    ]
    page = Page(title, made, headline, facts, notes, (), [*parts, _again(command)], FOOTER)
    return write(path, page)


def _lines(lines: Sequence[Line]) -> list[Block]:
    cells = [line.cells() for line in lines]
    labels = list(lines[0].case.labels)
    columns = [*labels, *(column for column in (*BEFORE, *AFTER) if any(each.get(column) for each in cells))]
    rows = [[_parsed(each.get(column, ""), column in labels) for column in columns] for each in cells]
    blocks: list[Block] = []
    played = [line for line in lines if line.played]
    values: charts.Rows = []
    for line in played:
        found = inside(line.row.values("unseen"))
        low, high = (None, None) if found is None else (round(found[0], 2), round(found[1], 2))
        text = "one seed: not known" if low is None else f"{low:.1f} to {high:.1f}"
        values.append(
            {
                "series": "ours",
                "of": line.label,
                "value": round(fmean(line.row.values("unseen")), 2),
                "low": low,
                "high": high,
                "range": text,
            }
        )
        if paper := line.case.paper:
            off = 2 * paper.deviation
            values.append(
                {
                    "series": "the paper",
                    "of": line.label,
                    "value": paper.mean,
                    "low": paper.mean - off,
                    "high": paper.mean + off,
                    "range": f"± 2 sd, {2 * paper.deviation:.1f}",
                }
            )
    if values:
        series = charts.colours(dict.fromkeys(str(each["series"]) for each in values))
        label = "Accuracy at the unseen client, ours beside the paper's; the table has the same figures."
        blocks.append(
            charts.dots(
                "Accuracy at the unseen client, with intervals",
                label,
                values,
                series,
                [line.label for line in played],
                "accuracy, %",
                what="source",
            )
        )
    blocks.append(Table("Accuracies in %, mean ± standard deviation over seeds", columns, rows, hints=HINTS))
    return blocks


def _parsed(text: str, is_label: bool) -> Cell:
    """A cell that sorts by its first number."""
    first = text.removeprefix("≥ ").split(" ")[0]
    try:
        value = None if is_label else float(first)
    except ValueError:
        value = None
    if value is None:
        return Cell(text)
    head, _, rest = text.partition(" ±")
    return Cell(head, value, f"±{rest}" if rest else "")

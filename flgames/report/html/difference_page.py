"""Two finished runs beside each other: what differs in their settings, and in what they reach, pair by pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Table as Terminal

from flgames.errors import UserError
from flgames.report.difference import Difference
from flgames.report.html.cells import difference, number
from flgames.report.html.gather import names_of
from flgames.report.html.page import Block, Cell, Notes, Table
from flgames.report.html.render import REPORT, write
from flgames.report.html.run_page import run_page
from flgames.report.html.settings import differing
from flgames.runs.folder import RunFolder
from flgames.runs.match import Match
from flgames.runs.result import Result

Pairs = dict[str, list[tuple[float, float]]]
"""By measure: what the first and the second run reach, in %, pair by pair."""

ONE_PAIR = "There is one pair, so nobody knows how far chance goes: play more `seeds`."


@dataclass(frozen=True)
class Paired:
    """A method of the first run beside one of the second."""

    title: str
    pairs: Pairs
    what: str
    """What a pair is."""

    def differences(self) -> dict[str, Difference]:
        """The second minus the first, in points."""
        return {name: Difference([other - one for one, other in its]) for name, its in self.pairs.items()}


def compare_runs(first: RunFolder, second: RunFolder, out: Path | None, console: Console) -> None:
    """Print and write how two finished runs differ."""
    for run in (first, second):
        if not run.has_ended:
            raise UserError(f"{run.path} has not ended: flgames play --resume {run.path} goes on with it.")
    settings = differing([first, second])
    found = paired(first, second)
    names = names_of([first.path, second.path])
    one, other = names[first.path], names[second.path]
    table = _table(found, one, other)
    console.print(_terminal(settings))
    blocks: list[Block] = [settings]
    if found:
        console.print(_terminal(table))
        blocks.append(table)
    notes = (
        [_no_pairs()]
        if not found
        else [ONE_PAIR]
        if any(len(its) < 2 for each in found for its in each.pairs.values())
        else []
    )
    for note in notes:
        console.print(note.replace("`seeds`", "--seeds"), style="yellow", soft_wrap=True)
    if notes:
        blocks.append(Notes([note.replace("`seeds`", "--seeds") for note in notes], "warning"))
    path = write(out or Path(REPORT), run_page([first, second], blocks))
    console.print(str(path), soft_wrap=True, style="bold")


def paired(first: RunFolder, second: RunFolder) -> list[Paired]:
    """The games of both runs, then every other method that both have; pairs have the same seed and the same clients."""
    ours, theirs = _by_method(first), _by_method(second)
    games = (list(ours)[-1], list(theirs)[-1])
    both = [games, *((slug, slug) for slug in ours if slug in theirs and (slug, slug) != games and slug not in games)]
    found = []
    for one, other in both:
        titles = dict.fromkeys((ours[one][0], theirs[other][0]))
        pairs, what = _pairs(ours[one][1], theirs[other][1])
        if pairs:
            found.append(Paired(" → ".join(titles), pairs, what))
    return found


Entries = dict[str, tuple[str, dict[tuple[int, str], Result]]]
"""By method: its title, and its results by seed and case."""


def _by_method(run: RunFolder) -> Entries:
    methods: Entries = {}
    for match, folder in run.games():
        its = methods.setdefault(match.entry.slug, (match.entry.title, {}))
        its[1][match.seed, _case(match)] = folder.result()
    return methods


def _case(match: Match) -> str:
    """Which clients were unseen; those of a planted benchmark follow from its options."""
    return match.holdout or str(match.options.decides())


def _pairs(ours: Mapping[tuple[int, str], Result], theirs: Mapping[tuple[int, str], Result]) -> tuple[Pairs, str]:
    planted: Pairs = {}
    by_client: dict[str, list[tuple[float, float]]] = {}
    for key, result in ours.items():
        other = theirs.get(key) or next(
            (its for (seed, _), its in theirs.items() if seed == key[0] and _same_clients(result, its)), None
        )
        if other is None:
            continue
        if result.profile and other.profile:
            for name, of in (
                ("unseen client", "unseen"),
                ("mean of agree and conflict", "mean"),
                ("conflict", "conflict"),
                ("flip rate", "flip_rate"),
            ):
                planted.setdefault(name, []).append(
                    (100 * getattr(result.profile, of), 100 * getattr(other.profile, of))
                )
        for client, figures in result.unseen_clients.items():
            its = other.unseen_clients.get(client)
            if its is not None and its.n == figures.n:
                by_client.setdefault(client, []).append((100 * figures.accuracy, 100 * its.accuracy))
    if planted:
        return planted, "a seed"
    if len(by_client) == 1:
        return {"accuracy at the unseen client": next(iter(by_client.values()))}, "a seed"
    means = [(fmean(one for one, _ in its), fmean(other for _, other in its)) for its in by_client.values()]
    return ({"accuracy at unseen clients": means} if means else {}), "a client, mean over seeds"


def _same_clients(one: Result, other: Result) -> bool:
    def sizes(result: Result) -> dict[str, int]:
        return {name: figures.n for name, figures in result.unseen_clients.items()}

    return bool(one.unseen_clients) and sizes(one) == sizes(other)


def _table(found: Sequence[Paired], one: str, other: str) -> Table:
    rows = []
    for each in found:
        differences = each.differences()
        for name, pairs in each.pairs.items():
            cell = difference(differences[name])
            if name == "flip rate":  # less is better
                cell = Cell(cell.text, cell.value, cell.more, None if cell.is_good is None else not cell.is_good)
            rows.append(
                [
                    Cell(each.title),
                    Cell(name),
                    number(fmean(its for its, _ in pairs)),
                    number(fmean(its for _, its in pairs)),
                    cell,
                    Cell(f"{len(pairs)}", len(pairs)),
                    Cell(each.what),
                ]
            )
    columns = ("method", "measure", one, other, "difference", "pairs", "a pair is")
    return Table(
        f"In %: {other} minus {one}, with the 95% interval of the paired difference (Student's t)", columns, rows
    )


def _no_pairs() -> str:
    return "The runs have no seed and unseen client in common, so there are no pairs to compare."


def _terminal(table: Table) -> Terminal:
    made = Terminal(title=table.caption, title_justify="left", padding=(0, 0), collapse_padding=True)
    for column, is_number in zip(table.columns, table.numeric, strict=True):
        made.add_column(column, justify="right" if is_number else "left", overflow="fold")
    for row in table.rows:
        made.add_row(*(f"{cell.text} {cell.more}".strip() for cell in row))
    return made

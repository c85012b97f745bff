"""What is said beside a run's figures, in the terminal and on its page: notes, findings, warnings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import Literal, NamedTuple

from rich.console import Console

from flgames.data.benchmarks.registry import benchmark
from flgames.data.benchmarks.sites import Sites
from flgames.data.own.source import OwnData, OwnOptions
from flgames.report.clients import majority_of
from flgames.report.remarks import remarks
from flgames.report.rows import Row
from flgames.runs.entry import Entry
from flgames.runs.evidence import balanced, beside, chose, doubts, few_left, found, too_simple, weighs
from flgames.runs.match import Match
from flgames.runs.names import PERCEPTRONS
from flgames.runs.result import Result

Level = Literal["plain", "finding", "warning"]

STYLES: dict[Level, str | None] = {"plain": None, "finding": "cyan", "warning": "yellow"}

NOBODY_HELD_OUT = "No client was held out, so nobody knows how it does on an unseen one: --holdout CLIENT, or each."


class Sentence(NamedTuple):
    """A sentence, and how much it matters."""

    text: str
    level: Level = "plain"


def say(sentences: Iterable[Sentence], console: Console) -> None:
    """In a terminal."""
    for text, level in sentences:
        console.print(text, style=STYLES[level], soft_wrap=True)


def of_result(result: Result, columns: Sequence[str] = ()) -> Iterator[Sentence]:
    """What clients or players disagree about, and what was made of it."""
    if result.finding:
        yield Sentence(found(result.finding, columns), "finding")
        for remark in few_left(result.finding):
            yield Sentence(remark, "warning")
    if result.balanced:
        said, is_warning = balanced(result.balanced)
        yield Sentence(said, "warning" if is_warning else "finding")


def of_planted(entries: Sequence[Entry], rows: Sequence[Row], constant: float, seeds: int) -> Iterator[Sentence]:
    """Of a benchmark whose shortcut is known."""
    for entry, row in zip(entries, rows, strict=True):
        for result in row.played:
            yield from map(Sentence, chose(entry, result) if seeds == 1 else ())
            yield from of_result(result)
    for remark in remarks(rows, constant):
        yield Sentence(remark, "warning")


def of_real(match: Match, games: Sequence[tuple[Entry, Sequence[Result]]]) -> Iterator[Sentence]:
    """What the training clients' data say, and when to doubt it."""
    held_back = bool(games[0][1][0].held_back)
    where = "on samples that were held back" if held_back else "on the very samples that they trained on"
    yield Sentence(f"Training clients' figures are {where}.")
    if held_back and (few := [name for name in match.players if name not in games[-1][1][0].held_back]):
        yield Sentence(f"{', '.join(few)} had too few samples to hold any back, and has no figures.")
    yield from map(Sentence, weighs(games[-1][0], _classes_of(match)))
    constant = constant_of(games[-1][1])
    for entry, results in games:
        for result in results:
            yield from map(Sentence, chose(entry, result))
            yield from of_result(result, columns_of(match))
            for doubt in doubts(entry, result, constant):
                yield Sentence(doubt, "warning")
    if held_back:
        yield from _compared(games, constant)


def _compared(games: Sequence[tuple[Entry, Sequence[Result]]], constant: float) -> Iterator[Sentence]:
    entry, results = games[-1]
    by_slug = {each.slug: its for each, its in games}
    if PERCEPTRONS in by_slug:
        for linear, perceptrons in zip(games[0][1], by_slug[PERCEPTRONS], strict=True):
            for doubt in too_simple(linear, perceptrons):
                yield Sentence(doubt, "warning")
    for other, its_results in games[:-1][:1]:
        for result, its_result in zip(results, its_results, strict=True):
            said, is_warning = beside((entry, result), (other, its_result), constant)
            yield Sentence(said, "warning" if is_warning else "plain")


def constant_of(results: Sequence[Result]) -> float:
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

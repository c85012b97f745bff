"""Experiments on real sites as people read them: a table a group of draws, and one over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console

from flgames.data.benchmarks.registry import benchmark
from flgames.files import write_atomically
from flgames.paper.case import Case
from flgames.paper.experiments import Experiment
from flgames.paper.real import GROUP
from flgames.paper.scope import Scope
from flgames.report.draws import LEGEND, DrawsTable, csv_of, draw
from flgames.report.draws import played as played_
from flgames.report.html.stored_pages import draws_page
from flgames.runs.match import Match
from flgames.runs.store import Store

Methods = Mapping[tuple[str, str], Sequence[Match]]


def show_real(experiment: Experiment, scope: Scope, store: Store, console: Console) -> None:
    """Write and print the groups of which every match has been played; there is no quick version."""
    if scope.quick:
        return
    groups = by_group(experiment.cases(Scope()))
    played = {name: methods for name, methods in groups.items() if _is_played(methods, store)}
    for name in groups:
        if name not in played:
            console.print(f"{experiment.name}, {name}: not played yet", style="yellow")
    if not played:
        return
    title = benchmark(experiment.cases(Scope())[0].options).title
    tables = {name: DrawsTable.of(_titled(name, methods), methods, store) for name, methods in played.items()}
    drawn = [name for name, methods in played.items() if len(next(iter(methods.values()))) > 1]
    if len(drawn) > 1:
        together = _joined([played[name] for name in drawn])
        tables["all draws"] = DrawsTable.of(_titled("all draws", together), together, store)
    stem = store.root / experiment.name
    files = [stem.with_suffix(ending) for ending in (".md", ".csv", ".png")]
    text = f"# {experiment.title}\n\n{title}. The question: {experiment.asks} Made by `flgames reproduce "
    text += f"{experiment.name}`.\n{LEGEND}"
    text += "".join(f"\n## {table.title}\n\n{table.markdown()}" for table in tables.values())
    write_atomically(files[0], text)
    write_atomically(files[1], csv_of([row for name, table in tables.items() for row in table.csv(group=name)]))
    draw(files[2], [tables[name] for name in ([*drawn, "all draws"] if len(drawn) > 1 else tables)])
    results = {key[1]: [played_(store, match) for match in its] for key, its in _joined(list(played.values())).items()}
    command = f"flgames reproduce {experiment.name}"
    files.append(draws_page(stem.with_suffix(".html"), experiment.title, title, tables, results, command))
    for table in tables.values():
        for each in table.terminal():
            console.print(each)
    for file in files:
        console.print(str(file), soft_wrap=True)


def by_group(cases: Sequence[Case]) -> dict[str, dict[tuple[str, str], list[Match]]]:
    """Every group's matches, by method."""
    groups: dict[str, dict[tuple[str, str], list[Match]]] = {}
    for case in cases:
        groups.setdefault(case.labels[GROUP], {})[case.entry.slug, case.entry.title] = case.matches()
    return groups


def _is_played(methods: Methods, store: Store) -> bool:
    return all(store.find(match) is not None for matches in methods.values() for match in matches)


def _titled(name: str, methods: Methods) -> str:
    number = len(next(iter(methods.values())))
    return f"{name}, {number} case{'s' if number > 1 else ''}"


def _joined(groups: Sequence[Methods]) -> Methods:
    return {method: [match for group in groups for match in group.get(method, ())] for method in groups[0]}

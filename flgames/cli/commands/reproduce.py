"""flgames reproduce."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flgames.cli.ui import options
from flgames.cli.ui.console import make_console
from flgames.cli.ui.errors import exit_codes
from flgames.errors import Diverged, UserError, unknown
from flgames.paper.experiments import EXPERIMENTS, Experiment, everything, experiment
from flgames.paper.scope import BENCHMARKS, Scope

if TYPE_CHECKING:
    import torch
    from rich.console import Console

    from flgames.paper.case import Case
    from flgames.runs.match import Match
    from flgames.runs.store import Store


@options.takes(*options.OF_THE_MACHINE)
def reproduce(
    name: Annotated[str | None, typer.Argument(help=f"One of: {', '.join(EXPERIMENTS)}; or all.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="Say what each needs, what has been played and how long the rest takes here.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A small version in minutes: one seed on the embedded digits, nothing to download. Files are called quick-NAME.")] = False,
    seeds: Annotated[int | None, typer.Option(min=1, help="Play so many seeds for every line. Default: 3 of the main table on both MNISTs, 2 or 1 of others. A table shows whatever has been played.")] = None,
    benchmarks: Annotated[str | None, typer.Option(help=f"Play only these, with commas between them, of: {', '.join(BENCHMARKS)}.")] = None,
    budget: Annotated[float | None, typer.Option(min=0, help="Play for so many hours at most: empty cells first, then those with the fewest seeds. No match is begun that would not end in time.")] = None,
    play: Annotated[bool, typer.Option("--play/--no-play", help="Play what is missing, or only write tables and figures of what there is.")] = True,
    offline: options.Offline = False,
    out: options.Results = Path("results"),
    **given: object,
) -> None:  # fmt: skip
    """Play a table or figure of the paper again, and set ours beside the paper's printed figures.

    What is most worth playing is played first: empty cells, then those with the fewest seeds, and of equals the quickest. Every finished match is a small file under OUT/runs, shared with flgames compare and never played twice: a reproduction that was stopped goes on by the same command. Tables are written as OUT/NAME.md and .csv, figures as OUT/NAME.png, from whatever has been played.

    For example: flgames reproduce table-accuracy --quick
    """
    from flgames.cli.ui.fetching import fetch
    from flgames.data.benchmarks.registry import benchmark as benchmark_of
    from flgames.evaluation.lime import captum
    from flgames.paper import case
    from flgames.runs.store import Store

    console = make_console()
    with exit_codes():
        scope = Scope(seeds, _benchmarks(benchmarks), quick)
        if quick and (seeds or benchmarks):
            raise UserError("`quick` is one seed on the embedded digits: leave `seeds` and `benchmarks` out.")
        if listed:
            _list(scope, Store(out), console)
            return
        if name is None:
            raise UserError("Which table or figure? flgames reproduce --list shows their names.")
        chosen = everything() if name == "all" else [experiment(name)]
        if quick and name != "all" and chosen[0].is_real:
            raise UserError(f"{name} is about real data, which must be fetched: it has no quick version.")
        if not _benchmarks_of(chosen, scope):
            about = ", ".join(_benchmarks_of(chosen, Scope()))
            raise UserError(f"{name} is about {about}: none of them is among `benchmarks`.")
        if any(each.explains for each in chosen) and play and budget is None:
            captum()  # refuses before anything is played
        on = options.machine(given)
        with options.results_folder(out):
            store = Store(out)
            for benchmark in _benchmarks_of(chosen, scope):
                fetch(benchmark_of(case.on(benchmark)), console, offline)
            try:
                if play:
                    _play(chosen, scope, store, on, console, budget)
            except (typer.Exit, Diverged):  # what has been played can be looked at
                _show(_unexplained(chosen), scope, store, console)
                raise
            # A budget is for matches: models that lie elsewhere are not played for it, and so not explained.
            _show(chosen if budget is None else _unexplained(chosen), scope, store, console)


def _benchmarks(text: str | None) -> tuple[str, ...]:
    chosen = options.names(text, BENCHMARKS)
    for each in chosen:
        if each not in BENCHMARKS:
            raise unknown("benchmark of the paper", each, BENCHMARKS)
    return chosen


def _matches(experiments: Sequence[Experiment], scope: Scope, store: Store) -> list[Match]:
    """In playing order."""
    from flgames.cli.ui.playing import expectations, share_begun
    from flgames.paper.worth import by_worth

    cases = _cases(experiments, scope)
    matches = {match.stem: match for case in cases for match in case.matches()}
    seconds = expectations(list(matches.values()), store)
    left = {stem: seconds[stem] * (1 - share_begun(match, store)) for stem, match in matches.items()}
    return by_worth(cases, store.has, left)


def _cases(experiments: Sequence[Experiment], scope: Scope) -> list[Case]:
    return [case for each in experiments for case in each.cases(scope)]


def _unexplained(experiments: Sequence[Experiment]) -> list[Experiment]:
    return [each for each in experiments if not each.explains]


def _play(
    experiments: Sequence[Experiment],
    scope: Scope,
    store: Store,
    device: torch.device,
    console: Console,
    hours: float | None,
) -> None:
    from flgames.cli.ui.playing import play_waiting

    budget = math.inf if hours is None else 3600 * hours
    play_waiting(_matches(experiments, scope, store), store, device, console, budget=budget)
    for each in experiments:
        if each.explains and hours is None:
            play_waiting(_matches([each], scope, store), store, device, console, models=True)


def _show(experiments: Sequence[Experiment], scope: Scope, store: Store, console: Console) -> None:
    from flgames.report.reproduction import show
    from flgames.waiting.bar import shown

    with shown(console):
        for each in experiments:
            show(each, scope, store, console)


def _list(scope: Scope, store: Store, console: Console) -> None:
    from rich.table import Table

    from flgames.cli.ui.playing import expectations
    from flgames.paper.worth import cells, empty
    from flgames.waiting.forecast import duration

    table = Table(title="Tables and figures of the paper", title_justify="left", padding=(0, 0), collapse_padding=True)
    for column in ("name", "needs", "cells", "empty", "matches", "played", "takes", "left"):
        table.add_column(column, justify="left" if column in ("name", "needs") else "right", no_wrap=column != "needs")
    for name, experiments in [*((each.name, [each]) for each in EXPERIMENTS.values()), ("all", everything())]:
        cases = _cases(experiments, scope)
        matches = list({match.key: match for case in cases for match in case.matches()}.values())
        seconds = expectations(matches, store)
        models = any(each.explains for each in experiments) and len(experiments) == 1
        played = {match.stem for match in matches if store.has(match) and (store.has_model(match) or not models)}
        left = sum(time for stem, time in seconds.items() if stem not in played)
        figures = (len(cells(cases)), len(empty(cases, store.has)), len(matches), len(played))
        texts = (*map(str, figures), duration(sum(seconds.values())), duration(left))
        needs = _needs(experiments, scope) if len(experiments) == 1 else ""
        table.add_row(name, needs, *(texts if matches else ("", "", "", "", "seconds", "")))
    console.print(table)
    for each in EXPERIMENTS.values():
        console.print(f"{each.name}: {each.asks}", soft_wrap=True)
    console.print(
        "A cell is empty while no seed of it has been played. Times are those of matches that were played here or "
        "elsewhere, with other seeds if need be, else guesses. A match that two of them share is played once, and a search, and what came of it, only when its name is given. --seeds 5 "
        "shows what five seeds everywhere take, --quick what the small versions take."
    )


def _needs(experiments: Sequence[Experiment], scope: Scope) -> str:
    benchmarks = _benchmarks_of(experiments, scope)
    words = "all benchmarks" if len(benchmarks) == len(BENCHMARKS) else ", ".join(benchmarks)
    return words + (", captum" if any(each.explains for each in experiments) else "")


def _benchmarks_of(experiments: Sequence[Experiment], scope: Scope) -> list[str]:
    cases = _cases(experiments, scope)
    names = dict.fromkeys(case.options.benchmark for case in cases)
    if any(each.draws_benchmarks for each in experiments):
        names |= dict.fromkeys(scope.of(BENCHMARKS))
    return list(names)

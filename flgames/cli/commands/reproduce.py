"""flgames reproduce."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flgames.cli.ui import options
from flgames.cli.ui.console import make_console
from flgames.cli.ui.errors import exit_codes
from flgames.errors import Diverged, UserError, unknown
from flgames.paper.experiments import EXPERIMENTS, Experiment, experiment
from flgames.paper.scope import BENCHMARKS, Scope

if TYPE_CHECKING:
    import torch
    from rich.console import Console

    from flgames.runs.match import Match
    from flgames.runs.store import Store


@options.takes(*options.OF_THE_MACHINE)
def reproduce(
    name: Annotated[str | None, typer.Argument(help=f"One of: {', '.join(EXPERIMENTS)}; or all.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="Say what each needs, what has been played and how long the rest takes here.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A small version in minutes: one seed on the embedded digits, nothing to download. Files are called quick-NAME.")] = False,
    seeds: Annotated[int | None, typer.Option(min=1, help="Play so many seeds for every line. Default: the budget's, 5 or 2; for some lines none. A table shows whatever has been played.")] = None,
    benchmarks: Annotated[str | None, typer.Option(help=f"Play only these, with commas between them, of: {', '.join(BENCHMARKS)}.")] = None,
    play: Annotated[bool, typer.Option("--play/--no-play", help="Play what is missing, or only write tables and figures of what there is.")] = True,
    offline: options.Offline = False,
    out: options.Results = Path("results"),
    **given: object,
) -> None:  # fmt: skip
    """Play a table or figure of the paper again, and set ours beside the paper's printed figures.

    Every finished match is a small file under OUT/runs, shared with flgames compare and never played twice: a reproduction that was stopped goes on by the same command. Tables are written as OUT/NAME.md and .csv, figures as OUT/NAME.png, from whatever has been played.

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
        chosen = list(EXPERIMENTS.values()) if name == "all" else [experiment(name)]
        if quick and name != "all" and chosen[0].is_real:
            raise UserError(f"{name} is about real data, which must be fetched: it has no quick version.")
        if not _benchmarks_of(chosen, scope):
            about = ", ".join(_benchmarks_of(chosen, Scope()))
            raise UserError(f"{name} is about {about}: none of them is among `benchmarks`.")
        if any(each.explains for each in chosen) and play:
            captum()  # refuses before anything is played
        on = options.machine(given)
        with options.results_folder(out):
            store = Store(out)
            for benchmark in _benchmarks_of(chosen, scope):
                fetch(benchmark_of(case.on(benchmark)), console, offline)
            try:
                if play:
                    _play(chosen, scope, store, on, console)
            except (typer.Exit, Diverged):  # what has been played can be looked at
                _show([each for each in chosen if not each.explains], scope, store, console)
                raise
            _show(chosen, scope, store, console)


def _benchmarks(text: str | None) -> tuple[str, ...]:
    chosen = options.names(text, BENCHMARKS)
    for each in chosen:
        if each not in BENCHMARKS:
            raise unknown("benchmark of the paper", each, BENCHMARKS)
    return chosen


def _matches(experiments: Sequence[Experiment], scope: Scope) -> list[Match]:
    """In playing order: every line has its first seed before any has its second."""
    cases = [case for each in experiments for case in each.cases(scope)]
    matches = {match.key: match for case in cases for match in case.matches()}
    return sorted(matches.values(), key=lambda match: match.seed)


def _play(
    experiments: Sequence[Experiment], scope: Scope, store: Store, device: torch.device, console: Console
) -> None:
    from flgames.cli.ui.playing import play_waiting

    play_waiting(_matches(experiments, scope), store, device, console)
    for each in experiments:
        if each.explains:
            play_waiting(_matches([each], scope), store, device, console, models=True)


def _show(experiments: Sequence[Experiment], scope: Scope, store: Store, console: Console) -> None:
    from flgames.report.reproduction import show

    for each in experiments:
        show(each, scope, store, console)


def _list(scope: Scope, store: Store, console: Console) -> None:
    from rich.table import Table

    from flgames.cli.ui.forecast import duration
    from flgames.cli.ui.playing import expectations

    table = Table(title="Tables and figures of the paper", title_justify="left", padding=(0, 0), collapse_padding=True)
    for column in ("name", "needs", "matches", "played", "takes here", "left"):
        table.add_column(column, justify="left" if column in ("name", "needs") else "right", no_wrap=column != "needs")
    everything = list(EXPERIMENTS.values())
    for name, experiments in [*((each.name, [each]) for each in everything), ("all", everything)]:
        matches = _matches(experiments, scope)
        seconds = expectations(matches, store)
        models = any(each.explains for each in experiments) and len(experiments) == 1
        played = {match.stem for match in matches if store.find(match) and (store.has_model(match) or not models)}
        left = sum(time for stem, time in seconds.items() if stem not in played)
        cells = (str(len(matches)), str(len(played)), duration(sum(seconds.values())), duration(left))
        table.add_row(name, _needs(experiments, scope), *(cells if matches else ("", "", "seconds", "")))
    console.print(table)
    for each in everything:
        console.print(f"{each.name}: {each.asks}", soft_wrap=True)
    console.print(
        "Times are those of matches that were played here or elsewhere, with other seeds if need be, else guesses. "
        "A match that two of them share is played once. --seeds 5 shows what five seeds everywhere take, --quick what the "
        "small versions take."
    )


def _needs(experiments: Sequence[Experiment], scope: Scope) -> str:
    benchmarks = _benchmarks_of(experiments, scope)
    words = "all benchmarks" if len(benchmarks) == len(BENCHMARKS) else ", ".join(benchmarks)
    return words + (", captum" if any(each.explains for each in experiments) else "")


def _benchmarks_of(experiments: Sequence[Experiment], scope: Scope) -> list[str]:
    cases = [case for each in experiments for case in each.cases(scope)]
    names = dict.fromkeys(case.options.benchmark for case in cases)
    if any(each.draws_benchmarks for each in experiments):
        names |= dict.fromkeys(scope.of(BENCHMARKS))
    return list(names)

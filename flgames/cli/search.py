"""flgames search."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.table import Table

from flgames.baselines import BASELINES, CHOSEN, trials
from flgames.cli import options
from flgames.cli.errors import exit_codes
from flgames.cli.signals import signals
from flgames.contest import Interrupted, check
from flgames.data.catalogue import NAMES as BENCHMARKS
from flgames.data.catalogue import BenchmarkOptions
from flgames.devices import chosen_device
from flgames.effort import guessed_seconds
from flgames.entry import Entry
from flgames.errors import unknown
from flgames.report.console import make_console
from flgames.report.fetching import fetch
from flgames.report.forecast import Forecast, WorkBar
from flgames.search import JUDGED, SEED, Search
from flgames.settings import checked, usable_threads


def search(
    benchmark: Annotated[str, typer.Argument(help=f"One of: {', '.join(BENCHMARKS)}.")],
    methods: Annotated[str | None, typer.Option(help=f"Names with commas between them, of: {', '.join(BASELINES)}. Default: all.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The clients that are searched on; no table shows these.")] = SEED,
    offline: options.Offline = False,
    out: options.Results = Path("results"),
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:  # fmt: skip
    """Choose the baselines' values on training clients only, as those in flgames/baselines.py were chosen.

    Every choice of values is played on four fifths of each training client and judged on the rest of them. The unseen client takes no part. Finished trials are files under OUT/search and are not played again.

    For example: flgames search colored-digits
    """
    console = make_console()
    with exit_codes(), options.network(offline):
        chosen = checked(BenchmarkOptions, {"benchmark": benchmark})
        source = check(chosen, device)
        names = options.names(methods, BASELINES)
        for name in names:
            if name not in BASELINES:
                raise unknown("baseline", name, BASELINES)
        fetch(source, seed, console)
        torch.set_num_threads(threads or usable_threads())
        with options.results_folder(out):
            work = Search(chosen, out / "search", chosen_device(device), seed)
            _play(work, names, console)
            _show(work, names, source.title, console)


def _play(work: Search, names: Sequence[str], console: Console) -> None:
    tried = [entry for name in names for entry in trials(name)]
    waiting = {str(work.path(entry)): entry for entry in tried if work.find(entry) is None}
    forecast = Forecast({path: guessed_seconds(entry, work.options) for path, entry in waiting.items()})
    with signals(console) as interrupted, WorkBar(console, forecast) as bar:
        for number, (path, entry) in enumerate(waiting.items(), start=1):

            def on_round(round_: int, path: str = path, entry: Entry = entry, number: int = number) -> None:
                where = f"trial {number} of {len(waiting)}, {entry.slug}: round {round_}/{entry.rounds}"
                bar(path, round_ / entry.rounds, where)

            try:
                work.play(entry, on_round, interrupted)
            except Interrupted:
                console.print("Stopped; the trials that have ended are kept. The same command goes on.")
                raise typer.Exit(130) from None


def _show(work: Search, names: Sequence[str], title: str, console: Console) -> None:
    table = Table(
        title=f"{title}: accuracy on the {JUDGED:.0%} of each training client that was not trained on",
        title_justify="left",
    )
    for column in ("method", "values", "accuracy", ""):
        table.add_column(column, justify="right" if column == "accuracy" else "left")
    best = {name: work.best(name) for name in names}
    for name in names:
        for trial in map(work.find, trials(name)):
            assert trial is not None
            values = ", ".join(f"{name} {value:g}" for name, value in trial.rules.items())
            table.add_row(name, values, f"{trial.accuracy:.2%}", "chosen" if trial == best[name] else "")
    console.print(table)
    for name, trial in best.items():
        assert trial is not None
        is_declared = CHOSEN[work.options.benchmark][name] == trial.rules
        said = "as declared" if is_declared else "NOT as declared in flgames/baselines.py"
        console.print(f'"{name}": {dict(trial.rules)},  # {said}', soft_wrap=True)

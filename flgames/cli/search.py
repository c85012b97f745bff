"""flgames search."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.table import Table

from flgames.baselines import BASELINES, CHOSEN, trials
from flgames.cli import options
from flgames.cli.errors import exit_codes
from flgames.compare import guessed_seconds
from flgames.contest import check, chosen_device
from flgames.data.catalogue import NAMES as BENCHMARKS
from flgames.data.catalogue import BenchmarkOptions
from flgames.errors import unknown
from flgames.report.console import make_console
from flgames.report.fetching import fetch
from flgames.report.forecast import Forecast, WorkBar
from flgames.search import JUDGED, SEED, Search, Trial
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

    Every choice of values is played on four fifths of each training client and judged on the rest of them. The unseen
    client takes no part. Finished trials are files under OUT/search and are not played again.
    """
    console = make_console()
    with exit_codes(), options.network(offline):
        chosen = checked(BenchmarkOptions, {"benchmark": benchmark})
        source = check(chosen, device)
        names = methods.split(",") if methods else list(BASELINES)
        for name in names:
            if name not in BASELINES:
                raise unknown("baseline", name, BASELINES)
        fetch(source, seed, console)
        torch.set_num_threads(threads or usable_threads())
        work = Search(chosen, out / "search", chosen_device(device), seed)
        tried = [entry for name in names for entry in trials(name)]
        waiting = {str(work.path(entry)): entry for entry in tried if work.find(entry) is None}
        expected = {path: guessed_seconds(entry, chosen, seed) for path, entry in waiting.items()}
        with WorkBar(console, Forecast(expected)) as bar:
            for path, entry in waiting.items():
                work.play(entry, lambda r, p=path, e=entry: bar(p, r / e.rounds, f"{e.title}: round {r}/{e.rounds}"))  # type: ignore[misc]
        table = Table(
            title=f"{source.title}: accuracy on the {JUDGED:.0%} of each training client that were not trained on",
            title_justify="left",
        )
        for column in ("method", "values", "accuracy", ""):
            table.add_column(column, justify="right" if column in ("accuracy",) else "left")
        for name in names:
            best = work.best(name)
            for entry in trials(name):
                trial = work.find(entry)
                assert trial is not None
                table.add_row(name, _values(trial), f"{trial.accuracy:.2%}", "chosen" if trial == best else "")
        console.print(table)
        for name in names:
            best = work.best(name)
            assert best is not None
            is_declared = CHOSEN.get(benchmark, {}).get(name) == dict(best.rules)
            said = "as declared" if is_declared else "NOT as declared in flgames/baselines.py"
            console.print(f'"{name}": {dict(best.rules)},  # {said}', soft_wrap=True)


def _values(trial: Trial) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in trial.rules.items())

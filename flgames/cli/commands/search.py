"""flgames search."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flgames.cli.ui import options
from flgames.cli.ui.console import make_console
from flgames.cli.ui.errors import exit_codes
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import NAMES as BENCHMARKS
from flgames.errors import unknown
from flgames.runs.baselines import ALL, JUDGED, SEED, SETTLING_GRIDS
from flgames.runs.settings import checked

if TYPE_CHECKING:
    from rich.console import Console

    from flgames.runs.search import Search


@options.takes(*options.OF_THE_MACHINE)
def search(
    benchmark: Annotated[str, typer.Argument(help=f"One of: {', '.join(BENCHMARKS)}.")],
    methods: Annotated[str | None, typer.Option(help=f"Names with commas between them, of: {', '.join(ALL)}; on real data fl-games too; on others shortcut (the game that finds one), settled and settled-by (the training after it). Default: all.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The clients that are searched on; no table shows these.")] = SEED,
    offline: options.Offline = False,
    out: options.Results = Path("results"),
    **given: object,
) -> None:  # fmt: skip
    """Choose the methods' values on training clients only, as those in flgames/runs/baselines.py were chosen.

    Every choice of values is played on four fifths of each training client and judged on the rest of them. Unseen clients take no part. Finished trials are files under OUT/search and are not played again.

    For example: flgames search colored-digits
    """
    from flgames.cli.ui.fetching import fetch
    from flgames.data.benchmarks.registry import benchmark as benchmark_of
    from flgames.runs.search import search_on

    console = make_console()
    with exit_codes():
        device = options.machine(given)
        chosen = checked(BenchmarkOptions, {"benchmark": benchmark})
        source = benchmark_of(chosen)
        work = search_on(chosen, out / "search", device, seed)
        names = options.names(methods, work.names)
        for name in names:
            if name not in work.names:
                raise unknown("method to search", name, work.names)
        fetch(source, console, offline)
        with options.results_folder(out):
            _play(work, names, console)
            _show(work, names, source.title, console)


def _play(work: Search, names: Sequence[str], console: Console) -> None:
    from flgames.cli.ui.playing import Part
    from flgames.cli.ui.signals import signals
    from flgames.runs.effort import guessed_seconds
    from flgames.runs.runner import Interrupted
    from flgames.waiting.bar import WorkBar
    from flgames.waiting.forecast import Forecast

    tried = [entry for name in names for entry in work.trials(name)]
    waiting = {str(work.path(entry)): entry for entry in tried if work.find(entry) is None}
    forecast = Forecast({path: guessed_seconds(entry, work.options) for path, entry in waiting.items()})
    with signals(console) as interrupted, WorkBar(console, forecast) as bar:
        for number, (path, entry) in enumerate(waiting.items(), start=1):
            what = f"trial {number} of {len(waiting)}, {entry.slug}"
            try:
                work.play(entry, Part(bar, path, what, entry.rounds), interrupted)
            except Interrupted:
                console.print("Stopped; the trials that have ended are kept. The same command goes on.")
                raise typer.Exit(130) from None


def _show(work: Search, names: Sequence[str], title: str, console: Console) -> None:
    from rich.table import Table

    table = Table(
        title=f"{title}: accuracy on the {JUDGED:.0%} of each training client that was not trained on; of shortcut, how "
        "much clients differ in what u tells there (G squared)",
        title_justify="left",
    )
    for column in ("method", "values", "accuracy", ""):
        table.add_column(column, justify="right" if column == "accuracy" else "left")
    for name in names:
        good = work.good(name)
        for trial in map(work.find, work.trials(name)):
            assert trial is not None
            values = ", ".join(f"{key} {value}" for key, value in trial.rules.items())
            score = f"{trial.accuracy:.2%}" if trial.differs is None else f"{trial.differs:.0f}"
            is_chosen = trial == good[0] and name not in SETTLING_GRIDS
            said = "chosen" if is_chosen else "none is better, but for chance" if trial in good else ""
            table.add_row(name, values, score, said)
    console.print(table)
    for name in names:
        console.print(f'"{name}": {_verdict(work, name)}', soft_wrap=True)


def _verdict(work: Search, name: str) -> str:
    good, declared = [dict(trial.rules) for trial in work.good(name)], work.declared(name)
    if name not in SETTLING_GRIDS:
        said = "as declared" if declared == good[0] else "NOT as declared in flgames/runs/baselines.py"
        return f"{good[0]},  # {said}"
    said = "as good as the best here, but for chance" if declared in good else "NOT as good as the best here"
    return f"{declared},  # declared for all benchmarks in flgames/runs/presets.py; {said}"

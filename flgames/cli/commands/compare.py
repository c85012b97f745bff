"""flgames compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flgames.cli.ui import options
from flgames.cli.ui.console import make_console
from flgames.cli.ui.errors import exit_codes
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import NAMES as BENCHMARKS
from flgames.runs.names import NAMES
from flgames.runs.settings import checked


@options.takes(*options.OF_A_BENCHMARK, *options.OF_THE_MACHINE)
def compare(
    context: typer.Context,
    benchmark: Annotated[str, typer.Argument(help=f"One of: {', '.join(BENCHMARKS)}.")],
    methods: Annotated[str | None, typer.Option(help=f"Names with commas between them, of: {', '.join(NAMES)}. Default: all but the v-fl-games, which take minutes to hours a seed; the published ones on colored-mnist only.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Play so many seeds, from --seed on.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    offline: options.Offline = False,
    out: options.Results = Path("results"),
    **given: object,
) -> None:  # fmt: skip
    """Play every method on the same clients with the same seeds: one table, and the profiles of all.

    Finished matches are files under OUT/runs and are never played twice, so a comparison that was stopped goes on by the same command, and one with more methods or seeds plays only those. Baselines have the values that are declared in flgames/runs/baselines.py; flgames search is what chose them.

    For example: flgames compare colored-mnist --seeds 5
    """
    from flgames.cli.ui.fetching import fetch
    from flgames.cli.ui.playing import play_waiting
    from flgames.data.benchmarks.registry import benchmark as benchmark_of
    from flgames.report.comparison import show
    from flgames.runs.compare import Comparison
    from flgames.runs.entries import default_names
    from flgames.runs.store import Store

    console = make_console()
    with exit_codes():
        device = options.machine(given)
        chosen = checked(BenchmarkOptions, options.given(context, "benchmark", *options.OF_A_BENCHMARK))
        source = benchmark_of(chosen)
        compared = options.names(methods, default_names(chosen))
        comparison = Comparison(chosen, compared, range(seed, seed + seeds))
        comparison.matches()  # refuses what can't be played before anything is fetched or made
        fetch(source, console, offline)
        with options.results_folder(out):
            store = Store(out)
            play_waiting(comparison.matches(), store, device, console)
            show(comparison, store, console)

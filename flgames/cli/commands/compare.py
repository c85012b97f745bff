"""flgames compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flgames.cli.ui import options
from flgames.cli.ui.console import make_console
from flgames.cli.ui.errors import exit_codes
from flgames.data.benchmarks.options import DRAWN, BenchmarkOptions
from flgames.data.benchmarks.registry import NAMES as BENCHMARKS
from flgames.errors import UserError
from flgames.runs.names import NAMES
from flgames.runs.settings import checked


@options.takes(*options.OF_A_BENCHMARK, *options.OF_THE_MACHINE)
def compare(
    context: typer.Context,
    benchmark: Annotated[str, typer.Argument(help=f"One of: {', '.join(BENCHMARKS)}.")],
    methods: Annotated[str | None, typer.Option(help=f"Names with commas between them, of: {', '.join(NAMES)}. Default: all but the v-fl-games, which take minutes to hours a seed; the published ones on colored-mnist only.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Play so many seeds, from --seed on. Default: 5; 1 of real sites.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    draws: Annotated[int | None, typer.Option(min=1, help="Of real sites: draw training sites so often, with the seeds from --seed on; --states says how many. Default: every site is unseen in turn.")] = None,
    offline: options.Offline = False,
    out: options.Results = Path("results"),
    **given: object,
) -> None:  # fmt: skip
    """Play every method on the same clients with the same seeds: one table, and the profiles of all.

    Finished matches are files under OUT/runs and are never played twice, so a comparison that was stopped goes on by the same command, and one with more methods or seeds plays only those. Baselines have the values that are declared in flgames/runs/baselines.py; flgames search is what chose them.

    On real sites, the table has the accuracy over unseen sites, and paired differences to FedAvg with 95% intervals.

    For example: flgames compare colored-mnist --seeds 5
    or, on real data: flgames compare fars --draws 12 --states 3
    """
    from flgames.cli.ui.fetching import fetch
    from flgames.cli.ui.playing import play_waiting
    from flgames.data.benchmarks.registry import benchmark as benchmark_of
    from flgames.data.benchmarks.sites import Sites
    from flgames.report import comparison as planted_report
    from flgames.report import draws as real_report
    from flgames.runs.compare import Comparison
    from flgames.runs.entries import default_names
    from flgames.runs.store import Store

    console = make_console()
    with exit_codes():
        device = options.machine(given)
        told = options.given(context, "benchmark", *options.OF_A_BENCHMARK)
        if draws is not None and (seeds is not None or "draw" in told or "train" in told):
            raise UserError("`draws` draws training sites anew with each seed: leave out `seeds`, `draw` and `train`.")
        states = checked(BenchmarkOptions, {"states": told.pop("states", DRAWN)}).states if draws is not None else None
        chosen = checked(BenchmarkOptions, told)
        source = benchmark_of(chosen)
        is_real = isinstance(source, Sites)
        if draws is not None and not is_real:
            raise UserError(f"`draws` is for benchmarks of real sites; {benchmark} has `seeds`.")
        compared = options.names(methods, default_names(chosen))
        number = draws or seeds or (1 if is_real else 5)
        comparison = Comparison(chosen, compared, range(seed, seed + number), states)
        comparison.check()
        fetch(source, console, offline)
        with options.results_folder(out):
            store = Store(out)
            play_waiting(comparison.matches(), store, device, console)
            (real_report if is_real else planted_report).show(comparison, store, console)

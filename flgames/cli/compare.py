"""flgames compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import torch
import typer

from flgames.cli import options
from flgames.cli.errors import exit_codes
from flgames.cli.playing import play_waiting
from flgames.compare import Comparison
from flgames.contest import check
from flgames.data.catalogue import NAMES as BENCHMARKS
from flgames.data.catalogue import BenchmarkOptions
from flgames.devices import chosen_device
from flgames.lineup import NAMES, default_lineup
from flgames.report.comparison import show
from flgames.report.console import make_console
from flgames.report.fetching import fetch
from flgames.settings import checked, usable_threads
from flgames.store import Store


def compare(
    context: typer.Context,
    benchmark: Annotated[str, typer.Argument(help=f"One of: {', '.join(BENCHMARKS)}.")],
    methods: Annotated[str | None, typer.Option(help=f"Names with commas between them, of: {', '.join(NAMES)}. Default: all but the v-fl-games, which take minutes to hours a seed; the published ones on colored-mnist only.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Play so many seeds, from --seed on.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    clients: options.Clients = None,
    flips: options.Flips = None,
    sizes: options.Sizes = None,
    classes: options.Classes = None,
    pixels: options.Pixels = None,
    side: options.Side = None,
    sprites: options.Sprites = None,
    offline: options.Offline = False,
    out: options.Results = Path("results"),
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:  # fmt: skip
    """Play every method on the same clients with the same seeds: one table, and the profiles of all.

    Finished matches are files under OUT/runs and are never played twice, so a comparison that was stopped goes on by the same command, and one with more methods or seeds plays only those. Baselines have the values that are declared in flgames/baselines.py; flgames search is what chose them.

    For example: flgames compare colored-mnist --seeds 5
    """
    console = make_console()
    with exit_codes(), options.network(offline):
        chosen = checked(BenchmarkOptions, options.given(context, BenchmarkOptions))
        source = check(chosen, device)
        lineup = options.names(methods, default_lineup(chosen))
        comparison = Comparison(chosen, lineup, range(seed, seed + seeds))
        comparison.matches()  # refuses what can't be played before anything is fetched or made
        fetch(source, seed, console)
        torch.set_num_threads(threads or usable_threads())
        with options.results_folder(out):
            store = Store(out)
            play_waiting(comparison.matches(), store, chosen_device(device), console)
            show(comparison, store, console)

"""flgames compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console

from flgames.cli import options
from flgames.cli.errors import exit_codes
from flgames.cli.signals import signals
from flgames.compare import Comparison, expected_seconds, play_all, usual_rounds
from flgames.contest import Interrupted, Stage, check, chosen_device
from flgames.data.benchmark import Benchmark
from flgames.data.catalogue import NAMES as BENCHMARKS
from flgames.data.catalogue import BenchmarkOptions
from flgames.entry import Entry
from flgames.lineup import NAMES, default_lineup
from flgames.play import Round
from flgames.report.comparison import show
from flgames.report.console import make_console
from flgames.report.fetching import fetch
from flgames.report.forecast import Forecast, WorkBar, duration
from flgames.settings import checked, usable_threads
from flgames.stopping import StopBelow
from flgames.store import Match, Store


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
            _play(comparison, source, store, chosen_device(device), console)
            show(comparison, store, console)


def _play(comparison: Comparison, source: Benchmark, store: Store, device: torch.device, console: Console) -> None:
    matches = comparison.matches()
    waiting = [match for match in matches if store.find(match) is None]
    if not waiting:
        console.print(f"{len(matches)} matches, all played before")
        return
    clients = source.training_clients(comparison.seeds.start)
    seconds = {entry.slug: expected_seconds(entry, games, store, clients) for entry, games in comparison.by_entry()}
    forecast = Forecast({match.stem: seconds[match.entry.slug] for match in waiting})
    for match in waiting:
        forecast.found(match.stem, min(0.9, store.begun(match) / usual_rounds(match.entry)))
    time = duration(forecast.left(0.0))
    console.print(f"{len(matches)} matches, {len(matches) - len(waiting)} of them played before; about {time} to play")

    with signals(console) as interrupted, WorkBar(console, forecast) as bar:

        def on_round(entry: Entry, seed: int, rule: StopBelow | None, round_: Round) -> None:
            done, train = (round_.round + 1) / usual_rounds(entry), round_.measure.accuracy
            where = f"round {round_.round + 1}/{entry.rounds}, train {train:.3f}"
            bar(Match(comparison.options, entry, seed).stem, min(done, 0.99), f"{entry.slug} {seed}: {where}")

        def on_end(match: Match) -> None:
            bar(match.stem, 1.0, f"{match.entry.slug} {match.seed}: ended")

        try:
            play_all(waiting, store, Stage(device, on_round, interrupted), on_end)
        except Interrupted:
            console.print("Stopped; the state is saved. The same command goes on.")
            raise typer.Exit(130) from None

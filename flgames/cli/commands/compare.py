"""flgames compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from flgames.cli.ui import options
from flgames.cli.ui.console import make_console
from flgames.cli.ui.errors import exit_codes
from flgames.data.benchmarks.options import DRAWN, BenchmarkOptions
from flgames.data.benchmarks.registry import NAMES as BENCHMARKS
from flgames.errors import UserError
from flgames.runs.names import NAMES
from flgames.runs.settings import checked

if TYPE_CHECKING:
    from rich.console import Console

    from flgames.runs.match import Match
    from flgames.runs.store import Store

    Ready = tuple[list[Match], Callable[[Store, Console], None]]
    """What is to be played, and what shows it then."""


@options.takes(*options.OF_A_BENCHMARK, *options.OF_OWN_DATA, *options.OF_THE_MACHINE)
def compare(
    context: typer.Context,
    benchmark: Annotated[list[str] | None, typer.Argument(metavar="[BENCHMARK | RUN RUN]", help=f"One of: {', '.join(BENCHMARKS)}; or else --data; or the folders of two finished runs.", show_default=False)] = None,
    methods: Annotated[str | None, typer.Option(help=f"Names with commas between them, of: {', '.join(NAMES)}. Default: all that suit the data, but for the v-fl-games, which take minutes to hours a seed, and the published ones, which are for colored-mnist only.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Play so many seeds, from --seed on. Default: 5; 1 of real sites and of your own data.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    draws: Annotated[int | None, typer.Option(min=1, help="Of real sites: draw training sites so often, with the seeds from --seed on; --states says how many. Default: every site is unseen in turn.")] = None,
    offline: options.Offline = False,
    out: options.Results = Path("results"),
    **given: object,
) -> None:  # fmt: skip
    """Play every method on the same clients with the same seeds: one table, and the profiles of all. Or set two finished runs beside each other.

    Finished matches are files under OUT/runs and are never played twice, so a comparison that was stopped goes on by the same command, and one with more methods or seeds plays only those. Baselines have the values that are declared in flgames/runs/baselines.py; flgames search is what chose them.

    On real sites, the table has the accuracy over unseen sites, and paired differences to FedAvg with 95% intervals. On data of your own each client is held out in turn, and the table has a column for each. If a file of yours is changed, all is played again.

    Of two finished runs nothing is played: it says which settings differ, and how far the second is above the first, with the interval of the paired difference. Pairs have the same seed and the same unseen client. The page is report.html, or --out.

    For example: flgames compare colored-mnist --seeds 5
    or, of two runs: flgames compare runs/one runs/other
    or, on real data: flgames compare fars --draws 12 --states 3
    or, on data of your own: flgames compare --data hospitals --target disease
    """
    from flgames.cli.ui.playing import play_waiting
    from flgames.runs.store import Store

    console = make_console()
    with exit_codes():
        if benchmark and len(benchmark) > 1:
            _of_runs(context, benchmark, console)
            return
        device = options.machine(given)
        told = options.given(context, *options.OF_A_BENCHMARK, *options.OF_OWN_DATA)
        told |= {"benchmark": benchmark[0]} if benchmark else {}
        is_own = _is_own(told, draws)
        ask = _Asked(told, methods, seeds, seed, draws)
        matches, show = _on_own_data(ask, console) if is_own else _on_benchmark(ask, console, offline)
        with options.results_folder(out):
            store = Store(out)
            play_waiting(matches, store, device, console)
            show(store, console)


def _of_runs(context: typer.Context, named: list[str], console: Console) -> None:
    """Two finished runs; nothing else can be said of them but where their page goes."""
    from click.core import ParameterSource

    from flgames.report.html.difference_page import compare_runs
    from flgames.runs.folder import RunFolder

    if len(named) != 2:
        raise UserError(f"Two runs are compared at a time, or one benchmark is played on; {len(named)} were given.")
    said = [name for name in context.params if context.get_parameter_source(name) is not ParameterSource.DEFAULT]
    for name in said:
        if name not in ("benchmark", "out"):
            raise UserError(f"Runs are as they were played: leave `{name}` out.")
    runs = [RunFolder.open(Path(name)) for name in named]
    compare_runs(runs[0], runs[1], Path(str(context.params["out"])) if "out" in said else None, console)


class _Asked(NamedTuple):
    """What is to be compared."""

    told: dict[str, object]
    methods: str | None
    seeds: int | None
    seed: int
    draws: int | None

    def range(self, default: int) -> range:
        return range(self.seed, self.seed + (self.draws or self.seeds or default))


def _is_own(told: Mapping[str, object], draws: int | None) -> bool:
    """Whether it is about data of one's own; refuses what does not go together."""
    is_own = "data" in told
    if is_own == ("benchmark" in told):
        named = "leave one of the two out" if is_own else "name one of the two"
        raise UserError(f"A comparison is on a benchmark, such as {BENCHMARKS[0]}, or on `data` of your own: {named}.")
    for name in told:
        if is_own and name not in options.OF_OWN_DATA:
            raise UserError(f"`{name}` is for benchmarks; your own data are as they are.")
        if not is_own and name not in ("benchmark", *options.OF_A_BENCHMARK):
            raise UserError(f"`{name}` is for data of your own: give `data` instead of a benchmark.")
    if is_own and draws is not None:
        raise UserError("`draws` is for benchmarks of real sites; of your own clients each is held out in turn.")
    return is_own


def _on_benchmark(ask: _Asked, console: Console, offline: bool) -> Ready:
    from flgames.cli.ui.fetching import fetch
    from flgames.data.benchmarks.registry import benchmark as benchmark_of
    from flgames.data.benchmarks.sites import Sites
    from flgames.report import comparison as planted_report
    from flgames.report import draws as real_report
    from flgames.runs.compare import Comparison
    from flgames.runs.entries import default_names

    told, draws = dict(ask.told), ask.draws
    if draws is not None and (ask.seeds is not None or "draw" in told or "train" in told):
        raise UserError("`draws` draws training sites anew with each seed: leave out `seeds`, `draw` and `train`.")
    states = checked(BenchmarkOptions, {"states": told.pop("states", DRAWN)}).states if draws is not None else None
    chosen = checked(BenchmarkOptions, told)
    source = benchmark_of(chosen)
    is_real = isinstance(source, Sites)
    if draws is not None and not is_real:
        raise UserError(f"`draws` is for benchmarks of real sites; {chosen.benchmark} has `seeds`.")
    compared = options.names(ask.methods, default_names(chosen))
    comparison = Comparison(chosen, compared, ask.range(1 if is_real else 5), states)
    comparison.check()
    fetch(source, console, offline)
    return comparison.matches(), partial((real_report if is_real else planted_report).show, comparison)


def _on_own_data(ask: _Asked, console: Console) -> Ready:
    from flgames.data.own.source import remarks_on
    from flgames.data.own.survey import lacking
    from flgames.report import held_out
    from flgames.runs.own_compare import OwnComparison
    from flgames.waiting.bar import shown

    with shown(console):
        comparison = OwnComparison.of(ask.told, options.names(ask.methods, ()), ask.range(1))
    settings = comparison.settings
    taken = comparison.holdouts()[0].remarks(comparison.surveys)
    for remark in (*remarks_on(str(settings.data), settings.roles), *taken, *lacking(comparison.surveys)):
        console.print(remark, style="yellow", soft_wrap=True)
    return comparison.matches(), partial(held_out.show, comparison)

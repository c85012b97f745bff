"""flgames data: list, fetch and show the benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flgames.cli.ui import options
from flgames.cli.ui.console import make_console
from flgames.cli.ui.errors import exit_codes
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import NAMES
from flgames.data.benchmarks.registry import benchmark as benchmark_of
from flgames.errors import UserError
from flgames.runs.settings import checked

data = typer.Typer(
    cls=options.Commands,
    name="data",
    help="The benchmarks: list them, fetch their data, and look at their clients.",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(help=f"One of: {', '.join(NAMES)}.", show_default=False)]


@data.command("list")
def list_(offline: options.Offline = False) -> None:
    """Name every benchmark, its clients, their sizes, and where its data would come from on this machine.

    For example: flgames data list
    """
    from flgames.cli.ui.described import facts

    with exit_codes():
        console = make_console()
        for name in NAMES:
            console.print(name, style="bold")
            for what, said in facts(benchmark_of(BenchmarkOptions(benchmark=name)), offline).items():
                console.print(f"  {what:8} {said}", soft_wrap=True)
        console.print("p: how often the spurious feature contradicts the label. Options: flgames data show --help")


@data.command()
def fetch(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME...", help=f"Benchmarks: {', '.join(NAMES)}.", show_default=False)] = None,
    all_: Annotated[bool, typer.Option("--all", help="The data of all benchmarks.")] = False,
    offline: options.Offline = False,
) -> None:  # fmt: skip
    """Fetch the data of benchmarks into the cache and verify them, from the first source that has them.

    For example: flgames data fetch --all
    """
    from flgames.cli.ui.described import verified
    from flgames.cli.ui.fetching import fetch as fetch_data

    console = make_console()
    with exit_codes():
        if bool(names) == all_:
            raise UserError("Name the benchmarks to fetch, or say --all" + (", not both." if all_ else "."))
        failures = []
        for name in NAMES if all_ else names or []:
            source = benchmark_of(BenchmarkOptions(benchmark=name))
            try:
                found = fetch_data(source, console, offline)
            except UserError as error:  # the others may still be had
                failures.append(f"{name}: {error}")
                continue
            console.print(f"{name}: {verified(source)}, {found}", soft_wrap=True)
        if failures:
            raise UserError("\n".join(failures))


@data.command()
@options.takes(*options.OF_A_BENCHMARK)
def show(
    context: typer.Context,
    benchmark: Name,
    seed: Annotated[int, typer.Option(min=0, help="The seed that drives partition, label noise and spurious feature.")] = 0,
    out: Annotated[Path | None, typer.Option(help="The picture. Default: BENCHMARK.png in this folder.")] = None,
    offline: options.Offline = False,
    **given: object,
) -> None:  # fmt: skip
    """Count and draw what every client has: sample images with their spurious feature, or what columns say of the label.

    For example: flgames data show colored-mnist --classes 10, or flgames data show fars --train CA,TX,FL
    """
    from flgames.cli.ui.described import counted
    from flgames.cli.ui.fetching import fetch as fetch_data
    from flgames.data.benchmarks.sites import Sites
    from flgames.report.samples import draw_samples
    from flgames.report.site_samples import draw_sites

    console = make_console()
    with exit_codes():
        path = out or Path(f"{benchmark}.png")
        if path.suffix != ".png":
            raise UserError(f"The picture is a PNG: let `out` end in .png; {path} was given.")
        source = benchmark_of(checked(BenchmarkOptions, options.given(context, "benchmark", *options.OF_A_BENCHMARK)))
        fetch_data(source, console, offline)
        console.print(counted(source, seed))
        try:
            if isinstance(source, Sites):
                draw_sites(path, source, seed)
            else:
                for label in range(source.classes):
                    kinds = [kind for kind, its_label in source.labels.items() if its_label == label]
                    console.print(f"label {label}: {', '.join(kinds)}", soft_wrap=True)
                draw_samples(path, source, seed)
        except OSError as error:
            raise UserError(f"{path} can't be written: {error.strerror}.") from None
        console.print(str(path), soft_wrap=True, style="bold")

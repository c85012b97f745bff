"""flgames data: list, fetch and show the benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flgames.cli.ui import options
from flgames.cli.ui.console import make_console
from flgames.cli.ui.errors import exit_codes
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import NAMES, by_name
from flgames.data.benchmarks.registry import benchmark as benchmark_of
from flgames.errors import UserError
from flgames.runs.settings import checked

if TYPE_CHECKING:
    from rich.table import Table

    from flgames.data.benchmarks.benchmark import Benchmark

data = typer.Typer(
    name="data",
    help="The benchmarks: list them, fetch their images, and look at their clients.",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(help=f"One of: {', '.join(NAMES)}.", show_default=False)]


@data.command("list")
def list_(offline: options.Offline = False) -> None:
    """Name every benchmark, its clients, their sizes, and where its images would come from on this machine.

    For example: flgames data list
    """
    with exit_codes():
        console = make_console()
        for name in NAMES:
            source = by_name(name)
            train, test = source.available or (0, 0)
            flips = ", ".join(f"{flip:g}" for flip in source.flips.values())
            console.print(name, style="bold")
            console.print(f"  clients  {len(source.flips)} x {train // len(source.flips):,}, p = {flips}")
            console.print(f"  unseen   {test:,}, p = {source.held_out_flip:g}")
            console.print(f"  images   {_where(source, offline)}", soft_wrap=True)
        console.print("p: how often the spurious feature contradicts the label. Options: flgames data show --help")


@data.command()
def fetch(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME...", help=f"Benchmarks: {', '.join(NAMES)}.", show_default=False)] = None,
    all_: Annotated[bool, typer.Option("--all", help="The images of all benchmarks.")] = False,
    offline: options.Offline = False,
) -> None:  # fmt: skip
    """Fetch the images of benchmarks into the cache and verify them, from the first source that has them.

    For example: flgames data fetch --all
    """
    from flgames.cli.ui.fetching import fetch as fetch_images

    console = make_console()
    with exit_codes():
        if bool(names) == all_:
            raise UserError("Name the benchmarks to fetch, or say --all" + (", not both." if all_ else "."))
        failures = []
        for name in NAMES if all_ else names or []:
            source = by_name(name)
            try:
                found = fetch_images(source, console, offline)
            except UserError as error:  # the others may still be had
                failures.append(f"{name}: {error}")
                continue
            console.print(f"{name}: {_verified(source)}, {found}", soft_wrap=True)
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
    """Draw sample images of every client, with label and spurious feature, and compare what was drawn with what was meant.

    For example: flgames data show colored-mnist --classes 10
    """
    from flgames.cli.ui.fetching import fetch as fetch_images
    from flgames.report.samples import draw_samples

    console = make_console()
    with exit_codes():
        path = out or Path(f"{benchmark}.png")
        if path.suffix != ".png":
            raise UserError(f"The picture is a PNG: let `out` end in .png; {path} was given.")
        source = benchmark_of(checked(BenchmarkOptions, options.given(context, "benchmark", *options.OF_A_BENCHMARK)))
        fetch_images(source, console, offline)
        console.print(_measured(source, seed))
        for label in range(source.classes):
            kinds = [kind for kind, its_label in source.labels.items() if its_label == label]
            console.print(f"label {label}: {', '.join(kinds)}", soft_wrap=True)
        try:
            draw_samples(path, source, seed)
        except OSError as error:
            raise UserError(f"{path} can't be written: {error.strerror}.") from None
        console.print(str(path), soft_wrap=True, style="bold")


def _where(source: Benchmark, offline: bool) -> str:
    from flgames.data.benchmarks.published import Published

    return source.images.where(offline) if isinstance(source.images, Published) else source.origin


def _verified(source: Benchmark) -> str:
    from flgames.data.benchmarks.published import Published

    if isinstance(source.images, Published):
        return f"verified (SHA-256 {source.images.sha256[:16]}...)"
    return "nothing to fetch"


def _measured(source: Benchmark, seed: int) -> Table:
    from rich.table import Table

    from flgames.data.benchmarks.benchmark import HELD_OUT

    table = Table(title=f"{source.title}, seed {seed}: measured (intended)", title_justify="left")
    for column in ("client", "samples", "label noise", f"flips of {source.feature.noun}"):
        table.add_column(column, justify="left" if column == "client" else "right")
    data = source.data(seed)
    portions = data.training_portions() | {HELD_OUT: data.held_out_portion()}
    for client, portion in portions.items():
        intended = source.flips.get(client, source.held_out_flip)
        table.add_row(
            client, f"{len(portion.rows):,}",
            f"{portion.noise:.4f} ({source.noise:g})", f"{portion.flip:.4f} ({intended:g})",
        )  # fmt: skip
    return table

"""flgames bench."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flgames.cli.ui import options
from flgames.cli.ui.console import make_console
from flgames.cli.ui.errors import exit_codes


def bench(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds that are timed with ten players; five times as many with two.")] = 10,
    peers: Annotated[bool, typer.Option("--peers", help="The same round in Flower, NVFlare, pfl-research and a plain loop instead; writes OUT/bench-peers.md and .csv.")] = False,
    scale: Annotated[bool, typer.Option("--scale", help="A round with 2 to 1,000 clients instead; writes OUT/bench-scale.md and .csv.")] = False,
    images: Annotated[int | None, typer.Option(min=100, help="Reading so many PNG files instead, beside decoding each of them once.")] = None,
    pfl_python: Annotated[Path | None, typer.Option(help="An interpreter that has pfl, for --peers: it can't share an environment with the extras.")] = None,
    out: options.Results = Path("results"),
    benchmark: Annotated[str, typer.Option(help="Where the stop rounds are compared: colored-mnist takes some minutes, colored-digits seconds.")] = "colored-mnist",
) -> None:  # fmt: skip
    """Time a round beside the matrix products that it can't avoid, and check that estimates stop where exact counts do.

    For example: flgames bench
    """
    from flgames.waiting.bar import shown

    console = make_console()
    with exit_codes(), options.results_folder(out), shown(console):
        if images:
            from flgames.report.bench_images import run_images

            run_images(console, images)
        elif scale:
            from flgames.report.scale import run_scale

            run_scale(out, console)
        elif peers:
            from flgames.report.peers import run_peers

            run_peers(out, console, pfl_python)
        else:
            from flgames.report.bench import run_bench

            if not run_bench(console, rounds, benchmark):
                raise typer.Exit(1)

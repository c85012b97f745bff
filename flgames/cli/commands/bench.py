"""flgames bench."""

from __future__ import annotations

from typing import Annotated

import typer

from flgames.cli.ui.console import make_console
from flgames.cli.ui.errors import exit_codes


def bench(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds that are timed with ten players; five times as many with two.")] = 10,
    benchmark: Annotated[str, typer.Option(help="Where the stop rounds are compared: colored-mnist takes some minutes, colored-digits seconds.")] = "colored-mnist",
) -> None:  # fmt: skip
    """Time a round beside the matrix products that it can't avoid, and check that estimates stop where exact counts do.

    For example: flgames bench
    """
    from flgames.report.bench import run_bench

    with exit_codes():
        if not run_bench(make_console(), rounds, benchmark):
            raise typer.Exit(1)

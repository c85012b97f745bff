"""flgames report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flgames.cli.ui.console import make_console
from flgames.cli.ui.errors import exit_codes
from flgames.errors import UserError


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders, as flgames play leaves them, or has them while it plays.")],
    out: Annotated[Path | None, typer.Option(help="The file. Default: RUN/report.html of one run, report.html here of several.")] = None,
    live: Annotated[bool, typer.Option("--live", help="Serve it on this machine alone, refreshed while the game is played, until Ctrl-C.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of --live. Default: 0, one that is free.")] = 0,
) -> None:  # fmt: skip
    """Write the page of runs: one HTML file that needs no network, to open, send and print.

    It begins with the answer: the table with intervals and what to doubt. Then come unseen clients or the invariance profile, every client's curve, what the sites disagree about, bytes and seconds, settings, the command that plays it again, and the model card. What a folder does not have is left out.

    For example: flgames report runs/...
    or, while it is played: flgames report --live runs/...
    """
    from flgames.report.html.live import serve
    from flgames.report.html.run_page import write_report
    from flgames.runs.folder import RunFolder
    from flgames.waiting.bar import shown

    console = make_console()
    with exit_codes():
        folders = [RunFolder.open(path) for path in dict.fromkeys(runs)]
        if live:
            if out:
                raise UserError("`live` serves the page and writes no file: leave `out` out.")
            serve(folders, port, lambda address: console.print(f"{address}  (Ctrl-C ends it)", soft_wrap=True))
            return
        with shown(console):
            path = write_report(folders, out)
        console.print(str(path), soft_wrap=True, style="bold")

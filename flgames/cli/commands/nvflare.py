"""flgames nvflare."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import click
import typer

from flgames.cli.ui import options
from flgames.cli.ui.console import make_console
from flgames.cli.ui.errors import exit_codes
from flgames.errors import UserError

nvflare = typer.Typer(
    cls=options.Commands,
    name="nvflare",
    help="Play across machines over NVIDIA FLARE. docs/across-sites.md walks through it.",
    no_args_is_help=True,
)

FORWARDED = {"allow_extra_args": True, "ignore_unknown_options": True}


@nvflare.command(context_settings=FORWARDED)
def simulate(context: typer.Context) -> None:
    """Play in NVFlare's simulator: flgames play --engine nvflare, with all of its options.

    For example: flgames nvflare simulate --clients 3 --variant f-fl-games
    """
    play, parsed = _play_with(context)
    play.invoke(parsed)


@nvflare.command(context_settings=FORWARDED)
def job(
    context: typer.Context,
    out: Annotated[Path, typer.Argument(help="The job folder to write; it must not be there yet.")],
    run: Annotated[str | None, typer.Option(help="What the run is called on all sites. A job that is submitted again goes on with its run. Default: the time and what is played.")] = None,
) -> None:  # fmt: skip
    """Write a job that a provisioned federation can be given. Takes the options of flgames play.

    For a benchmark, the federation's sites are called as its clients: client-1, client-2, ... With --data, each site
    has data of its own, where its local/flgames.json or its rules say. Submit the job with
    nvflare job submit -j OUT, or in NVFlare's console.

    For example: flgames nvflare job my-job --benchmark colored-digits --clients 3
    or: flgames nvflare job my-job --data /data/scans --clients 3
    """
    from flgames.devices import chosen_device
    from flgames.engines.host import as_folder
    from flgames.engines.launch import check_engine
    from flgames.engines.sites import known_players, number_of_players
    from flgames.runs.resolve import resolve

    with exit_codes():
        _, parsed = _play_with(context)
        settings = resolve(options.given(parsed))
        check_engine(settings)
        from flgames.engines.nvflare.job import write_job  # NVFlare is an extra

        chosen_device(settings.device)
        number = number_of_players(settings)
        if out.exists():
            raise UserError(f"{out} is there already: choose another name for the job.")
        out.resolve().parent.mkdir(parents=True, exist_ok=True)
        name = as_folder(run) if run else f"{datetime.now():%Y%m%d-%H%M%S}-{settings.benchmark}-{settings.name}"
        write_job(out.resolve(), name, settings, report="flgames.report.run:write_summary")
        console = make_console()
        console.print(f"job: {out}", soft_wrap=True)
        what = settings.data or settings.benchmark
        sites = ", ".join(known_players(settings) or ()) or f"any {number}"
        console.print(f"It plays {settings.title} on {what}, as the run {name}.", soft_wrap=True)
        console.print(f"Its sites: {sites}. Each needs flgames with the extra nvflare, and its data.", soft_wrap=True)


def _play_with(context: click.Context) -> tuple[click.Command, click.Context]:
    """`flgames play`, and its options as they were given here: nothing is declared twice."""
    root = context.find_root()
    assert isinstance(root.command, click.Group)
    play = root.command.commands["play"]
    return play, play.make_context(context.info_name, ["--engine", "nvflare", *context.args], parent=context.parent)

"""The command line: one file a command."""

from __future__ import annotations

from typing import Annotated

import typer

from flgames import __version__
from flgames.cli.commands.attacks import attacks
from flgames.cli.commands.bench import bench
from flgames.cli.commands.compare import compare
from flgames.cli.commands.data import data
from flgames.cli.commands.explain import explain_runs
from flgames.cli.commands.flower import flower
from flgames.cli.commands.knobs import knobs_table
from flgames.cli.commands.model import evaluate, export, predict
from flgames.cli.commands.nvflare import nvflare
from flgames.cli.commands.play import play
from flgames.cli.commands.report import report
from flgames.cli.commands.reproduce import reproduce
from flgames.cli.commands.search import search
from flgames.cli.commands.site import site
from flgames.cli.ui.options import BareOptions, Commands

app = typer.Typer(
    cls=Commands,
    help="FL Games: federated learning whose model keeps working on clients it has never seen.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(cls=BareOptions)(play)
app.command()(predict)
app.command()(evaluate)
app.command()(export)
app.command()(report)
app.command()(compare)
app.command()(search)
app.command()(reproduce)
app.command("explain")(explain_runs)
app.add_typer(data)
app.add_typer(nvflare)
app.add_typer(flower)
app.add_typer(site)
app.command()(bench)
app.command()(attacks)
app.command("knobs")(knobs_table)


@app.callback(invoke_without_command=True)
def main(version: Annotated[bool, typer.Option("--version", help="Show the version and leave.")] = False) -> None:
    if version:
        typer.echo(f"flgames {__version__}")
        raise typer.Exit

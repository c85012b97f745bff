"""flgames site: for the people of a site, about its rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from flgames.cli.ui import options
from flgames.cli.ui.console import make_console
from flgames.cli.ui.errors import exit_codes
from flgames.errors import UserError

site = typer.Typer(
    cls=options.Commands,
    name="site",
    help="For a site that takes part: what it would tell, and what it told. docs/trust.md says more.",
    no_args_is_help=True,
)

RulesFile = Annotated[Path | None, typer.Option(help="The site's rules. Default: the file that FLGAMES_SITE names.", show_default=False)]  # fmt: skip


@site.command()
def check(
    rules: RulesFile = None,
    client: Annotated[str, typer.Option(help="Which client this site is.")] = "this-site",
    data: Annotated[Path | None, typer.Option(help="Where its data are. Default: as its rules say.", show_default=False)] = None,
    target: Annotated[str | None, typer.Option(help="The column that a server would ask for. Default: the one that its rules name.", show_default=False)] = None,
    columns: Annotated[str | None, typer.Option(help="Inputs that a server would ask for, with commas. Default: all that its rules allow.", show_default=False)] = None,
) -> None:  # fmt: skip
    """Print what this site would tell a server before a game, and tell nobody. It ends with 2 if it would refuse.

    For example: flgames site check --rules site.toml
    """
    from flgames.data.own.roles import Roles
    from flgames.engines.sites import SiteData
    from flgames.policy.codes import Refused
    from flgames.policy.rules import rules_of_site
    from flgames.waiting.bar import shown

    console = make_console()
    with exit_codes():
        here = rules_of_site(rules)
        if data is None and here.data.path is None:
            raise UserError("Where are the data? Say it by `data`, or by path in [data] of the rules.")
        roles = Roles(
            target=target or here.data.target, client=here.data.client_column, columns=options.names(columns, ())
        )
        try:
            with shown(console):
                told = SiteData(client, data, here).survey("", roles)
        except Refused as why:
            raise UserError(f"This site would refuse: {why}.") from None
        console.print("Before a game the server would hear:", style="bold")
        for name, value in told.model_dump(mode="json", exclude_defaults=True).items():
            console.print(f"  {name:11} {json.dumps(value)}", soft_wrap=True)
        console.print("The rules:", style="bold")
        for part, values in here.model_dump(mode="json", exclude={"data": {"path"}}).items():
            console.print(f"  {part:11} {json.dumps(values)}", soft_wrap=True)


@site.command()
def plan(
    run: Annotated[Path, typer.Argument(help="A run folder, its plan.json, or one that a site has kept.")],
) -> None:
    """Print the hash of every game of a plan: what `plans` in site.toml can allow.

    For example: flgames site plan runs/scans/plan.json
    """
    from flgames.policy.games import plan_hash
    from flgames.policy.plans import games_in

    with exit_codes():
        console = make_console()
        for match in games_in(run):
            size = match.entry.config.get("batch_size", "all")
            console.print(
                f"{plan_hash(match)}  {match.entry.title}, seed {match.seed}, {match.entry.rounds} rounds, "
                f"batches of {size}",
                soft_wrap=True,
            )


@site.command()
def audit(
    file: Annotated[Path, typer.Argument(help="A site's audit.jsonl.")],
) -> None:
    """Say how much left a site, and whether its audit log is whole: every line names the one before.

    For example: flgames site audit flgames-runs/client-1/.site/audit.jsonl
    """
    from flgames.policy.journal import broken_line, lines_of

    with exit_codes():
        if not file.is_file():
            raise UserError(f"{file} is no file.")
        if (number := broken_line(file)) is not None:
            raise UserError(f"{file}: line {number} does not follow from the one before: the log was changed.")
        lines = lines_of(file)
        console = make_console()
        answered = sum(line["ended"] == "answered" for line in lines)
        sent = sum(line["sent"] for line in lines)
        console.print(f"{len(lines)} questions, {answered} answered; {sent} bytes left.", soft_wrap=True)
        for line in lines:
            if line["ended"] != "answered":
                console.print(f"{line['time']} {line['caller']}: {line['ended']}", soft_wrap=True)

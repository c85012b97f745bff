"""flgames flower."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from flgames.cli.ui import options
from flgames.cli.ui.errors import exit_codes
from flgames.errors import UserError

flower = typer.Typer(
    cls=options.Commands,
    name="flower",
    help="Play across machines over Flower. docs/across-sites.md walks through it.",
    no_args_is_help=True,
)


@flower.callback()
def group() -> None:
    """A group with one command is still a group."""


@flower.command()
def node(
    node_config: Annotated[str, typer.Option(help="Which client this is, and where its data, rules and states are: client=\"ward-7\" data=\"/data/scans\" site=\"/etc/site.toml\" state=\"/var/flgames\", or partition-id=0 for a benchmark's first client.")],
    superlink: Annotated[str, typer.Option(help="Where the SuperLink is: HOST:PORT.")] = "127.0.0.1:8000",
    root_certificates: Annotated[Path | None, typer.Option(help="The certificate of the CA by which the SuperLink is known.", show_default=False, exists=True, dir_okay=False)] = None,
    auth_supernode_private_key: Annotated[Path | None, typer.Option(help="The key by which the SuperLink knows this node.", show_default=False, exists=True, dir_okay=False)] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Without TLS: for a machine of your own.")] = False,
) -> None:  # fmt: skip
    """Be a node of a Flower deployment: in place of flower-supernode, with its options, and without its waiting.

    One process answers all questions. flower-supernode starts one for every question.

    For example: flgames flower node --superlink fl.example.com:8000 --root-certificates ca.crt
    --auth-supernode-private-key node-0 --node-config 'partition-id=0'
    """
    from flgames.engines.launch import QUIET, check_installed

    with exit_codes():
        check_installed("flower")
        os.environ |= QUIET | os.environ
        if insecure == bool(root_certificates):
            raise UserError("A node needs `root_certificates`, or else `insecure`, and not both.")
        if insecure and auth_supernode_private_key:
            raise UserError("A key without TLS is no proof: give `root_certificates` instead of `insecure`.")
        from flgames.engines.flower.node import attend, key_in, parsed  # Flower is an extra

        keys = key_in(auth_supernode_private_key) if auth_supernode_private_key else None
        attend(superlink, root_certificates, keys, parsed(node_config))

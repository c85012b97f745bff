"""flgames knobs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from flgames.cli.ui.options import help_of
from flgames.runs.settings import knobs


class Form(StrEnum):
    """What the list is written as."""

    names = "names"
    flower = "flower"


ON_A_SERVER = {"variant": "f-fl-games-smooth", "against": "none"}
"""What a server plays unless it is told otherwise: one game, with nothing before it."""

NOT_FOR_FLOWER = ("engine",)


def knobs_table(
    form: Annotated[Form, typer.Option(help="names, one a line with its help; flower, the table of pyproject.toml.")] = Form.names,
) -> None:  # fmt: skip
    """List every setting by name: those of flgames play, of config files, and of Flower's run configuration.

    For example: flgames knobs --form flower
    """
    if form is Form.flower:
        typer.echo(flower_table(), nl=False)
        return
    for name, info in knobs().items():
        typer.echo(f"{name.replace('_', '-')}: {help_of(info)}")


def flower_table() -> str:
    """Flower lets a run change only what its app names: every setting, as on the command line; "" is unset."""
    names = ["out", *(name.replace("_", "-") for name in knobs() if name not in NOT_FOR_FLOWER)]
    return "[tool.flwr.app.config]\n" + "".join(f'{name} = "{ON_A_SERVER.get(name, "")}"\n' for name in names)

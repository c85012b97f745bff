"""The options that say which benchmark, shared by the commands that need one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import click
import typer
from click.core import ParameterSource
from pydantic import BaseModel

from flgames.data.catalogue import FLIPS
from flgames.data.published import FOLDER_VARIABLE, OFFLINE_VARIABLE
from flgames.errors import UserError
from flgames.runs import locked

DATA = "The clients' data"

Clients = Annotated[int | None, typer.Option(help="So many training clients, with flip probabilities evenly from 0.3 to 0.1. Default: the benchmark's two, 0.2 and 0.1.", rich_help_panel=DATA)]  # fmt: skip
Flips = Annotated[str | None, typer.Option(help=f"The flip probability of every training client, for example 0.3,0.2,0.1, or {', '.join(FLIPS)}: {','.join(map(str, FLIPS['5-uneven']))}.", rich_help_panel=DATA)]  # fmt: skip
Sizes = Annotated[str | None, typer.Option(help="Samples of every training client, for example 20000,5000. Default: all images, dealt evenly.", rich_help_panel=DATA)]  # fmt: skip
Classes = Annotated[int | None, typer.Option(help="2 (default), 5 or 10 classes, one colour channel each; for Colored MNIST, Fashion MNIST and Digits.", rich_help_panel=DATA)]  # fmt: skip
Pixels = Annotated[str | None, typer.Option(help="grey (default) keeps grey levels; binary makes every pixel black or white, as IRM Games does.", rich_help_panel=DATA)]  # fmt: skip
Side = Annotated[int | None, typer.Option(help="Pixels a side; 14 halves Colored MNIST and Fashion MNIST, as Arjovsky et al. do.", rich_help_panel=DATA)]  # fmt: skip
Sprites = Annotated[str | None, typer.Option(help=f"rendered (default) draws dSprites here; published reads its npz file from the folder {FOLDER_VARIABLE}.", rich_help_panel=DATA)]  # fmt: skip
Offline = Annotated[bool, typer.Option("--offline", help=f"Never touch the network: own folder, cache and copies on the machine only. The same as {OFFLINE_VARIABLE}=1.", rich_help_panel=DATA)]  # fmt: skip

RUN = "The run"

Device = Annotated[str, typer.Option(help="auto, cpu, cuda, ...", rich_help_panel=RUN)]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads for matrix products. Default: the machine's cores, at most 8.", rich_help_panel=RUN)]  # fmt: skip
Results = Annotated[Path, typer.Option("--out", help="The folder of results.", rich_help_panel=RUN)]


def names(text: str | None, default: Iterable[str]) -> tuple[str, ...]:
    """Names with commas between them, each once."""
    found = [name.strip() for name in text.split(",")] if text else default
    return tuple(dict.fromkeys(name for name in found if name))


@contextmanager
def results_folder(out: Path) -> Iterator[None]:
    """The folder of results, made if need be, for this process alone."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{out} can't be used for results: {error.strerror}.") from None
    with locked(out):
        yield


def given(context: click.Context, model: type[BaseModel]) -> dict[str, Any]:
    """The fields of this model that were given by hand."""
    return {
        name: value
        for name, value in context.params.items()
        if name in model.model_fields and context.get_parameter_source(name) is not ParameterSource.DEFAULT
    }


@contextmanager
def network(offline: bool) -> Iterator[None]:
    """Inside, the network is as the command was told."""
    before = os.environ.get(OFFLINE_VARIABLE)
    if offline:
        os.environ[OFFLINE_VARIABLE] = "1"
    try:
        yield
    finally:
        if offline:
            if before is None:
                del os.environ[OFFLINE_VARIABLE]
            else:
                os.environ[OFFLINE_VARIABLE] = before

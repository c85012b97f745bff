"""What a person is told when something can't be done, and the exit code."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

import click
import typer

from flgames.errors import ClientFailure, Diverged, UserError


@contextmanager
def exit_codes() -> Iterator[None]:
    """One sentence for the one who can do something about it: 2 for what was given, 1 for what happened."""
    try:
        yield
    except UserError as error:
        _say(str(error))
        raise typer.Exit(2) from None
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        _say(f"{error.filename or 'A file'} can't be read or written: {error.strerror or error}.")
        raise typer.Exit(2) from None
    except (Diverged, ClientFailure) as error:
        _say(str(error))
        raise typer.Exit(1) from None


KNOB = re.compile(r"`([a-z_]+)`")
"""What errors call by its name in Python."""


def _say(message: str) -> None:
    spelled = KNOB.sub(lambda knob: f"--{knob[1].replace('_', '-')}", message)
    click.echo(f"flgames: {spelled}", err=True)

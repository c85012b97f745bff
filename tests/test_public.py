"""What is public explains itself: a docstring with an example that runs, a command with one that can be typed."""

from __future__ import annotations

import doctest
import inspect
import warnings

import click
import pytest
import typer

import flgames
from flgames.cli import app

PUBLIC = [
    name for name in flgames.__all__ if inspect.isclass(getattr(flgames, name)) or callable(getattr(flgames, name))
]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_an_example_that_runs(name: str) -> None:
    public = getattr(flgames, name)
    examples = doctest.DocTestParser().get_doctest(inspect.getdoc(public) or "", {}, name, None, None)
    assert examples.examples, f"{name} has no example"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # three rounds end before any rule does
        runner = doctest.DocTestRunner(verbose=False)
        said: list[str] = []
        runner.run(examples, out=said.append)
    assert runner.failures == 0, "".join(said)


def commands(group: click.Command, path: str = "flgames") -> list[tuple[str, click.Command]]:
    if isinstance(group, click.Group):
        return [found for name, each in group.commands.items() for found in commands(each, f"{path} {name}")]
    return [(path, group)]


@pytest.mark.parametrize(("path", "command"), commands(typer.main.get_command(app)))
def test_every_command_shows_how_it_is_used(path: str, command: click.Command) -> None:
    assert command.help
    assert f"For example: {path}" in " ".join(command.help.split())

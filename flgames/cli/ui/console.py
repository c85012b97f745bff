"""The console that all commands print to."""

from __future__ import annotations

from rich.console import Console


def make_console(stderr: bool = False) -> Console:
    """What is printed is shown as it is: a folder may be called [old]."""
    return Console(highlight=False, markup=False, emoji=False, stderr=stderr)

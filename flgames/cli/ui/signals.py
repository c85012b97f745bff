"""Ctrl-C and SIGTERM, as commands that play take them."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def signals(console: Console) -> Iterator[Callable[[], bool]]:
    """Ctrl-C and SIGTERM end the game after the round that is being played; a second Ctrl-C ends it at once."""
    asked = False

    def ask(*_: object) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        console.print("Finishing this round ...")

    previous = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: asked
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)

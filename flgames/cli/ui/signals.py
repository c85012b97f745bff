"""Ctrl-C, SIGTERM and SIGHUP, as commands that play take them."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals(console: Console) -> Iterator[Callable[[], bool]]:
    """Each ends the game after the round that is being played, and the state is saved; a second Ctrl-C ends it at
    once. What was started with nohup goes on."""
    asked = False

    def ask(number: int, _: object) -> None:
        nonlocal asked
        if asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        if number == signal.SIGHUP:
            console.quiet = True  # the terminal is gone
        if not asked:
            console.print("Finishing this round ...")
        asked = True

    taken = [number for number in ASKING if signal.getsignal(number) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, ask) for number in taken}
    try:
        yield lambda: asked
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)

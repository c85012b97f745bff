"""Work that may take long tells how far it is, to whoever asked to be told; mostly that is nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Told = Callable[[str, int, int], None]
"""Hears what is done, how many parts of it are, and of how many."""

_told: ContextVar[Told | None] = ContextVar("told", default=None)


@contextmanager
def telling(whom: Told) -> Iterator[None]:
    """Work that is done inside tells ``whom``."""
    before = _told.set(whom)
    try:
        yield
    finally:
        _told.reset(before)


def tell(what: str, done: int, total: int) -> None:
    """Say how far a work is."""
    if whom := _told.get():
        whom(what, done, total)

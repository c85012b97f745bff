"""Work that may take long tells how far it is, to whoever asked to be told; mostly that is nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Told = Callable[[str, int, int], None]
"""Hears what is done, how many parts of it are, and of how many."""

T = TypeVar("T")

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


def followed(items: Sequence[T], what: Callable[[T], str]) -> Iterator[T]:
    """The same items; before each it is told what is done with it."""
    for number, item in enumerate(items):
        tell(what(item), number, len(items))
        yield item


@contextmanager
def within(number: int, of: int) -> Iterator[None]:
    """What is told inside is a part of one of so many works."""
    whom = _told.get()
    if whom is None:
        yield
        return

    def hear(what: str, done: int, total: int) -> None:
        whom(what, number * total + done, of * total)

    with telling(hear):
        yield

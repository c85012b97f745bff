"""Names in the order that a person expects."""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST_NUMBER = 1000
"""Digits: Python makes no number of some thousands."""


def natural(names: Iterable[str]) -> tuple[str, ...]:
    """client-2 before client-10, on every machine."""
    return tuple(sorted(names, key=_parts))


def _parts(name: str) -> list[tuple[bool, int, str]]:
    pieces = re.split(r"(\d+)", name)
    return [(True, 0, piece) if not _is_number(piece) else (False, int(piece), piece) for piece in pieces if piece]


def _is_number(piece: str) -> bool:
    return piece.isdecimal() and len(piece) <= LONGEST_NUMBER


def written_alike(names: Iterable[str]) -> str | None:
    """Names that differ only in case or blanks, as a sentence shows them, if there are some.

    Examples
    --------
    >>> from flgames.data.names import written_alike
    >>> written_alike(["ill", "Ill ", "well"])
    "'ill' and 'Ill '"
    """
    same: dict[str, list[str]] = {}
    for name in names:
        same.setdefault("".join(name.split()).casefold(), []).append(name)
    alike = [" and ".join(map(repr, written)) for written in same.values() if len(written) > 1]
    return "; ".join(alike) or None

"""Names in the order that a person expects."""

from __future__ import annotations

import re
from collections.abc import Iterable


def natural(names: Iterable[str]) -> tuple[str, ...]:
    """client-2 before client-10, on every machine."""
    return tuple(sorted(names, key=_parts))


def _parts(name: str) -> list[tuple[bool, int, str]]:
    pieces = re.split(r"(\d+)", name)
    return [(not piece.isdecimal(), int(piece) if piece.isdecimal() else 0, piece) for piece in pieces if piece]

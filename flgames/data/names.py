"""Names in the order that a person expects."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

LONGEST_NUMBER = 1000
"""Digits: Python makes no number of some thousands."""

LONGEST = 200
"""Characters of a class, a column or a word that another site tells of."""

LONGEST_CLIENT = 64
"""Characters of a client's name."""

CLIENT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""What clients elsewhere may be called: their names become folders."""

LONGEST_REASON = 500


def natural(names: Iterable[str]) -> tuple[str, ...]:
    """client-2 before client-10, on every machine."""
    return tuple(sorted(names, key=_parts))


def _parts(name: str) -> list[tuple[bool, int, str]]:
    pieces = re.split(r"(\d+)", name)
    return [(True, 0, piece) if not _is_number(piece) else (False, int(piece), piece) for piece in pieces if piece]


def _is_number(piece: str) -> bool:
    return piece.isdecimal() and len(piece) <= LONGEST_NUMBER


def unfit(name: str, longest: int = LONGEST) -> str | None:
    """Why a name that came from elsewhere can't be used, if so: it is plain text of limited length, and no path.

    Examples
    --------
    >>> from flgames.data.names import unfit
    >>> unfit("ill"), unfit("mg/dl")
    (None, None)
    >>> unfit("../../etc/passwd")
    'is a path'
    """
    if not name.strip():
        return "is empty"
    if len(name) > longest:
        return f"has {len(name)} characters, and {longest} are allowed"
    if any(map(_is_control, name)):
        return "has characters that can't be printed"
    parts = re.split(r"[/\\]", name)
    return "is a path" if parts[0] in ("", "~") or ".." in parts else None


def unfit_client(name: str, reserved: Iterable[str]) -> str | None:
    """The same of a client's name, which becomes a folder."""
    if name in reserved:
        return "is what a shared part is called"
    if why := unfit(name, LONGEST_CLIENT):
        return why
    return None if CLIENT_NAME.fullmatch(name) else "has more than letters, digits, '.', '_' and '-'"


def printable(text: str) -> str:
    """What somebody elsewhere said, fit for a terminal: of limited length, without escape codes."""
    return "".join("?" if _is_control(each) else each for each in text[:LONGEST_REASON])


def _is_control(character: str) -> bool:
    """Control codes, marks of direction, line separators, and what is no character."""
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


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

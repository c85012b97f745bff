"""Labels of any kind that people pass to ``fit``, by a name each."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from flgames.errors import UserError

UNKNOWN = ("nan", "<NA>", "NaT", "None")


def class_name(label: Any) -> str:
    """What a class is called: labels that are equal, as 1, 1.0 and True are, are one class."""
    value = plain(label)
    return repr(int(value)) if isinstance(value, bool | float) and value == value // 1 else repr(value)


def plain(label: Any) -> Hashable:
    """A label as a plain value: that of a tensor or of NumPy is the same as Python's."""
    value: Hashable = label.item() if hasattr(label, "item") else label
    return value


def check_labels(client: str, labels: Sequence[Hashable]) -> None:
    """Refuse labels that are none."""
    if unknown := [label for label in labels if str(label) in UNKNOWN and not isinstance(label, str)]:
        raise UserError(f"{client} has the label {unknown[0]}: fill what is missing.")

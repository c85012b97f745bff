"""State as plain values: what is saved, and how it is taken out again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

State = dict[str, object]
"""Tensors and plain values by name: what ``torch.save`` writes and ``weights_only`` reads."""

Kind = TypeVar("Kind")


def taken(state: Mapping[str, object], name: str, kind: type[Kind]) -> Kind:
    """The value of this name, if it is of this kind; a state that was altered is noticed here."""
    value = state[name]
    if not isinstance(value, kind):
        raise TypeError(f"{name} of a saved state is {type(value).__name__}, not {kind.__name__}")
    return value

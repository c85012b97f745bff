"""Rows of a table as they come, as the numbers that a model sees: words, empty cells and all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn


class EncodedFeature(NamedTuple):
    """One number that a model sees."""

    column: int
    """From which column of the table."""
    fill: float
    """What an empty cell of that column counts as."""
    code: float | None = None
    """It is 1 where the column has this word; None: it is the column's own number."""
    is_missing: bool = False
    """It is 1 where the cell is empty."""


class Encode(nn.Module):
    """Columns in, features out. A word is the number that it has in its column's vocabulary; an empty cell is NaN.

    Examples
    --------
    >>> import torch
    >>> from flgames.models.encode import Encode, EncodedFeature
    >>> age, is_red = EncodedFeature(0, fill=40.0), EncodedFeature(1, fill=0.0, code=1.0)
    >>> unknown = EncodedFeature(0, fill=40.0, is_missing=True)
    >>> Encode([age, is_red, unknown])(torch.tensor([[30.0, 1.0], [float("nan"), 0.0]])).tolist()
    [[30.0, 1.0, 0.0], [40.0, 0.0, 1.0]]
    """

    source: Tensor
    fill: Tensor
    code: Tensor
    is_number: Tensor
    is_missing: Tensor

    def __init__(self, features: Sequence[EncodedFeature]) -> None:
        super().__init__()
        numbers = [each.code is None and not each.is_missing for each in features]
        self.register_buffer("source", torch.tensor([each.column for each in features]))
        self.register_buffer("fill", torch.tensor([each.fill for each in features]))
        self.register_buffer("code", torch.tensor([each.code or 0.0 for each in features]))
        self.register_buffer("is_number", torch.tensor(numbers))
        self.register_buffer("is_missing", torch.tensor([each.is_missing for each in features]))

    def forward(self, columns: Tensor) -> Tensor:
        given = columns.index_select(1, self.source)
        missing = given.isnan()
        value = torch.where(missing, self.fill, given)
        seen = torch.where(self.is_number, value, (value == self.code).to(value.dtype))
        return torch.where(self.is_missing, missing.to(value.dtype), seen)

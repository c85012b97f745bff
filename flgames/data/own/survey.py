"""What clients tell of their data before a game.

A client's survey is counts and sums: how many samples, how often each class, the sum and the sum of squares of every
feature. Together they fix the classes, the shape of inputs, and a standardisation that nobody's samples had to leave
home for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Self

import torch
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator
from torch import Tensor

from flgames.data.names import natural
from flgames.data.own.columns import ColumnTold
from flgames.data.own.roles import Kind
from flgames.models.standardise import moments

ROUNDING = 1e-6
"""By how much of itself a sum may be off: sums of many numbers are rounded."""

MOST_SAID = 5
"""Clients of which it is said that they lack something."""


class Survey(BaseModel):
    """What one client tells."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind
    shape: tuple[Annotated[int, Field(ge=1)], ...]
    columns: tuple[str, ...] = ()
    samples: dict[str, Annotated[int, Field(ge=1)]]
    """By class."""
    count: int = Field(ge=1)
    """Values that a feature's sums are over: samples of a table, pixels of images."""
    sums: tuple[FiniteFloat, ...]
    squares: tuple[FiniteFloat, ...]
    indicators: tuple[bool, ...] = ()
    """Which columns of a table have no values but 0 and 1."""
    details: dict[str, ColumnTold] = {}
    """Of columns that are more, or less, than a number in every row."""
    bits: int = Field(default=8, ge=8, le=32)
    """Bits a pixel that are in use in the files of images."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        """One claim is checked against another: counts add up, and no sums are told that no numbers could have."""
        for fault in (*self._wrong_counts(), *self._wrong_columns(), *self._wrong_sums()):
            raise ValueError(fault)
        return self

    @property
    def size(self) -> int:
        """How many samples there are."""
        return sum(self.samples.values())

    def _wrong_counts(self) -> Iterator[str]:
        pixels = math.prod(self.shape[1:]) if self.kind == "images" else 1
        if not self.size <= self.count <= self.size * pixels:
            yield f"classes have {self.size} samples, and sums are over {self.count} values"

    def _wrong_sums(self) -> Iterator[str]:
        if len(self.sums) != len(self.squares) or (self.indicators and len(self.indicators) != len(self.sums)):
            yield f"there are {len(self.sums)} sums, {len(self.squares)} of squares, {len(self.indicators)} indicators"
            return
        for place, (total, square) in enumerate(zip(self.sums, self.squares, strict=True)):
            name = self.columns[place] if place < len(self.columns) else ""
            present = max(self.count - self.details.get(name, ColumnTold()).missing, 1)
            if total / present * total > square * (1 + ROUNDING):
                yield f"feature {place + 1} has squares that add up to less than {present} numbers of this sum have"
            elif self.indicators and self.indicators[place] and not 0 <= total == square <= self.count:
                yield f"feature {place + 1} is 0 or 1, and its sums are not those of such numbers"

    def _wrong_columns(self) -> Iterator[str]:
        if self.columns and len(self.columns) != len(self.sums):
            yield f"there are {len(self.columns)} columns and {len(self.sums)} sums"
        for name, told in self.details.items():
            if name not in self.columns:
                yield f"{name!r} is told of, and is no column"
            elif min(told.words.values(), default=1) < 1 or told.counted > self.count:
                yield f"{name!r} has {told.counted} cells, and there are {self.count} samples"

    def names(self) -> set[str]:
        """Every word that it uses: classes, columns and categories."""
        words = {word for told in self.details.values() for word in told.words}
        return {*self.samples, *self.columns, *words}


def pooled_moments(surveys: Mapping[str, Survey]) -> tuple[Tensor, Tensor]:
    """Mean and deviation of every feature over all clients, from their counts and sums alone.

    A column that is 0 or 1 at every client is left as it is: its mean is told as 0 and its deviation as 1. Scaled by
    its deviation, a rare value would weigh more than a frequent one.
    """
    told = list(surveys.values())
    mean, deviation = moments(
        _present(told),
        [torch.tensor(survey.sums, dtype=torch.float64) for survey in told],
        [torch.tensor(survey.squares, dtype=torch.float64) for survey in told],
    )
    if all(survey.indicators for survey in told):
        as_it_is = torch.tensor([survey.indicators for survey in told]).all(0)
        mean, deviation = mean.masked_fill(as_it_is, 0.0), deviation.masked_fill(as_it_is, 1.0)
    return mean, deviation


def _present(told: Sequence[Survey]) -> int | Tensor:
    """Over how many values the sums are, of every feature."""
    count = sum(survey.count for survey in told)
    if not any(survey.details for survey in told):
        return count
    missing = [[survey.details.get(name, ColumnTold()).missing for name in survey.columns] for survey in told]
    return (count - torch.tensor(missing, dtype=torch.float64).sum(0)).clamp(min=1)


def share_of_ones(surveys: Mapping[str, Survey], place: int) -> float:
    told = list(surveys.values())
    present = torch.as_tensor(_present(told)).expand(len(told[0].columns))
    return sum(survey.sums[place] for survey in told) / float(present[place])


def in_order(survey: Survey, columns: Sequence[str]) -> Survey:
    """The same survey with these columns only, in this order."""
    places = [survey.columns.index(name) for name in columns]
    parts = {
        name: tuple(getattr(survey, name)[place] for place in places)
        for name in ("sums", "squares", "indicators")
        if getattr(survey, name)
    }
    details = {name: each for name, each in survey.details.items() if name in columns}
    return survey.model_copy(update=parts | {"columns": tuple(columns), "details": details})


def class_counts(surveys: Iterable[Survey], classes: Sequence[str]) -> list[int]:
    """How many samples of every class these clients have together."""
    told = list(surveys)
    return [sum(survey.samples.get(label, 0) for survey in told) for label in classes]


def lacking(surveys: Mapping[str, Survey]) -> Iterator[str]:
    """Who has no sample of a class that others have: no error, but worth knowing."""
    classes = natural({label for survey in surveys.values() for label in survey.samples})
    found = {name: [label for label in classes if label not in survey.samples] for name, survey in surveys.items()}
    said = [f"{name} has no sample of {', '.join(missing)}." for name, missing in found.items() if missing]
    yield from said[:MOST_SAID]
    if len(said) > MOST_SAID:
        yield f"{len(said) - MOST_SAID} more clients have not all classes."

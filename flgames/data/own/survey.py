"""What clients tell of their data before a game, and what follows from it for all of them.

A client's survey is counts and sums: how many samples, how often each class, the sum and the sum of squares of every
feature. Together they fix the classes, the shape of inputs, and a standardisation that nobody's samples had to leave
home for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated

import torch
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat
from torch import Tensor

from flgames.data.names import natural
from flgames.data.own.roles import Kind
from flgames.errors import UserError
from flgames.models.standardise import Standardise, moments

MOST_CLASSES = 1000


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
    bits: int = Field(default=8, ge=8, le=32)
    """Bits a pixel that are in use in the files of images."""


class Layout(BaseModel):
    """What inputs and labels look like, the same for every client and for whoever uses the model later."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind
    shape: tuple[int, ...]
    """Of one input: channels, height and width of images, the number of columns of a table."""
    columns: tuple[str, ...] = ()
    classes: tuple[str, ...]
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    """Of every channel or column, over all training samples; 0 and 1 of indicators, which are left as they are."""
    bits: int = 8
    """Bits a pixel that are in use at the training clients, at most: new files are scaled by them."""

    @classmethod
    def of(
        cls, surveys: Mapping[str, Survey], side: int | None = None, classes: tuple[str, ...] | None = None
    ) -> Layout:
        """What these clients have in common, or one sentence that names the client that differs.

        ``side`` is that of images; ``classes`` are those that there are, in their order, if not all of them occur.
        """
        if not surveys:
            raise UserError("There is no client to learn from.")
        first, one = next(iter(surveys.items()))
        for name, survey in surveys.items():
            _check_alike(first, one, name, survey)
        classes = classes or natural({label for survey in surveys.values() for label in survey.samples})
        _check_classes(classes)
        shape = tuple(max(sizes) for sizes in zip(*(survey.shape for survey in surveys.values()), strict=True))
        if side is not None and one.kind == "images":
            shape = (shape[0], side, side)
        mean, deviation = pooled_moments(surveys)
        features = shape[0] if one.kind == "images" else len(mean)  # grey images were told of as coloured ones
        return cls(
            kind=one.kind,
            shape=shape,
            columns=one.columns,
            classes=classes,
            mean=tuple(mean[:features].tolist()),
            deviation=tuple(deviation[:features].tolist()),
            bits=max(survey.bits for survey in surveys.values()),
        )

    @property
    def ready(self) -> Standardise:
        """The first layer of every model on such data."""
        return Standardise(self.shape).fit(torch.tensor(self.mean), torch.tensor(self.deviation))

    def indices(self, client: str, labels: Sequence[str]) -> Tensor:
        """Labels as numbers."""
        numbers = {label: number for number, label in enumerate(self.classes)}
        for label in labels:
            if label not in numbers:
                known = ", ".join(self.classes)
                raise UserError(f"{client} has samples of the class {label!r}; the model knows {known}.")
        return torch.tensor([numbers[label] for label in labels])


def pooled_moments(surveys: Mapping[str, Survey]) -> tuple[Tensor, Tensor]:
    """Mean and deviation of every feature over all clients, from their counts and sums alone.

    A column that is 0 or 1 at every client is left as it is: its mean is told as 0 and its deviation as 1. Scaled by
    its deviation, a rare value would weigh more than a frequent one.
    """
    told = list(surveys.values())
    mean, deviation = moments(
        sum(survey.count for survey in told),
        [torch.tensor(survey.sums, dtype=torch.float64) for survey in told],
        [torch.tensor(survey.squares, dtype=torch.float64) for survey in told],
    )
    if all(survey.indicators for survey in told):
        as_it_is = torch.tensor([survey.indicators for survey in told]).all(0)
        mean, deviation = mean.masked_fill(as_it_is, 0.0), deviation.masked_fill(as_it_is, 1.0)
    return mean, deviation


def class_counts(surveys: Iterable[Survey], classes: Sequence[str]) -> list[int]:
    """How many samples of every class these clients have together."""
    told = list(surveys)
    return [sum(survey.samples.get(label, 0) for survey in told) for label in classes]


def lacking(surveys: Mapping[str, Survey]) -> Iterator[str]:
    """Who has no sample of a class that others have: no error, but worth knowing."""
    classes = natural({label for survey in surveys.values() for label in survey.samples})
    for name, survey in surveys.items():
        if missing := [label for label in classes if label not in survey.samples]:
            yield f"{name} has no sample of {', '.join(missing)}."


def _check_alike(first: str, one: Survey, name: str, survey: Survey) -> None:
    if survey.kind != one.kind:
        raise UserError(f"{name} has a {_called(survey)}, and {first} a {_called(one)}: clients must have the same.")
    if survey.columns != one.columns:
        missing, more = set(one.columns) - set(survey.columns), set(survey.columns) - set(one.columns)
        what = [f"lacks {', '.join(sorted(missing))}"] if missing else []
        what += [f"has {', '.join(sorted(more))} too"] if more else []
        raise UserError(
            f"{name} {' and '.join(what) or 'has them in another order'}, compared with the columns of {first}."
        )
    alike = len(survey.shape) == len(one.shape) and len(survey.sums) == len(one.sums)
    if not alike or (survey.kind == "table" and survey.shape != one.shape):
        raise UserError(f"Inputs of {name} have the shape {survey.shape}, and those of {first} {one.shape}.")


def _called(survey: Survey) -> str:
    return "table" if survey.kind == "table" else "folder of images"


def _check_classes(classes: tuple[str, ...]) -> None:
    if len(classes) < 2:
        raise UserError(f"All samples are of the class {classes[0]!r}: there is nothing to tell apart.")
    if len(classes) > MOST_CLASSES:
        raise UserError(
            f"There are {len(classes)} classes, such as {classes[0]} and {classes[1]}: is the target a number? "
            "flgames tells classes apart."
        )

"""What inputs and labels look like, the same for every client: it follows from what the training clients tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor, nn

from flgames.data.names import natural, written_alike
from flgames.data.own.columns import Column, ColumnTold, differing_kinds, taken_for, unused
from flgames.data.own.roles import Kind
from flgames.data.own.survey import Survey, in_order, pooled_moments, share_of_ones
from flgames.errors import UserError
from flgames.models.encode import Encode, EncodedFeature
from flgames.models.standardise import Standardise

MOST_CLASSES = 1000


class Layout(BaseModel):
    """What inputs and labels look like, the same for every client and for whoever uses the model later."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind
    shape: tuple[int, ...]
    """Of one input as a model sees it: channels, height and width of images, the number of a table's features."""
    columns: tuple[str, ...] = ()
    """Of a table, as it comes."""
    details: tuple[Column, ...] = ()
    """What each column is taken for, in their order."""
    classes: tuple[str, ...]
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    """Of every channel or feature, over all training samples; 0 and 1 of indicators, which are left as they are."""
    bits: int = 8
    """Bits a pixel that are in use at the training clients, at most: new files are scaled by them."""

    @classmethod
    def of(
        cls,
        surveys: Mapping[str, Survey],
        side: int | None = None,
        classes: tuple[str, ...] | None = None,
        kept: Sequence[str] = (),
    ) -> Layout:
        """What these clients have in common, or one sentence that names the client that differs.

        ``side`` is that of images; ``classes`` are those that there are, in their order, if not all of them occur;
        ``kept`` are columns that were asked for, even if they seem to say nothing.
        """
        if not surveys:
            raise UserError("There is no client to learn from.")
        first, one = next(iter(surveys.items()))
        for name, survey in surveys.items():
            _check_alike(first, one, name, survey)
        classes = classes or natural({label for survey in surveys.values() for label in survey.samples})
        _check_classes(classes)
        if one.columns:
            return cls._of_columns(surveys, classes, kept)
        shape = tuple(max(sizes) for sizes in zip(*(survey.shape for survey in surveys.values()), strict=True))
        if side is not None and one.kind == "images":
            shape = (shape[0], side, side)
        mean, deviation = pooled_moments(surveys)
        features = shape[0] if one.kind == "images" else len(mean)  # grey images were told of as coloured ones
        return cls(
            kind=one.kind,
            shape=shape,
            classes=classes,
            mean=tuple(mean[:features].tolist()),
            deviation=tuple(deviation[:features].tolist()),
            bits=max(survey.bits for survey in surveys.values()),
        )

    @classmethod
    def _of_columns(cls, surveys: Mapping[str, Survey], classes: tuple[str, ...], kept: Sequence[str]) -> Layout:
        """Tables with names: columns in the first client's order, whatever the others' is."""
        if alike := written_alike(classes):
            raise UserError(f"Clients' labels differ only in case or blanks: {alike}. Write each in one way.")
        _check_kinds(surveys)
        first = next(iter(surveys.values()))
        columns = tuple(name for name in first.columns if name in kept or why_unused(surveys, name) is None)
        if not columns:
            raise UserError("No column says anything: all are empty, or have another value in each row.")
        aligned = {name: in_order(survey, columns) for name, survey in surveys.items()}
        mean, deviation = pooled_moments(aligned)
        details, means, deviations = list[Column](), list[float](), list[float]()
        for place, name in enumerate(columns):
            told = [survey.details.get(name, ColumnTold()) for survey in surveys.values()]
            is_indicator = all(survey.indicators[place] for survey in aligned.values() if survey.indicators)
            share = share_of_ones(aligned, place) if is_indicator else float(mean[place])
            column = taken_for(name, told, share, is_indicator)
            details.append(column)
            means += [float(mean[place]) if code is None else 0.0 for code in column.codes()]
            deviations += [float(deviation[place]) if code is None else 1.0 for code in column.codes()]
            means += [0.0] * column.tells_missing
            deviations += [1.0] * column.tells_missing
        return cls(
            kind="table",
            shape=(len(means),),
            columns=columns,
            details=tuple(details),
            classes=classes,
            mean=tuple(means),
            deviation=tuple(deviations),
        )

    @property
    def raw_shape(self) -> tuple[int, ...]:
        """Of one input as it comes."""
        return (len(self.columns),) if self.columns else self.shape

    @property
    def features(self) -> tuple[str, ...]:
        """What a model sees of a table, by name."""
        return tuple(feature for column in self.details for feature in column.features())

    @property
    def origins(self) -> tuple[int, ...]:
        """The place of the column that each feature is from."""
        return tuple(place for place, column in enumerate(self.details) for _ in column.features())

    @property
    def categories(self) -> list[Column]:
        """The columns that have words, in their order."""
        return [each for each in self.details if each.kind == "category"]

    @property
    def ready(self) -> nn.Module:
        """The first layer of every model on such data."""
        return nn.Sequential(self.encode, self.scale) if self.details else self.scale

    @property
    def scale(self) -> Standardise:
        """Standardises features."""
        return Standardise(self.shape).fit(torch.tensor(self.mean), torch.tensor(self.deviation))

    @property
    def encode(self) -> Encode:
        """From columns as they come to features."""
        features = []
        for place, column in enumerate(self.details):
            features += [EncodedFeature(place, column.fill, code) for code in column.codes()]
            features += [EncodedFeature(place, column.fill, is_missing=True)] * column.tells_missing
        return Encode(features)

    def indices(self, client: str, labels: Sequence[str]) -> Tensor:
        """Labels as numbers."""
        numbers = {label: number for number, label in enumerate(self.classes)}
        for label in labels:
            if label not in numbers:
                known = ", ".join(self.classes)
                raise UserError(f"{client} has samples of the class {label!r}; the model knows {known}.")
        return torch.tensor([numbers[label] for label in labels])


def why_unused(surveys: Mapping[str, Survey], name: str) -> str | None:
    """Why a column is no input, if it is none."""
    told = [survey.details.get(name, ColumnTold()) for survey in surveys.values()]
    return unused(told, [survey.count for survey in surveys.values()])


def taken(surveys: Mapping[str, Survey], layout: Layout) -> Iterator[str]:
    """What was made of the columns of tables, where that is not plain, in sentences."""
    first = next(iter(surveys.values()))
    for name in first.columns:
        if name not in layout.columns:
            yield f"The column {name!r} {why_unused(surveys, name)} and is left out; `columns` can keep it."
    dates = [each.name for each in layout.details if each.kind == "date"]
    if dates:
        yield f"Dates are days since 1970: {', '.join(dates)}."
    words = [f"{each.name} ({len(each.words)})" for each in layout.categories]
    if words:
        yield f"Columns of words, each with so many features: {', '.join(words)}."
    filled = [each.name for each in layout.details if each.tells_missing]
    if filled:
        yield (
            f"Empty cells in {', '.join(filled)} count as the mean or the most frequent value over all training "
            "clients, and a feature says that they were empty."
        )


def _check_alike(first: str, one: Survey, name: str, survey: Survey) -> None:
    if survey.kind != one.kind:
        raise UserError(f"{name} has a {_called(survey)}, and {first} a {_called(one)}: clients must have the same.")
    if set(survey.columns) != set(one.columns):
        missing, more = set(one.columns) - set(survey.columns), set(survey.columns) - set(one.columns)
        what = [f"lacks {', '.join(sorted(missing))}"] if missing else []
        what += [f"has {', '.join(sorted(more))} too"] if more else []
        raise UserError(f"{name} {' and '.join(what)}, compared with the columns of {first}: leave them out by `drop`.")
    alike = len(survey.shape) == len(one.shape) and len(survey.sums) == len(one.sums)
    if not alike or (survey.kind == "table" and survey.shape != one.shape):
        raise UserError(f"Inputs of {name} have the shape {survey.shape}, and those of {first} {one.shape}.")


def _check_kinds(surveys: Mapping[str, Survey]) -> None:
    told = {name: survey.details for name, survey in surveys.items()}
    columns = next(iter(surveys.values())).columns
    if wrong := [why for name in columns if (why := differing_kinds(told, name))]:
        raise UserError(
            f"Clients differ in what columns are: {'; '.join(wrong)}. Mend that, leave them out by `drop`, or say by "
            "`categories` that their numbers are names."
        )


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

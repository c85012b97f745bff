"""One client's table: inputs as numbers, what they stand for, and the labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch

from flgames.data.names import written_alike
from flgames.data.own.cells import Cells, Unusable, cells_of, is_empty, label_of
from flgames.data.own.columns import FEWEST, OTHER, ColumnKind, ColumnTold
from flgames.data.own.layout import Layout
from flgames.data.own.records import InMemory
from flgames.data.own.roles import Roles
from flgames.data.own.survey import Survey
from flgames.errors import UserError

if TYPE_CHECKING:
    import pandas

INDEX = ("", "Unnamed: 0")
"""What the column is called that a program added to number the rows."""

FEW_ROWS = 20
"""In fewer rows all values may differ by chance."""

MOST_NUMBERS, FEW_EACH = 20, 10
"""A target with more numbers than this is no class, if they have fractions or so few rows each."""


@dataclass(frozen=True)
class Table:
    """Rows of numbers: of a category the number of the word, of an empty cell NaN."""

    client: str
    columns: tuple[str, ...]
    values: np.ndarray
    labels: list[str]
    groups: list[str] | None = None
    kinds: Mapping[str, ColumnKind] = field(default_factory=dict)
    """Of columns that have not only numbers."""
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What the numbers of a category stand for."""
    remarks: tuple[str, ...] = ()
    """What of the file is not used, and why: for people at this site."""

    def survey(self) -> Survey:
        values = self.values.astype(np.float64)
        told = {name: self._told(name, values[:, place]) for place, name in enumerate(self.columns)}
        untold = [place for place, name in enumerate(self.columns) if told[name].kind in ("category", "empty")]
        values = np.where(np.isnan(values), 0.0, values)
        values[:, untold] = 0.0
        indicators = ((values == 0) | (values == 1)).all(0)
        indicators[untold] = False
        return Survey(
            kind="table",
            shape=(values.shape[1],),
            columns=self.columns,
            samples=Counter(self.labels),
            count=len(values),
            sums=tuple(values.sum(0)),
            squares=tuple((values**2).sum(0)),
            indicators=tuple(indicators.tolist()),
            details={name: each for name, each in told.items() if each != ColumnTold()},
        )

    def rows(self, layout: Layout) -> InMemory:
        """Inputs as the model's columns have them: by name, words by their number in the common vocabulary."""
        if missing := [name for name in layout.columns if name not in self.columns]:
            raise UserError(f"{self.client} lacks {', '.join(missing)}, which the model needs.")
        found = [self._column(name, layout) for name in layout.columns]
        return InMemory(torch.from_numpy(np.stack(found, 1).astype(np.float32)))

    def _column(self, name: str, layout: Layout) -> np.ndarray:
        values: np.ndarray = self.values[:, self.columns.index(name)]
        expected, kind = layout.detail(name), self.kinds.get(name, "number")
        category = expected is not None and expected.kind == "category"
        if kind == "empty" or (not category and kind != "category"):
            # A column that no training client left empty has nothing that stands for that but its mean.
            return values if expected is not None else np.where(np.isnan(values), layout.usual(name), values)
        if not category:
            raise UserError(f"{self.client} has words in {name!r}, and the model needs numbers there.")
        assert expected is not None
        vocabulary = {word: number for number, word in enumerate(expected.words)}
        words = self.words.get(name, ())
        present = np.isfinite(values)
        numbers = np.full(len(values), np.nan)
        for value in np.unique(values[present]):
            word = words[int(value)] if kind == "category" else label_of(value)
            numbers[values == value] = vocabulary.get(word, OTHER)
        return numbers

    def _told(self, name: str, values: np.ndarray) -> ColumnTold:
        kind = self.kinds.get(name, "number")
        present = values[np.isfinite(values)]
        if kind == "empty" or len(present) < min(FEWEST, len(values)):
            return ColumnTold(kind="empty", missing=len(values))
        missing = len(values) - len(present)
        named = kind == "category" or (kind == "number" and bool((present == np.round(present)).all()))
        distinct = named and len(np.unique(present)) == len(values) >= FEW_ROWS
        if kind != "category":
            return ColumnTold(kind=kind, missing=missing, distinct=distinct)
        numbers, counts = np.unique(present.astype(int), return_counts=True)
        often = {self.words[name][number]: int(count) for number, count in zip(numbers, counts, strict=True)}
        words = {word: count for word, count in often.items() if count >= FEWEST}
        rare = len(present) - sum(words.values())
        return ColumnTold(kind=kind, missing=missing, distinct=distinct, words=words, rare=rare)


def table_of(client: str, frame: pandas.DataFrame, roles: Roles, file: str) -> Table:
    """A table of inputs and labels, from all that a file has."""
    header = [str(name) for name in frame.columns]
    for name in (*roles.no_inputs, *roles.columns, *roles.categories):
        if name not in header and name != roles.client:
            raise UserError(f"{client}: {file} has no column {name!r}; it has {', '.join(header) or 'none'}.")
    if not len(frame):
        raise UserError(f"{client} has no samples: {file} has a header and no rows.")
    remarks = []
    unlabelled = frame[roles.target].map(_is_unlabelled)
    if unlabelled.all():
        raise UserError(f"{client} has no samples: {file} has nothing in {roles.target!r}.")
    if unlabelled.any():
        remarks.append(f"{int(unlabelled.sum())} of {len(frame)} rows have no {roles.target!r} and are left out")
        frame = frame[~unlabelled]
    inputs = [name for name in roles.columns or header if name not in (*roles.no_inputs, *roles.drop)]
    numbering = [name for name in inputs if name in INDEX and name not in roles.columns]
    if numbering:
        remarks.append(f"the column {numbering[0]!r} numbers the rows and is left out")
    inputs = [name for name in inputs if name not in numbering]
    if not inputs:
        raise UserError(f"{client}: {file} has no column beside {roles.target!r} to predict it from.")
    labels = labels_of(client, frame[roles.target], f"{roles.target!r} in {file}")
    groups = [str(value) for value in frame[roles.group]] if roles.group else None
    table = as_table(client, frame[inputs], labels, f"in {file}", roles.categories)
    said = tuple(f"{client}: {remark}." for remark in remarks)
    return Table(client, table.columns, table.values, labels, groups, table.kinds, table.words, said)


def as_table(
    client: str, inputs: pandas.DataFrame, labels: list[str], where: str, categories: Sequence[str] = ()
) -> Table:
    """Inputs as numbers; all columns that can't be are named at once."""
    found: dict[str, Cells] = {}
    wrong = []
    for name in inputs.columns:
        try:
            found[str(name)] = cells_of(inputs[name], str(name) in categories)
        except Unusable as why:
            wrong.append(f"{str(name)!r} {why}")
    if wrong:
        raise UserError(f"{client}, {where}: {'; '.join(wrong)}. Mend that, or leave it out by `drop`.")
    values = np.stack([each.values for each in found.values()], 1).astype(np.float32)
    kinds = {name: each.kind for name, each in found.items() if each.kind != "number"}
    words = {name: each.words for name, each in found.items() if each.words}
    return Table(client, tuple(found), values, labels, kinds=kinds, words=words)


def _is_unlabelled(value: object) -> bool:
    """A class may be called NA or None, and a row without one has nothing."""
    return is_empty(value) and str(value).strip() in ("", "nan", "NaN", "None", "NaT", "<NA>")


def labels_of(client: str, values: Sequence[object], where: str) -> list[str]:
    """What the classes are called; targets that are none are refused here, before anybody hears of them."""
    check_classes(client, Counter(_as_written(value) for value in values), where)
    return [label_of(value) for value in values]


def _as_written(value: object) -> str:
    """With its blanks, but for numbers."""
    return str(value) if label_of(value) == str(value).strip() else label_of(value)


def check_classes(client: str, counts: Mapping[str, int], where: str) -> None:
    """Refuse numbers that are measured, and names that differ in how they are written only."""
    check_no_measures(client, counts, where)
    if alike := written_alike(counts):
        raise UserError(f"{client}: labels differ only in case or blanks, {where}: {alike}. Write each in one way.")


def check_no_measures(client: str, counts: Mapping[str, int], where: str) -> None:
    """Refuse a target that is a number rather than a class."""
    try:
        numbers = [float(label) for label in counts]
    except ValueError:
        numbers = []
    fractions = any(not number.is_integer() for number in numbers)
    if len(numbers) > MOST_NUMBERS and (fractions or sum(counts.values()) < FEW_EACH * len(numbers)):
        raise UserError(
            f"{client}: {where} has {len(numbers)} different numbers: it looks continuous, and regression is not "
            "supported. Make classes of it."
        )

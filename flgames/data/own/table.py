"""One client's table: inputs as numbers, what they stand for, and the labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from flgames.data.names import written_alike
from flgames.data.own.cells import TRUTHS, Cells, Unusable, cells_of, is_empty, label_of
from flgames.data.own.columns import FEWEST, OTHER, Column, ColumnKind, ColumnTold
from flgames.data.own.layout import Layout
from flgames.data.own.records import InMemory
from flgames.data.own.roles import Roles
from flgames.data.own.survey import Survey
from flgames.errors import UserError

if TYPE_CHECKING:
    import pandas

INDEX = ("", "Unnamed: 0")
"""What the column is called that a program added to number the rows."""

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
    fewest: int = 1
    """Of fewer values nothing is told."""
    distinct: frozenset[str] = frozenset()
    """Columns of words or whole numbers in which no two rows have the same."""
    header: tuple[str, ...] = ()
    """All columns of the file."""
    remarks: tuple[str, ...] = ()
    """What of the file is not used, and why: for people at this site."""

    def survey(self) -> Survey:
        values = self.values.astype(np.float64)
        told = {name: self._told(name, values[:, place]) for place, name in enumerate(self.columns)}
        untold = [place for place, name in enumerate(self.columns) if told[name].kind in ("category", "empty")]
        values = np.where(np.isnan(values), 0.0, values)
        values[:, untold] = 0.0
        indicators = ((values == 0) | (values == 1)).all(0)
        indicators[[told[name].kind == "category" for name in self.columns]] = False
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
        """Inputs as a model sees them, before they are standardised."""
        return InMemory(layout.encode(self.raw(layout)))

    def raw(self, layout: Layout) -> Tensor:
        """Inputs as they come, in the model's columns: by name, words by their number in the common vocabulary."""
        if missing := [name for name in layout.columns if name not in self.columns]:
            raise UserError(f"{self.client} lacks {', '.join(missing)}, which the model needs.")
        found = [self._column(expected) for expected in layout.details]
        return torch.from_numpy(np.stack(found, 1).astype(np.float32))

    def _column(self, expected: Column) -> np.ndarray:
        name = expected.name
        values: np.ndarray = self.values[:, self.columns.index(name)]
        kind = self.kinds.get(name, "number")
        if kind == "empty":
            return values
        if expected.kind == "category":
            return self._numbered(name, kind, values, expected.words)
        if (kind == "category") or (kind == "date") != (expected.kind == "date"):
            called = {"category": "words", "date": "dates"}.get(kind, "numbers")
            needed = "dates" if expected.kind == "date" else "numbers"
            raise UserError(f"{self.client} has {called} in {name!r}, and the model needs {needed} there.")
        return values

    def _numbered(self, name: str, kind: ColumnKind, values: np.ndarray, vocabulary: Sequence[str]) -> np.ndarray:
        """Words by their number; where this table has nothing but truths, dates or numbers, as they are written."""
        numbers = np.full(len(values), np.nan)
        known = {word: number for number, word in enumerate(vocabulary)}
        truths = {TRUTHS[word.lower()]: number for word, number in known.items() if word.lower() in TRUTHS}
        for value in np.unique(values[np.isfinite(values)]):
            word = str(value)
            if kind == "category":
                word = self.words[name][int(value)]
            elif kind == "date":
                word = str(np.datetime64("1970-01-01") + int(value))
            number = truths.get(value, OTHER) if kind == "truth" else known.get(label_of(word), OTHER)
            numbers[values == value] = number
        return numbers

    def _told(self, name: str, values: np.ndarray) -> ColumnTold:
        kind = self.kinds.get(name, "number")
        present = values[np.isfinite(values)]
        if kind == "empty" or len(present) < self.fewest:
            return ColumnTold(kind="empty", missing=len(values))
        missing, distinct = len(values) - len(present), name in self.distinct
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
    if both := [name for name in (*roles.columns, *roles.categories) if name in roles.no_inputs]:
        raise UserError(f"{client}: {both[0]!r} is no input: it has another role.")
    inputs = [name for name in roles.columns or header if name not in (*roles.no_inputs, *roles.drop)]
    numbering = [name for name in inputs if name in INDEX and name not in roles.columns]
    if numbering:
        remarks.append(f"the column {numbering[0]!r} numbers the rows and is left out")
    inputs = [name for name in inputs if name not in numbering]
    if not inputs:
        raise UserError(f"{client}: {file} has no column beside {roles.target!r} to predict it from.")
    labels = labels_of(client, frame[roles.target], f"{roles.target!r} in {file}")
    groups = _groups(frame[roles.group]) if roles.group else None
    table = as_table(client, frame[inputs], labels, f"in {file}", roles.categories)
    said = tuple(f"{client}: {remark}." for remark in remarks)
    return replace(table, fewest=FEWEST, groups=groups, header=tuple(header), remarks=said)


def _groups(values: Sequence[object]) -> list[str]:
    """Whose each row is; of a row that does not say, nobody else's."""
    return [f"row {row}" if is_empty(value) else label_of(value) for row, value in enumerate(values)]


def as_table(
    client: str, inputs: pandas.DataFrame, labels: list[str], where: str, categories: Sequence[str] = ()
) -> Table:
    """Inputs as numbers; all columns that can't be are named at once."""
    if not len(inputs.columns):
        raise UserError(f"{client} has no columns.")
    if twice := [name for name, number in Counter(inputs.columns).items() if number > 1]:
        raise UserError(f"{client} has more than one column {twice[0]!r}.")
    found: dict[str, Cells] = {}
    wrong = []
    for name in inputs.columns:
        try:
            found[str(name)] = cells_of(inputs[name], str(name) in categories)
        except Unusable as why:
            wrong.append(f"{str(name)!r} {why}")
    if wrong:
        raise UserError(f"{client}, {where}: {'; '.join(wrong)}. Mend that, or leave it out.")
    values = np.stack([each.values for each in found.values()], 1).astype(np.float32)
    kinds = {name: each.kind for name, each in found.items() if each.kind != "number"}
    words = {name: each.words for name, each in found.items() if each.words}
    distinct = frozenset(name for name, each in found.items() if _is_distinct(each))
    return Table(client, tuple(found), values, labels, kinds=kinds, words=words, distinct=distinct)


def _is_distinct(cells: Cells) -> bool:
    """Whether a column numbers or names its rows."""
    present = cells.values[np.isfinite(cells.values)]
    named = cells.kind == "category" or (cells.kind == "number" and bool((present == np.round(present)).all()))
    return named and len(np.unique(present)) == len(present)


def _is_unlabelled(value: object) -> bool:
    """A class may be called NA or None, and a row without one has nothing."""
    return value is None or str(value).strip() in ("", "nan", "NaN", "NaT", "<NA>")


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

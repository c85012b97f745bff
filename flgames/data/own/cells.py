"""What the cells of a column are: numbers, truths, dates or words, and which of them are empty."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from flgames.data.names import natural
from flgames.data.own.columns import ColumnKind

if TYPE_CHECKING:
    import pandas

EMPTY = ("", "?", ".", "na", "n/a", "#n/a", "nan", "<na>", "nat", "null")
"""What people write where they know nothing, in any case of letters. Not "none": that is often an answer."""

TRUTHS = {"true": 1.0, "false": 0.0}

DATE = r"\d{4}-\d{2}-\d{2}([T ].*)?"
MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
OTHER_DATE = (
    r"\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2})( .*)?|\d{4}[/-]\d{1,2}[/-]\d{1,2}( .*)?"
    rf"|{MONTH} \d{{1,2}},? \d{{4}}|\d{{1,2}}\.? {MONTH} \d{{4}}"
)
WRITTEN_NUMBER = r"[<>~≤≥]?\s*[+-]?[\d.,' ]*\d\s*%?"
"""With separators, or a sign of what it is: a person sees a number there."""

LARGEST = 1e30
"""Models compute in single precision, and larger numbers have no squares there."""

MOSTLY = 0.5
"""A column with more numbers than this, and words too, was meant to have numbers."""


@dataclass(frozen=True)
class Cells:
    """A column as numbers: NaN where it is empty, and words by their number."""

    kind: ColumnKind
    values: np.ndarray
    words: tuple[str, ...] = ()


class Unusable(Exception):
    """Why a column can't be an input as it is."""


def cells_of(column: pandas.Series, named: bool = False) -> Cells:
    """What a column of a table is. ``named``: its numbers are names too."""
    import pandas
    from pandas.api import types

    if isinstance(column.dtype, pandas.SparseDtype):
        raise Unusable("is sparse: make it dense, by .sparse.to_dense()")
    if types.is_timedelta64_dtype(column.dtype):
        raise Unusable("has durations: write them as numbers")
    if types.is_complex_dtype(column.dtype):
        raise Unusable("has complex numbers")
    if isinstance(column.dtype, pandas.CategoricalDtype):
        return _words(_texts(column.astype(object)))
    if types.is_bool_dtype(column.dtype):
        values = column.astype(float) if not column.isna().any() else column.astype("Float64").astype(float)
        return Cells("truth", values.to_numpy(np.float64, na_value=np.nan))
    if types.is_datetime64_any_dtype(column.dtype):
        return _dates(column)
    if types.is_numeric_dtype(column.dtype) and not named:
        return _numbers(column.to_numpy(np.float64, na_value=np.nan))
    texts = _texts(column)
    return _words(texts) if named else _guessed(texts)


def label_of(value: object) -> str:
    """What a class or a word is called: 1, 1.0 and "1" are the same one."""
    text = str(value).strip()
    return text.partition(".")[0] if re.fullmatch(r"-?(0|[1-9]\d*)\.0+", text) else text


def is_empty(value: object) -> bool:
    """Whether somebody wrote nothing."""
    return value is None or str(value).strip().lower() in EMPTY


def _texts(column: pandas.Series) -> pandas.Series:
    """Cells as text; NaN where they are empty."""
    import pandas

    # Cells are alike more often than not: what each is worth is asked once.
    try:
        several = column.dropna().unique()
    except TypeError:
        raise Unusable("has lists, or other things that are no single value") from None
    if any(isinstance(value, bytes) for value in several):
        raise Unusable("has bytes")
    said = {value: np.nan if is_empty(value) else str(value).strip() for value in several}
    return pandas.Series(column.astype(object).map(said), dtype=object)


def _guessed(texts: pandas.Series) -> Cells:
    import pandas

    present = texts.dropna()
    if present.empty:
        return Cells("empty", np.full(len(texts), np.nan))
    if present.str.lower().isin(list(TRUTHS)).all():
        return Cells("truth", texts.str.lower().map(TRUTHS).to_numpy(np.float64))
    numbers = pandas.to_numeric(present, errors="coerce")
    share = float(numbers.notna().mean())
    if share == 1:
        return _numbers(texts.astype(np.float64).to_numpy())
    if share > MOSTLY:
        text = int(numbers.isna().sum())
        raise Unusable(f"has numbers in {len(present) - text} rows and text in {text}")
    dates = present.str.fullmatch(DATE)
    if dates.all():
        return _dates(texts)
    if dates.mean() > MOSTLY:
        raise Unusable(f"has dates in {int(dates.sum())} rows and text in {int((~dates).sum())}")
    if present.str.lower().str.fullmatch(OTHER_DATE).mean() > MOSTLY:
        raise Unusable("has dates that are not written YYYY-MM-DD")
    if present.str.fullmatch(WRITTEN_NUMBER).mean() > MOSTLY:
        raise Unusable("has numbers with separators, % or <: write them plainly")
    return _words(texts)


def _numbers(values: np.ndarray) -> Cells:
    if np.isinf(values).any():
        raise Unusable("has infinity")
    if (np.abs(values) > LARGEST).any():
        raise Unusable(f"has numbers beyond {LARGEST:g}")
    return Cells("number" if np.isfinite(values).any() else "empty", values)


def _dates(column: pandas.Series) -> Cells:
    """Days since 1970, in UTC."""
    import pandas

    moments: Any = pandas.to_datetime(column, format="ISO8601", utc=True, errors="coerce")
    if (moments.isna() & column.notna()).any():
        raise Unusable("has dates that there are none of")
    days = (moments - pandas.Timestamp("1970-01-01", tz="UTC")) / pandas.Timedelta(days=1)
    return Cells("date" if moments.notna().any() else "empty", days.to_numpy(np.float64))


def _words(texts: pandas.Series) -> Cells:
    named = texts.map({text: label_of(text) for text in texts.dropna().unique()})
    words = natural(_present(named))
    if not words:
        return Cells("empty", np.full(len(texts), np.nan))
    numbers = {word: float(number) for number, word in enumerate(words)}
    return Cells("category", named.map(numbers).to_numpy(np.float64), words)


def _present(named: pandas.Series) -> Iterable[str]:
    return set(named.dropna())

"""What a site tells of the columns of its table, and what all sites then take them for.

A column that has a number in every row needs nothing of this. Of all others a site tells what they are, how many cells
are empty, and, of words, those that it has often enough to name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from flgames.data.names import natural

ColumnKind = Literal["number", "truth", "date", "category", "empty"]

FEWEST = 5
"""A word with fewer samples at a site is not told to others, nor are sums of fewer values."""

FEW_ROWS = 20
"""In fewer rows all values may differ by chance."""

MOST_WORDS = 100
"""Of a column; what is rarer counts as other."""

OTHER = -1
"""The number of a word that is not in the vocabulary."""


class ColumnTold(BaseModel):
    """What one site tells of a column."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: ColumnKind = "number"
    missing: int = Field(default=0, ge=0)
    """Empty cells."""
    distinct: bool = False
    """Whether no two rows have the same: it counts rows, or names them."""
    words: dict[str, int] = {}
    """How often each word occurs, of those that are not rare here."""
    rare: int = Field(default=0, ge=0)
    """Samples whose words are not told."""

    @property
    def counted(self) -> int:
        """Cells that it speaks of."""
        return self.missing + self.rare + sum(self.words.values())


class Column(BaseModel):
    """What a column of the table is taken for at all sites."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: ColumnKind = "number"
    words: tuple[str, ...] = ()
    """The vocabulary of a category."""
    has_other: bool = False
    """Whether training sites have words that are not in the vocabulary."""
    fill: float = 0.0
    """What an empty cell counts as: the mean of numbers and dates, the number of the most frequent word."""
    tells_missing: bool = False
    """Whether a feature says that a cell was empty."""

    def features(self) -> list[str]:
        """What a model sees of it."""
        name = self.name
        seen = [f"{name}={word}" for word in self.words] if self.kind == "category" else [name]
        seen += [f"{name}=other"] if self.has_other else []
        return seen + ([f"{name} is missing"] if self.tells_missing else [])

    def codes(self) -> list[float | None]:
        """For every feature the number of its word; None: the column's own number."""
        seen: list[float | None] = [*map(float, range(len(self.words)))] if self.kind == "category" else [None]
        return seen + ([float(OTHER)] if self.has_other else [])


def differing_kinds(told: Mapping[str, Mapping[str, ColumnTold]], name: str) -> str | None:
    """How sites differ in what a column is, if they do: numbers and truths go together, and empty ones with all."""
    kinds: dict[str, str] = {}
    for site, columns in told.items():
        kinds.setdefault(columns.get(name, ColumnTold()).kind, site)
    kinds.pop("empty", None)
    if len(kinds) < 2 or set(kinds) == {"number", "truth"}:
        return None
    called = {"number": "numbers", "truth": "true and false", "category": "words", "date": "dates"}
    return f"{name!r} has " + " and ".join(f"{called[kind]} at {site}" for kind, site in kinds.items())


def unused(told: Sequence[ColumnTold], rows: Sequence[int]) -> str | None:
    """Why nothing can be learnt from a column, if that is so: what the training sites tell of it, of so many rows
    each."""
    if all(each.kind == "empty" for each in told):
        return "is empty"
    if all(each.distinct or each.kind == "empty" for each in told) and max(rows) >= FEW_ROWS:
        return "has another value in each row"
    if any(each.kind == "category" for each in told):
        words = _counted(told)
        if not words:
            return f"has no word that occurs {FEWEST} times at a site"
        if len(words) == 1 and not any(each.rare or each.missing for each in told):
            return "is the same in every row"
    return None


def taken_for(name: str, told: Sequence[ColumnTold], mean: float, is_indicator: bool) -> Column:
    """What all sites take a column for. ``mean`` is that of its numbers."""
    missing = any(each.missing for each in told)
    kinds = {each.kind for each in told} - {"empty"}
    if "category" in kinds:
        words = _counted(told)
        common = [word for word, _ in sorted(words.items(), key=lambda each: -each[1])[:MOST_WORDS]]
        named = natural(common)
        has_other = len(words) > len(named) or any(each.rare for each in told)
        fill = float(named.index(common[0])) if common else float(OTHER)
        return Column(name=name, kind="category", words=named, has_other=has_other, fill=fill, tells_missing=missing)
    kind: ColumnKind = "date" if "date" in kinds else "number" if "number" in kinds else "truth"
    return Column(name=name, kind=kind, fill=float(round(mean)) if is_indicator else mean, tells_missing=missing)


def _counted(told: Sequence[ColumnTold]) -> Counter[str]:
    """How often words occur at all sites, of those that are told; in their natural order."""
    counts: Counter[str] = Counter()
    for word in natural({word for each in told for word in each.words}):
        counts[word] = sum(each.words.get(word, 0) for each in told)
    return counts

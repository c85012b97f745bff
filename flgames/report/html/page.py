"""What a page is made of: plain values that know nothing of HTML. ``render`` makes a file of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

Spec = dict[str, Any]
"""A chart in Vega-Lite's words."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table: what is read, and what it is sorted by."""

    text: str
    value: float | str | None = None
    more: str = ""
    """In small letters behind it, such as an interval."""
    is_good: bool | None = None
    """Whether a difference speaks for it beyond chance; None: nothing is said."""

    @property
    def key(self) -> str:
        """What a browser sorts by."""
        return str(self.text if self.value is None else self.value)


@dataclass(frozen=True)
class Table:
    """A table that can be sorted by every column."""

    kind: ClassVar[str] = "table"

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    quiet: frozenset[int] = frozenset()
    """Rows that nobody played: a constant, an optimum."""
    hints: Mapping[str, str] = field(default_factory=dict)
    """What a column means."""
    folded: str = ""
    """Shown when it is asked for, by these words."""

    @cached_property
    def numeric(self) -> list[bool]:
        """Which columns are numbers."""
        filled = [[row[place] for row in self.rows if row[place].text] for place in range(len(self.columns))]
        return [bool(cells) and all(isinstance(each.value, int | float) for each in cells) for cells in filled]


@dataclass(frozen=True)
class Chart:
    """A chart, what is said of it to those who can't see it, and the lines that can be switched off."""

    kind: ClassVar[str] = "chart"

    title: str
    label: str
    spec: Spec
    series: Mapping[str, str] = field(default_factory=dict)
    """Names and colours, in the order of the legend."""
    marks: Sequence[tuple[str, str]] = ()
    """What else the legend explains: a shape and its words."""
    what: str = "method"
    """What a series is."""
    hidden: frozenset[str] = frozenset()
    """Series that are switched off at first: a chart of many is hard to read."""
    is_half: bool = False
    """Whether two stand side by side where there is room."""


@dataclass(frozen=True)
class Pictures:
    """Small images with what is said of each."""

    kind: ClassVar[str] = "pictures"

    title: str
    images: Sequence[tuple[str, str]]
    """As data: addresses, and their captions."""
    pixels: bool = True
    """Whether single pixels are shown as they are."""


@dataclass(frozen=True)
class Notes:
    """Sentences."""

    kind: ClassVar[str] = "notes"

    sentences: Sequence[str]
    level: str = "plain"
    """plain, finding or warning."""


@dataclass(frozen=True)
class Command:
    """What is typed to have it again."""

    kind: ClassVar[str] = "command"

    text: str


@dataclass(frozen=True)
class Document:
    """A text in Markdown, folded."""

    kind: ClassVar[str] = "document"

    title: str
    markdown: str


Block = Table | Chart | Pictures | Notes | Command | Document


@dataclass(frozen=True)
class Section:
    """A part of a page, which its menu leads to."""

    title: str
    blocks: Sequence[Block]
    says: str = ""
    """What a reader must know to read it."""


@dataclass(frozen=True)
class Page:
    """A whole page. It begins with the answer."""

    title: str
    about: str
    """On what it was played, in a line."""
    headline: str
    facts: Sequence[tuple[str, str]] = ()
    warnings: Sequence[str] = ()
    answer: Sequence[Block] = ()
    sections: Sequence[Section] = ()
    footer: str = ""

    @property
    def blocks(self) -> list[Block]:
        return [*self.answer, *(block for section in self.sections for block in section.blocks)]

    @property
    def charts(self) -> list[Chart]:
        return [block for block in self.blocks if isinstance(block, Chart)]

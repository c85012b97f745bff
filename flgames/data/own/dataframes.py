"""Tables of pandas that people pass to ``fit`` as clients: as files have them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from flgames.data.own.labels import check_labels, class_name
from flgames.data.own.layout import Layout
from flgames.data.own.records import Rows
from flgames.data.own.survey import Survey
from flgames.data.own.table import Table, as_table
from flgames.errors import UserError


@dataclass
class FrameRecords:
    """One client's pandas table, as files have it: columns by name, words, dates and empty cells too."""

    client: str
    table: Table
    found: dict[str, Hashable]
    groups: list[str] | None = None

    @classmethod
    def of(cls, client: str, frame: Any, labels: list[Hashable]) -> FrameRecords:
        if len(frame) != len(labels):
            raise UserError(f"{client} has {len(frame)} inputs and {len(labels)} labels.")
        if not labels:
            raise UserError(f"{client} has no samples.")
        check_labels(client, labels)
        named = [class_name(label) for label in labels]
        table = as_table(client, frame.set_axis([str(name) for name in frame.columns], axis=1), named, "its columns")
        return cls(client, table, dict(zip(named, labels, strict=True)))

    @property
    def labels(self) -> list[str]:
        return self.table.labels

    def survey(self) -> Survey:
        return self.table.survey()

    def rows(self, layout: Layout) -> Rows:
        return self.table.rows(layout)


def is_frame(values: Any) -> bool:
    """Whether it is a table of pandas."""
    return type(values).__module__.partition(".")[0] == "pandas" and hasattr(values, "columns")

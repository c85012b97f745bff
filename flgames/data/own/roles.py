"""What own data may be, and what the columns of a table are for. Nothing here needs torch."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Kind = Literal["images", "table"]


class Roles(BaseModel):
    """What the columns of a table are for. All that are not named are inputs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: str | None = None
    """What is to be predicted."""
    group: str | None = None
    """Whose a row is, such as a patient's: rows of one are never parted."""
    client: str | None = None
    """At which client a row was made, where one table has the rows of several."""
    columns: tuple[str, ...] = ()
    """The only inputs; empty: all that are left."""
    drop: tuple[str, ...] = ()
    """What is no input."""
    categories: tuple[str, ...] = ()
    """Inputs whose numbers are names, such as codes of a ward."""

    @property
    def no_inputs(self) -> tuple[str, ...]:
        """The columns that have another role, by name."""
        return tuple(name for name in (self.target, self.group, self.client) if name)

    @property
    def given(self) -> dict[str, object]:
        """What was said, by the name that the setting has."""
        named = {
            "target": self.target, "group_column": self.group, "client_column": self.client,
            "columns": self.columns, "drop": self.drop, "categories": self.categories,
        }  # fmt: skip
        return {name: value for name, value in named.items() if value}

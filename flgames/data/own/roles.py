"""What own data may be, and what the columns of a table are for. Nothing here needs torch."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Kind = Literal["images", "table"]

SETTINGS = {
    "target": "target", "group": "group_column", "client": "client_column",
    "columns": "columns", "drop": "drop", "categories": "categories",
}  # fmt: skip
"""What the setting of each role is called."""


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

    @classmethod
    def of(cls, settings: object) -> Roles:
        """What settings, or options that were made of them, say."""
        return cls.model_validate({role: getattr(settings, name) for role, name in SETTINGS.items()})

    @property
    def no_inputs(self) -> tuple[str, ...]:
        """The columns that have another role, by name."""
        return tuple(name for name in (self.target, self.group, self.client) if name)

    @property
    def given(self) -> dict[str, object]:
        """What was said, by the name that the setting has."""
        return {name: value for role, name in SETTINGS.items() if (value := getattr(self, role))}

"""What own data may be, and which columns of a table are no inputs. Nothing here needs torch."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Kind = Literal["images", "table"]


class Roles(BaseModel):
    """Which columns of a table are not inputs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: str | None = None
    """What is to be predicted."""
    group: str | None = None
    """Whose a row is, such as a patient's: rows of one are never parted."""

"""The settings of a run that say what data of one's own are."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.config import JsonDict

from flgames.data.own.roles import Roles

OWN: JsonDict = {"panel": "Data of your own"}

EACH, REST = "each", "rest"
"""Hold out every client in turn, or all but those that train."""


def _names(value: object) -> object:
    if isinstance(value, str):
        value = [name.strip() for name in value.split(",") if name.strip()]
    if isinstance(value, list | tuple):
        return tuple(dict.fromkeys(value)) if all(isinstance(name, str) for name in value) else value
    return value or ()


Names = Annotated[tuple[str, ...], BeforeValidator(_names)]
"""Names; where only text can be written, with commas between them."""


class OwnSettings(BaseModel):
    """Where they are, what their columns are for, and who is held out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: str | None = Field(
        default=None,
        description="A folder with data of your own, instead of a benchmark: for each client a folder of images, "
        "CLIENT/CLASS/*.png, .jpg, .tif or .bmp, or a table, CLIENT.csv, .csv.gz, .tsv, .parquet, .dat or .npz; or one "
        "table with --client-column.",
        json_schema_extra=OWN,
    )
    target: str | None = Field(
        default=None,
        description="The column of the tables that is to be predicted. Default for .npz: y.",
        json_schema_extra=OWN,
    )
    group_column: str | None = Field(
        default=None,
        description="The column of the tables that says whose a row is, such as a patient: rows of one are trained on "
        "or held back together. It is no input.",
        json_schema_extra=OWN,
    )
    client_column: str | None = Field(
        default=None,
        description="The column of one table that says whose each row is, such as a hospital. It is no input.",
        json_schema_extra=OWN,
    )
    columns: Names = Field(
        default=(),
        description="The only inputs, with commas between them. Default: all columns but those that have another role, "
        "that number the rows, or that have another value in each row.",
        json_schema_extra=OWN,
    )
    drop: Names = Field(
        default=(),
        description="Columns of the tables that are no inputs, with commas between them.",
        json_schema_extra=OWN,
    )
    categories: Names = Field(
        default=(),
        description="Columns whose numbers are names, such as the code of a ward, with commas between them. Columns of "
        "words are found without it.",
        json_schema_extra=OWN,
    )
    holdout: Names = Field(
        default=(),
        description="A client that nobody trains on, to see how the model does where it has never been. Give it more "
        "than once to hold out several; each holds out every client in turn, and rest all but those that --train "
        "names. Default: none.",
        json_schema_extra=OWN | {"several": True},
    )

    @property
    def roles(self) -> Roles:
        """Which columns of own tables are no inputs."""
        return Roles.of(self)

    @property
    def holds_out_each(self) -> bool:
        return self.holdout == (EACH,)

"""A client's data as they lie on its disk: a folder of images, or a table.

``CLIENT/CLASS/*.png``, ``.jpg``, ``.tif`` or ``.bmp``; ``CLIENT.csv``, ``.tsv``, ``.parquet``, ``.dat`` or ``.npz``
with a column, or an array, of targets; or one such table, with a column that says whose each row is.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor

from flgames.data.names import natural
from flgames.data.own.cells import is_empty, label_of
from flgames.data.own.frames import NPZ, TABLES, ending, read_frame
from flgames.data.own.layout import Layout
from flgames.data.own.records import Records
from flgames.data.own.roles import Kind, Roles
from flgames.data.own.stack import INPUTS, arrays_in, check_numbers, of_array, read_npz
from flgames.data.own.table import Table, as_table, table_of
from flgames.data.variables import keeps_images
from flgames.errors import UserError, unknown

if TYPE_CHECKING:
    import pandas

IMAGES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp")

NO_ROLES = Roles()

OURS = (".", "~$")
"""How names of files begin that a system or an office program made for itself."""


def clients_in(data: Path, roles: Roles = NO_ROLES) -> dict[str, Path]:
    """The clients, in the order in which they play: a subfolder or a file each, or those that one table names."""
    if roles.client is not None:
        return dict.fromkeys(_named_in(data, roles.client), data)
    if data.is_file():
        raise UserError(f"`data` {data} is one table: say by `client_column` which column says whose a row is.")
    if not data.is_dir():
        raise UserError(f"`data` {data} is no folder: it needs a subfolder of images, or a table, for each client.")
    found: dict[str, Path] = {}
    for path in sorted(data.iterdir()):
        if path.name.startswith(OURS) or not (path.is_dir() or ending(path)):
            continue
        name = path.name if path.is_dir() else path.name[: -len(ending(path) or "")]
        if name in found:
            raise UserError(f"{data} has {found[name].name} and {path.name}: which of them is the client {name}?")
        found[name] = path
    if not found:
        raise UserError(
            f"{data} has no clients: put a folder of images for each, CLIENT/CLASS/*.png, .jpg, .tif or .bmp, or a "
            f"table, CLIENT with one of {', '.join(TABLES)}."
        )
    return {name: found[name] for name in natural(found)}


def _named_in(data: Path, column: str) -> tuple[str, ...]:
    if not data.is_file() or ending(data) in (None, NPZ):
        raise UserError(f"`client_column` {column!r} is for one table with the rows of all clients; {data} is none.")
    frame = read_frame(data.name, data)
    if column not in frame:
        raise unknown(f"column of {data.name}:", column, frame.columns)
    if unnamed := int(frame[column].map(is_empty).sum()):
        raise UserError(
            f"{data.name}: {unnamed} rows have nothing in {column!r}: say whose they are, or leave them out."
        )
    names = natural({label_of(value) for value in frame[column].unique()})
    if not names:
        raise UserError(f"{data.name} has a header and no rows.")
    if strange := [name for name in names if not name or "/" in name or not name.isprintable()]:
        raise UserError(f"{data.name}: {strange[0]!r} in {column!r} can't be the name of a client.")
    return names


def likely_kind(data: Path, roles: Roles) -> Kind:
    """Images or a table, before anything is read: by what lies there, or, where nothing does, by what was said."""
    if not data.exists():
        return "table" if roles.target else "images"
    first = next(iter(clients_in(data, roles).values()))
    if first.is_file() and ending(first) == NPZ:
        return read(first.stem, first, roles).survey().kind
    return "images" if first.is_dir() else "table"


def read(client: str, path: Path, roles: Roles = NO_ROLES, keep: bool | None = None) -> Records:
    """One client's data. Those read last are remembered, until they change: a survey is followed by a game.

    ``keep``: whether decoded images may lie in the user's cache; None: as the environment says.
    """
    return _read(client, path, roles, keeps_images() if keep is None else keep, _stamp(path))


def _stamp(path: Path) -> tuple[float, int]:
    """What tells a file, or a folder with its folders, from what it was before."""
    if path.is_dir():
        folders = [Path(where).stat().st_mtime for where, _, _ in os.walk(path)]
        return max(folders), len(folders)
    try:
        return path.stat().st_mtime_ns, path.stat().st_size
    except OSError:
        return 0.0, 0


@functools.lru_cache(maxsize=64)
def _read(client: str, path: Path, roles: Roles, keep: bool, changed: tuple[float, int]) -> Records:
    if path.is_dir():
        if roles.given:
            raise UserError(f"{client} has images: `{next(iter(roles.given))}` is for tables.")
        from flgames.data.own.pictures import pictures_in  # PIL is for those who have images

        return pictures_in(client, path, keep)
    if not path.exists():
        raise UserError(f"{client} has no data: {path} is not there.")
    match ending(path):
        case None:
            raise UserError(f"{client}: {path.name} is neither a folder of images nor one of {', '.join(TABLES)}.")
        case ".npz":
            return read_npz(client, path, roles)
    if roles.target is None:
        raise UserError(f"{client}: say which column of {path.name} is to be predicted: `target` COLUMN.")
    return table_of(client, _rows_of(client, read_frame(client, path), roles), roles, path.name)


def _rows_of(client: str, frame: pandas.DataFrame, roles: Roles) -> pandas.DataFrame:
    """A client's rows of a table that may have those of others."""
    if roles.client is None or roles.client not in frame:
        return frame
    names = {value: label_of(value) for value in frame[roles.client].dropna().unique()}
    return frame[frame[roles.client].map(names) == client].reset_index(drop=True)


def read_inputs(path: Path, layout: Layout) -> Tensor:
    """The inputs of new samples in a table, which need not know the target."""
    if not path.is_file():
        what = "is a folder: name files in it" if path.is_dir() else "is not there"
        raise UserError(f"{path} {what}.")
    if layout.kind == "images" and ending(path) != NPZ:
        raise UserError(f"{path} is no picture; the model looks at {', '.join(IMAGES)}, or .npz with images.")
    if ending(path) is None:
        raise UserError(f"{path} is none of {', '.join((*IMAGES, *TABLES))}.")
    if ending(path) == NPZ:
        arrays = arrays_in(path.stem, path)
        if not arrays:
            raise UserError(f"{path} has no arrays.")
        values = arrays[INPUTS] if INPUTS in arrays else next(iter(arrays.values()))
        check_numbers(path.stem, values, f"the inputs in {path.name}")
        records = of_array(path.stem, values, [layout.classes[0]] * len(values))
        return records.raw(layout) if isinstance(records, Table) else records.rows(layout).values
    return inputs_of(str(path), read_frame(path.name, path), layout)


def inputs_of(where: str, frame: pandas.DataFrame, layout: Layout) -> Tensor:
    """The inputs of a table as it comes, by the names of its columns."""
    if missing := [name for name in layout.columns if name not in frame]:
        raise UserError(f"{where} lacks {', '.join(missing)}, which the model needs.")
    named = [column.name for column in layout.categories]
    table: Table = as_table(where, frame[list(layout.columns)], [], "the new rows", named)
    return table.raw(layout)

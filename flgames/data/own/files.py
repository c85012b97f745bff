"""A client's data as they lie on its disk: a folder of images, or a table in one file.

``CLIENT/CLASS/*.png``, ``.jpg``, ``.tif`` or ``.bmp``; or ``CLIENT.csv``, ``CLIENT.parquet`` or ``CLIENT.npz`` with a
column, or an array, of targets.
"""

from __future__ import annotations

import csv
import functools
import math
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from flgames.data.names import natural
from flgames.data.own.records import InMemory, Records
from flgames.data.own.roles import Kind, Roles
from flgames.data.own.survey import Layout, Survey
from flgames.errors import UserError

IMAGES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp")
TABLES = (".csv", ".parquet", ".npz")

NO_ROLES = Roles()

INPUTS, TARGETS = "X", "y"
"""What the arrays of an .npz file are called by default."""


@dataclass(frozen=True)
class Table:
    """Rows of numbers."""

    client: str
    columns: tuple[str, ...]
    values: np.ndarray
    labels: list[str]
    groups: list[str] | None = None

    def survey(self) -> Survey:
        values = self.values.astype(np.float64)
        return Survey(
            kind="table",
            shape=(values.shape[1],),
            columns=self.columns,
            samples=Counter(self.labels),
            count=len(values),
            sums=tuple(values.sum(0)),
            squares=tuple((values**2).sum(0)),
            indicators=tuple(((values == 0) | (values == 1)).all(0).tolist()),
        )

    def rows(self, layout: Layout) -> InMemory:
        if self.columns != layout.columns:
            raise UserError(f"{self.client} has other columns than the model: it needs {', '.join(layout.columns)}.")
        return InMemory(torch.from_numpy(self.values))


@dataclass(frozen=True)
class Stack:
    """Images of one size in an array: samples, channels, height, width."""

    client: str
    values: np.ndarray
    labels: list[str]
    groups: list[str] | None = None

    def survey(self) -> Survey:
        values = self.values.astype(np.float64)
        sums, squares = values.sum((0, 2, 3)), (values**2).sum((0, 2, 3))
        return Survey(
            kind="images",
            shape=values.shape[1:],
            samples=Counter(self.labels),
            count=values.size // values.shape[1],
            sums=tuple(sums),
            squares=tuple(squares),
        )

    def rows(self, layout: Layout) -> InMemory:
        if self.values.shape[1:] != layout.shape:
            raise UserError(f"Images of {self.client} have the shape {self.values.shape[1:]}, not {layout.shape}.")
        return InMemory(torch.from_numpy(self.values))


def clients_in(folder: Path) -> dict[str, Path]:
    """The clients of a folder, in the order in which they play: a subfolder or a file each."""
    if not folder.is_dir():
        raise UserError(f"`data` {folder} is no folder: it needs a subfolder of images, or a table, for each client.")
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or not (path.is_dir() or path.suffix.lower() in TABLES):
            continue
        name = path.name if path.is_dir() else path.stem
        if name in found:
            raise UserError(f"{folder} has {found[name].name} and {path.name}: which of them is the client {name}?")
        found[name] = path
    if not found:
        raise UserError(
            f"{folder} has no clients: put a folder of images for each, CLIENT/CLASS/*.png, .jpg, .tif or .bmp, or a "
            "table, CLIENT.csv, .parquet or .npz."
        )
    return {name: found[name] for name in natural(found)}


def likely_kind(folder: Path, roles: Roles) -> Kind:
    """Images or a table, before anything is read: by what lies there, or, where nothing does, by what was said."""
    if not folder.is_dir():
        return "table" if roles.target else "images"
    first = next(iter(clients_in(folder).values()))
    if first.suffix.lower() == ".npz" and first.is_file():
        return read(first.stem, first, roles).survey().kind
    return "images" if first.is_dir() else "table"


@functools.lru_cache(maxsize=64)
def read(client: str, path: Path, roles: Roles = NO_ROLES) -> Records:
    """One client's data. Those read last are remembered: a survey is followed by a game."""
    if path.is_dir():
        if roles.group:
            raise UserError(f"{client} has images: `group_column` {roles.group!r} is for tables.")
        from flgames.data.own.pictures import pictures_in  # PIL is for those who have images

        return pictures_in(client, path)
    if not path.exists():
        raise UserError(f"{client} has no data: {path} is not there.")
    match path.suffix.lower():
        case ".csv":
            return _csv(client, path, _needed(client, path, roles))
        case ".parquet":
            return _parquet(client, path, _needed(client, path, roles))
        case ".npz":
            return _npz(client, path, roles)
    raise UserError(f"{client}: {path.name} is neither a folder of images nor one of {', '.join(TABLES)}.")


def read_inputs(path: Path, layout: Layout) -> Tensor:
    """The inputs of new samples in a table, which need not know the target."""
    if layout.kind == "images" and path.suffix.lower() != ".npz":
        raise UserError(f"{path} is no picture; the model looks at {', '.join(IMAGES)}, or .npz with images.")
    columns: dict[str, Sequence[object]]
    match path.suffix.lower():
        case ".csv":
            columns = dict(zip(*_csv_columns(path.stem, path), strict=True))
        case ".parquet":
            columns = _parquet_columns(path.stem, path)
        case ".npz":
            arrays = _npz_arrays(path.stem, path)
            values = arrays[INPUTS] if INPUTS in arrays else next(iter(arrays.values()), np.zeros(0))
            return _of_array(path.stem, values, [layout.classes[0]] * len(values)).rows(layout).values
        case _:
            raise UserError(f"{path} is none of {', '.join((*IMAGES, *TABLES))}.")
    if missing := [name for name in layout.columns if name not in columns]:
        raise UserError(f"{path} lacks {', '.join(missing)}, which the model needs.")
    numbers = [list(_numbers(path.stem, path, name, columns[name])) for name in layout.columns]
    return torch.tensor(numbers).T.contiguous()


def _needed(client: str, path: Path, roles: Roles) -> Roles:
    if roles.target is None:
        raise UserError(f"{client}: say which column of {path.name} is to be predicted: `target` COLUMN.")
    return roles


def _csv(client: str, path: Path, roles: Roles) -> Table:
    header, columns = _csv_columns(client, path)
    return _table(client, path, roles, header, columns)


def _csv_columns(client: str, path: Path) -> tuple[list[str], list[list[str]]]:
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            header = next(reader, [])
            rows = [row for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{client}: {path.name} can't be read as CSV in UTF-8: {error}.") from None
    if wrong := next((number for number, row in enumerate(rows, 2) if len(row) != len(header)), None):
        raise UserError(f"{client}: row {wrong} of {path.name} has not as many cells as its header, {len(header)}.")
    if twice := [name for name in dict.fromkeys(header) if header.count(name) > 1]:
        raise UserError(f"{client}: {path.name} has more than one column {twice[0]!r}.")
    return header, [[row[place] for row in rows] for place in range(len(header))]


def _parquet(client: str, path: Path, roles: Roles) -> Table:
    columns = _parquet_columns(client, path)
    return _table(client, path, roles, list(columns), list(columns.values()))


def _parquet_columns(client: str, path: Path) -> dict[str, Sequence[object]]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise UserError(
            f"{client}: reading {path.name} needs one more package: pip install -c constraints.txt '.[parquet]'."
        ) from None
    try:
        table = parquet.read_table(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{client}: {path.name} can't be read as parquet: {error}.") from None
    return {name: column.to_pylist() for name, column in zip(table.column_names, table.columns, strict=True)}


def _table(client: str, path: Path, roles: Roles, header: Sequence[str], columns: Sequence[Sequence[object]]) -> Table:
    for needed in (roles.target, roles.group):
        if needed and needed not in header:
            raise UserError(f"{client}: {path.name} has no column {needed!r}; it has {', '.join(header) or 'none'}.")
    target = str(roles.target)
    if not columns or not columns[0]:
        raise UserError(f"{client} has no samples: {path.name} has a header and no rows.")
    named = dict(zip(header, columns, strict=True))
    labels = [_label(client, path, target, row, value) for row, value in enumerate(named.pop(target), 2)]
    groups = [str(value) for value in named.pop(roles.group)] if roles.group else None
    if not named:
        raise UserError(f"{client}: {path.name} has no column beside {target!r} to predict it from.")
    numbers = [list(_numbers(client, path, name, values)) for name, values in named.items()]
    return Table(client, tuple(named), np.array(numbers, dtype=np.float32).T.copy(), labels, groups)


def _label(client: str, path: Path, target: str, row: int, value: object) -> str:
    """What a class is called: 1, 1.0 and "1" are the same one."""
    text = "" if value is None else str(value).strip()
    if text in ("", "nan", "NaN"):
        raise UserError(f"{client}: row {row} of {path.name} has no {target!r}.")
    try:
        return str(int(float(text))) if float(text).is_integer() else text
    except (ValueError, OverflowError):
        return text


def _numbers(client: str, path: Path, column: str, values: Sequence[object]) -> Iterator[float]:
    for row, value in enumerate(values, 2):
        text = "" if value is None else str(value).strip()
        try:
            number = float(value) if isinstance(value, bool | int | float) else float(text)
        except ValueError:
            what = f"{text!r}" if text else "nothing"
            raise UserError(
                f"{client}: row {row} of {path.name} has {what} in {column!r}, and a model needs numbers: "
                "encode or drop that column, and fill what is missing."
            ) from None
        if not math.isfinite(number):
            raise UserError(f"{client}: row {row} of {path.name} has {number} in {column!r}: fill what is missing.")
        yield number


def _npz(client: str, path: Path, roles: Roles) -> Table | Stack:
    arrays = _npz_arrays(client, path)
    target = roles.target or TARGETS
    for needed in (target, roles.group):
        if needed and needed not in arrays:
            raise UserError(f"{client}: {path.name} has no array {needed!r}; it has {', '.join(arrays) or 'none'}.")
    targets = arrays.pop(target)
    groups = [str(value) for value in arrays.pop(roles.group).tolist()] if roles.group else None
    name = INPUTS if INPUTS in arrays else next(iter(arrays), None)
    if name is None or (len(arrays) > 1 and name != INPUTS):
        raise UserError(f"{client}: call the inputs in {path.name} {INPUTS!r}; it has {', '.join(arrays) or 'none'}.")
    values = arrays[name]
    if len(values) != len(targets) or (groups is not None and len(groups) != len(targets)):
        raise UserError(f"{client}: {path.name} has {len(values)} inputs and {len(targets)} targets.")
    if not len(values):
        raise UserError(f"{client} has no samples: {path.name} is empty.")
    if not np.issubdtype(values.dtype, np.number):
        raise UserError(f"{client}: {name!r} in {path.name} has {values.dtype}, and a model needs numbers.")
    if not np.isfinite(values).all():
        raise UserError(f"{client}: {name!r} in {path.name} has NaN or infinity: fill what is missing.")
    labels = [_label(client, path, target, row, value) for row, value in enumerate(targets.tolist())]
    return replace(_of_array(client, values, labels), groups=groups)


def _npz_arrays(client: str, path: Path) -> dict[str, np.ndarray]:
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as content:
            return {name: content[name] for name in content.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise UserError(f"{client}: {path.name} can't be read: {error}.") from None


def _of_array(client: str, values: np.ndarray, labels: list[str]) -> Table | Stack:
    if values.ndim == 2:
        return Table(client, tuple(map(str, range(values.shape[1]))), values.astype(np.float32), labels)
    if values.ndim == 3:
        values = values[:, None]
    elif values.ndim == 4 and values.shape[-1] in (1, 3) and values.shape[1] not in (1, 3):
        values = values.transpose(0, 3, 1, 2)
    if values.ndim != 4:
        raise UserError(f"{client}: inputs have {values.ndim} dimensions; a table has 2, images have 3 or 4.")
    values = values if values.dtype == np.uint8 else values.astype(np.float32)
    return Stack(client, np.ascontiguousarray(values), labels)

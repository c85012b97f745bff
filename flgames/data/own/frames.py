"""Tables as files have them: read with pandas, cells as they were written."""

from __future__ import annotations

import csv
import functools
import gzip
import io
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from flgames.data.own.cells import is_empty
from flgames.errors import UserError

if TYPE_CHECKING:
    import pandas

TEXTS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
PARQUET, KEEL, NPZ = ".parquet", ".dat", ".npz"
TABLES = (*TEXTS, PARQUET, KEEL, NPZ)
"""How the names of tables end."""

SEPARATORS = ",;\t|"

DECIMAL_COMMA = r"[+-]?(\d{1,3}(\.\d{3})+|\d*)(,\d+)?([eE][-+]?\d+)?"


def ending(path: Path) -> str | None:
    """How the name of a table ends; None: it is no table."""
    return next((each for each in sorted(TABLES, key=len, reverse=True) if path.name.lower().endswith(each)), None)


def read_frame(client: str, path: Path) -> pandas.DataFrame:
    """All columns of a table in a file, with text where the file has text."""
    try:
        changed = path.stat().st_mtime_ns
    except OSError as error:
        raise UserError(f"{client}: {path} can't be read: {error.strerror}.") from None
    try:
        return _read(path, changed)
    except _Unreadable as why:
        raise UserError(f"{client}: {why}") from None


class _Unreadable(Exception):
    """Why a file is no table."""


@functools.lru_cache(maxsize=2)
def _read(path: Path, changed: int) -> pandas.DataFrame:
    """Those read last are remembered: one file may have the rows of fifty clients."""
    match ending(path):
        case ".parquet":
            frame = _parquet(path)
        case ".dat":
            frame = _keel(path)
        case _:
            frame = _separated(path)
    names = [str(name) for name in frame.columns]
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise _Unreadable(f"{path.name} has more than one column {twice[0]!r}.")
    return frame.set_axis(names, axis=1)


def _separated(path: Path) -> pandas.DataFrame:
    import pandas

    try:
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix.lower() == ".gz" else content).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError, EOFError, zlib.error) as error:
        raise _Unreadable(f"{path.name} can't be read as CSV in UTF-8: {error}.") from None
    if "\n" not in text:
        text = text.replace("\r", "\n")
    try:
        separator = _separator(text.partition("\n")[0])
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
    except csv.Error as error:
        raise _Unreadable(f"{path.name} can't be read as CSV in UTF-8: {error}.") from None
    header, body = ([name.strip() for name in rows[0]], rows[1:]) if rows else ([], [])
    if wrong := next((number for number, row in enumerate(body, 2) if len(row) != len(header)), None):
        raise _Unreadable(f"row {wrong} of {path.name} has not as many cells as its header, {len(header)}.")
    frame = pandas.DataFrame(body, columns=header, dtype=object)
    return _with_points(frame) if separator == ";" else frame


def _separator(header: str) -> str:
    """What stands between the names of columns: the one that parts them into most."""
    return max(SEPARATORS, key=lambda each: len(next(csv.reader([header], delimiter=each), [])))


def _with_points(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Where semicolons part cells, commas may be decimal: columns of such numbers are written with points."""
    for number in range(frame.shape[1]):
        cells = frame.iloc[:, number].astype(str)
        present = cells[~cells.map(is_empty)].str.strip()
        if present.str.fullmatch(DECIMAL_COMMA).all() and present.str.contains(",").any():
            frame.isetitem(number, cells.str.replace(".", "").str.replace(",", ".").where(~cells.map(is_empty), ""))
    return frame


def _parquet(path: Path) -> pandas.DataFrame:
    import pandas

    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise _Unreadable(
            f"reading {path.name} needs one more package: pip install -c constraints.txt '.[parquet]'."
        ) from None
    try:
        frame = pandas.read_parquet(path, engine="pyarrow")
        for number, kind in enumerate(frame.dtypes):
            if isinstance(kind, pandas.StringDtype):
                frame.iloc[:, number].astype(object)  # text that was damaged is found here
        return frame if frame.index.names == [None] else frame.reset_index()
    except Exception as error:  # damaged files fail in many ways
        raise _Unreadable(f"{path.name} can't be read as parquet: {error}.") from None


def _keel(path: Path) -> pandas.DataFrame:
    import pandas

    from flgames.data.keel import read_keel

    try:
        _, columns = read_keel(path)
    except (OSError, ValueError) as error:
        raise _Unreadable(f"{path.name} can't be read as a table of KEEL: {error}.") from None
    return pandas.DataFrame(columns, dtype=object)

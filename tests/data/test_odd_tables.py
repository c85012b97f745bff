"""Tables that are whole, and that no model can be trained on: one sentence says why."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from flgames.data.own.files import read, read_inputs
from flgames.data.own.layout import Layout
from flgames.data.own.roles import Roles
from flgames.data.own.source import OwnData, OwnOptions, surveys_of
from flgames.errors import UserError
from tests.data.mutated import ROWS, base_frame

TARGET = Roles(target="sick")
INPUTS, TARGETS = np.arange(2.0 * ROWS).reshape(ROWS, 2), np.arange(ROWS) % 2


@pytest.mark.parametrize("number", ["1e39", "-1e39", "1e31", "9" * 60])
def test_numbers_that_are_too_large_are_refused(number: str, tmp_path: Path) -> None:
    for client in "ab":
        frame = base_frame(0).astype({"age": str})
        frame.loc[3, "age"] = number
        frame.to_csv(tmp_path / f"{client}.csv", index=False)
    with pytest.raises(UserError, match=r"a, in a.csv: 'age' has numbers beyond 1e\+30"):
        surveys_of(str(tmp_path), TARGET)


def test_odd_ends_of_lines_give_a_sentence(tmp_path: Path) -> None:
    content = base_frame(0).to_csv(index=False).replace("\n", "\x00\n")
    (tmp_path / "a.csv").write_bytes(content.encode())
    with pytest.raises(UserError):
        read("a", tmp_path / "a.csv", TARGET)


@pytest.mark.parametrize(
    ("arrays", "why"),
    [
        ({"X": np.array(1.0), "y": TARGETS}, "is one value, and no array"),
        ({"X": INPUTS, "y": np.array(1)}, "is one value, and no array"),
        ({"X": INPUTS[:, :0], "y": TARGETS}, "there is nothing in it"),
        ({"X": np.zeros((ROWS, 0, 4)), "y": TARGETS}, "there is nothing in it"),
        ({"X": INPUTS * 1j, "y": TARGETS}, "complex128, and a model needs numbers"),
        ({"X": INPUTS.astype(str), "y": TARGETS}, "a model needs numbers"),
        ({"X": np.zeros(ROWS, [("a", float)]), "y": TARGETS}, "a model needs numbers"),
        ({"X": INPUTS.astype(object), "y": TARGETS}, "can't be read"),
        ({"X": INPUTS * 1e38, "y": TARGETS}, r"numbers beyond 1e\+30"),
        ({"X": (INPUTS + 1) * float("inf"), "y": TARGETS}, "has infinity"),
        ({"X": INPUTS, "y": INPUTS}, "not one a sample"),
        ({"X": INPUTS.reshape(ROWS, 1, 1, 1, 2), "y": TARGETS}, "have 5 dimensions"),
    ],
)
def test_arrays_that_are_none_give_a_sentence(arrays: dict[str, np.ndarray], why: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **arrays)  # type: ignore[arg-type]
    with pytest.raises(UserError, match=why):
        read("a", tmp_path / "a.npz").survey()


@pytest.mark.parametrize("arrays", [{}, {"X": np.array(1.0)}, {"X": np.full((2, 1), 1e39)}, {"X": np.array(["a"])}])
def test_new_inputs_that_are_none_give_a_sentence(arrays: dict[str, np.ndarray], tmp_path: Path) -> None:
    layout = Layout(kind="table", shape=(1,), columns=("0",), classes=("0", "1"), mean=(0.0,), deviation=(1.0,))
    np.savez(tmp_path / "new.npz", **arrays)  # type: ignore[arg-type]
    with pytest.raises(UserError):
        read_inputs(tmp_path / "new.npz", layout)


def often(*values: object) -> list[object]:
    return [values[row % len(values)] for row in range(ROWS)]


ODD: dict[str, Callable[[], Any]] = {
    "lists": lambda: often([1, 2], [3]),
    "structs": lambda: often({"a": 1}, {"a": 2}),
    "bytes": lambda: often(b"x", b"y"),
    "decimals": lambda: often(decimal.Decimal("1.5"), decimal.Decimal("2.5")),
    "large decimals": lambda: often(decimal.Decimal("1e36"), decimal.Decimal("2e36")),
    "times": lambda: often(datetime.time(1), datetime.time(2)),
    "dates": lambda: often(datetime.date(1, 1, 1), datetime.date(9999, 12, 31)),
    "durations": lambda: pandas.to_timedelta(often(1, 2), unit="h"),
    "moments": lambda: pandas.to_datetime(often("2024-01-01", "2024-02-01"), utc=True),
    "nothing": lambda: often(None),
    "truths and nothing": lambda: pandas.array(often(True, None, False), dtype="boolean"),
    "whole numbers and nothing": lambda: pandas.array(often(1, None, 2**62), dtype="Int64"),
    "categories": lambda: pandas.Categorical(often("a", None)),
    "infinity": lambda: often(1.0, float("inf")),
    "too large": lambda: often(1.0, 1e300),
}


@pytest.mark.parametrize("column", ["age", "sick"])
@pytest.mark.parametrize("kind", ODD)
def test_odd_columns_of_parquet_are_used_or_give_a_sentence(kind: str, column: str, tmp_path: Path) -> None:
    for client in "ab":
        base_frame(0).assign(**{column: ODD[kind]()}).to_parquet(tmp_path / f"{client}.parquet")
    with suppress(UserError):
        options = OwnOptions.of(str(tmp_path), TARGET, None, (), surveys_of(str(tmp_path), TARGET))
        OwnData(options).training_clients()

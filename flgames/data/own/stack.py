"""Arrays in an .npz file: a table of numbers, or images of one size."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from flgames.data.own.cells import LARGEST
from flgames.data.own.columns import FEWEST
from flgames.data.own.layout import Layout
from flgames.data.own.records import InMemory
from flgames.data.own.roles import Roles
from flgames.data.own.survey import Survey
from flgames.data.own.table import Table, labels_of
from flgames.errors import UserError

INPUTS, TARGETS = "X", "y"
"""What the arrays of an .npz file are called by default."""


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


def read_npz(client: str, path: Path, roles: Roles) -> Table | Stack:
    """Inputs and targets in a file of arrays."""
    for named in roles.given:
        if named not in ("target", "group_column"):
            raise UserError(f"{client}: `{named}` is for tables with names of columns, and {path.name} has none.")
    arrays = arrays_in(client, path)
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
    check_numbers(client, values, f"{name!r} in {path.name}")
    if targets.ndim > 1:
        raise UserError(f"{client}: {target!r} in {path.name} has the shape {targets.shape}, and not one a sample.")
    labels = labels_of(client, targets.tolist(), f"{target!r} in {path.name}")
    records = replace(of_array(client, values, labels), groups=groups)
    return replace(records, fewest=FEWEST) if isinstance(records, Table) else records


def check_numbers(client: str, values: np.ndarray, where: str) -> None:
    """Refuse inputs that a model can't compute with."""
    if values.dtype.kind not in "iuf":
        raise UserError(f"{client}: {where} has {values.dtype}, and a model needs numbers.")
    if not all(values.shape):
        raise UserError(f"{client}: {where} has the shape {values.shape}: there is nothing in it.")
    if not np.isfinite(values).all() and (values.ndim > 2 or np.isinf(values).any()):
        what = "NaN or infinity" if values.ndim > 2 else "infinity"
        raise UserError(f"{client}: {where} has {what}.")
    if (np.abs(values.astype(np.float64)) > LARGEST).any():
        raise UserError(f"{client}: {where} has numbers beyond {LARGEST:g}.")


def arrays_in(client: str, path: Path) -> dict[str, np.ndarray]:
    """All arrays of a file, by name."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as content:
            arrays = {name: content[name] for name in content.files}
    except Exception as error:  # damaged and encrypted files fail in many ways
        raise UserError(f"{client}: {path.name} can't be read: {error}.") from None
    if single := [name for name, values in arrays.items() if not values.ndim]:
        raise UserError(f"{client}: {single[0]!r} in {path.name} is one value, and no array.")
    return arrays


def of_array(client: str, values: np.ndarray, labels: list[str]) -> Table | Stack:
    """A table of numbers, whose columns are called 0, 1, ..., or images."""
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

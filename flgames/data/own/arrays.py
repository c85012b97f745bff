"""What people pass to ``fit`` as clients: arrays, tensors or map-style datasets, as records like any other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from flgames.data.own.dataframes import FrameRecords, is_frame
from flgames.data.own.labels import check_labels, class_name, plain
from flgames.data.own.layout import Layout
from flgames.data.own.records import InMemory, Rows
from flgames.data.own.survey import Survey
from flgames.errors import UserError

CHUNK = 512
"""Samples that are looked at together. It decides the bits of sums, and so of what is standardised by them."""


class Given(Protocol):
    """Samples as they were given."""

    def __len__(self) -> int: ...

    def read(self, index: Tensor) -> tuple[Tensor, list[Hashable]]:
        """Inputs and labels of these samples."""

    def rows(self) -> Rows:
        """All inputs."""


@dataclass(frozen=True)
class Arrays:
    """Inputs and labels in memory."""

    inputs: Tensor
    targets: list[Hashable]

    def __len__(self) -> int:
        return len(self.inputs)

    def read(self, index: Tensor) -> tuple[Tensor, list[Hashable]]:
        return self.inputs.index_select(0, index), [self.targets[number] for number in index.tolist()]

    def rows(self) -> Rows:
        return InMemory(self.inputs)


@dataclass(frozen=True)
class Streamed:
    """A map-style dataset: samples are read when a batch needs them, and never kept."""

    dataset: Any

    def __len__(self) -> int:
        return len(self.dataset)

    def read(self, index: Tensor) -> tuple[Tensor, list[Hashable]]:
        pairs = [self.dataset[number] for number in index.tolist()]
        return torch.stack([torch.as_tensor(inputs) for inputs, _ in pairs]), [plain(label) for _, label in pairs]

    def take(self, index: Tensor) -> Tensor:
        return torch.stack([torch.as_tensor(self.dataset[number][0]) for number in index.tolist()])

    def rows(self) -> Rows:
        return self


@dataclass
class ArrayRecords:
    """One client's arrays. Labels that are equal, as 1 and True, are one class; 1 and "1" are two."""

    client: str
    given: Given
    found: dict[str, Hashable] = field(default_factory=dict)
    """Every label that was found, by that name."""
    labels: list[str] = field(default_factory=list)
    groups: list[str] | None = None

    def survey(self) -> Survey:
        """Shape, labels and moments, in one pass; what can't be used is an error that names the client."""
        size = len(self.given)
        if not size:
            raise UserError(f"{self.client} has no samples.")
        self.labels.clear()
        shape: tuple[int, ...] = ()
        sums, squares = torch.zeros(1, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
        indicators = torch.ones(1, dtype=torch.bool)
        count = 0
        for first in range(0, size, CHUNK):
            inputs = self._checked(torch.arange(first, min(first + CHUNK, size)))
            shape = shape or tuple(inputs.shape[1:])
            features = _features_last(inputs.double())
            sums, squares = sums + features.sum(0), squares + (features**2).sum(0)
            indicators = indicators & ((features == 0) | (features == 1)).all(0)
            count += len(features)
        is_table = len(shape) == 1
        return Survey(
            kind="images" if len(shape) == 3 else "table",
            shape=shape,
            samples=Counter(self.labels),
            count=count,
            sums=tuple(sums.tolist()),
            squares=tuple(squares.tolist()),
            indicators=tuple(indicators.tolist()) if is_table else (),
        )

    def rows(self, layout: Layout) -> Rows:
        return self.given.rows()

    def _checked(self, index: Tensor) -> Tensor:
        """Inputs of these samples; their labels are noted."""
        try:
            inputs, labels = self.given.read(index)
        except (RuntimeError, ValueError, TypeError) as error:
            raise UserError(f"Samples of {self.client} can't be put together: {error}") from None
        if inputs.dim() < 2:
            raise UserError(
                f"{self.client} has one number a sample: X needs a row for every sample, of one number at least."
            )
        check_labels(self.client, labels)
        if not torch.isfinite(inputs.float()).all():
            raise UserError(
                f"{self.client} has NaN or infinity in its inputs: fill what is missing, or pass a DataFrame, whose "
                "empty cells are filled."
            )
        named = [class_name(label) for label in labels]
        self.found |= dict(zip(named, labels, strict=True))
        self.labels += named
        return inputs


GivenRecords = ArrayRecords | FrameRecords
"""What one client has, as it was given."""


def as_records(X: Any, y: Any = None, groups: Any = None) -> dict[str, GivenRecords]:  # noqa: N803
    """Clients by name, from a mapping, or from arrays and the group of every row."""
    if isinstance(X, Mapping):
        if y is not None or groups is not None:
            raise UserError("fit takes clients as {name: (X, y)}, or X, y and groups; not both.")
        _check_names(X)
        records = {str(name): _records(str(name), own) for name, own in X.items()}
        if len({type(each) for each in records.values()}) > 1:
            raise UserError("Some clients have a DataFrame and others an array: give all of them the same.")
        return records
    if y is None or groups is None:
        raise UserError("fit needs to know who has what: fit({name: (X, y), ...}) or fit(X, y, groups=...).")
    labels, names = list(map(plain, y)), np.asarray(groups)
    inputs = X if is_frame(X) else _tensor(X, names.tolist())
    if not len(inputs) == len(labels) == len(names):
        raise UserError(f"X, y and groups have {len(inputs)}, {len(labels)} and {len(names)} rows.")
    found: dict[str, GivenRecords] = {}
    _check_names(dict.fromkeys(names.tolist()))
    for name in dict.fromkeys(names.tolist()):
        rows = np.flatnonzero(names == name)
        theirs = [labels[row] for row in rows]
        if is_frame(X):
            found[str(name)] = FrameRecords.of(str(name), X.iloc[rows], theirs)
        else:
            found[str(name)] = ArrayRecords(str(name), Arrays(inputs[torch.from_numpy(rows)], theirs))
    return found


def _check_names(names: Iterable[object]) -> None:
    named = [str(name) for name in names]
    if twice := [name for name in named if named.count(name) > 1]:
        raise UserError(f"Two clients are called {twice[0]!r}: give names of one type.")
    if "nan" in named or "None" in named:
        raise UserError("Some rows have no client: say in groups whose they are, or leave them out.")


def check_shapes(surveys: Mapping[str, Survey]) -> None:
    """Arrays can't be resized as image files are: all clients' inputs have one shape."""
    first, one = next(iter(surveys.items()))
    for name, other in surveys.items():
        if other.shape != one.shape:
            raise UserError(f"Inputs of {name} have the shape {other.shape}, and those of {first} {one.shape}.")


def rows_of(X: Any) -> Tensor:  # noqa: N803
    """Inputs to predict, as a tensor."""
    if isinstance(X, Tensor | np.ndarray | Sequence) or hasattr(X, "__array__"):
        return _tensor(X)
    return torch.stack([torch.as_tensor(X[number][0]) for number in range(len(X))])


def batches(inputs: Tensor, size: int = CHUNK) -> Iterator[Tensor]:
    for first in range(0, len(inputs), size):
        yield inputs[first : first + size]


def _features_last(inputs: Tensor) -> Tensor:
    """One row a pixel for images, whose first dimension is channels; one a sample for all else."""
    if inputs.dim() == 4:
        return inputs.permute(0, 2, 3, 1).reshape(-1, inputs.shape[1])
    return inputs.reshape(len(inputs), -1) if inputs.dim() > 2 else inputs


def _records(name: str, given: Any) -> GivenRecords:
    if isinstance(given, tuple | list) and len(given) == 2 and is_frame(given[0]):
        return FrameRecords.of(name, given[0], [plain(label) for label in given[1]])
    return ArrayRecords(name, _given(name, given))


def _given(name: str, given: Any) -> Given:
    if isinstance(given, tuple | list) and len(given) == 2:
        try:
            inputs, labels = _tensor(given[0], name), [plain(label) for label in given[1]]
        except UserError:
            raise
        except (ValueError, TypeError) as error:
            raise UserError(f"X of {name} is no array of numbers: {error}.") from None
        if len(inputs) != len(labels):
            raise UserError(f"{name} has {len(inputs)} inputs and {len(labels)} labels.")
        return Arrays(inputs, labels)
    if hasattr(given, "__getitem__") and hasattr(given, "__len__"):
        return Streamed(given)
    raise UserError(f"{name}: a client is (X, y) or a map-style dataset, not {type(given).__name__}.")


def _tensor(values: Any, clients: str | Sequence[object] = "X") -> Tensor:
    """Numbers as a tensor; what is none is named by its column and its client: one, or that of every row."""
    if hasattr(values, "tocsr"):
        whose = clients if isinstance(clients, str) else "every client"
        raise UserError(f"The inputs of {whose} are sparse in all columns: make them dense, by .toarray().")
    if not isinstance(values, Tensor):
        array = np.asarray(values)
        numbers = array if array.dtype.kind not in "OUS" else _of_words(array, clients)
        values = torch.as_tensor(numbers if numbers.flags.writeable else numbers.copy())
    tensor: Tensor = values
    return tensor.float() if tensor.is_floating_point() else tensor


def _of_words(array: np.ndarray, clients: str | Sequence[object]) -> np.ndarray:
    """An array of any objects as numbers, if they are."""
    try:
        return array.astype(np.float32)
    except (ValueError, TypeError):
        for place in np.ndindex(array.shape):
            try:
                float(array[place])
            except (ValueError, TypeError):
                whose = clients if isinstance(clients, str) else clients[place[0]]
                column = place[1] if len(place) > 1 else 0
                raise UserError(
                    f"Column {column} of {whose} has words, and an array must have numbers: pass a DataFrame, whose "
                    "words are encoded."
                ) from None
        raise

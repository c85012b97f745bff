"""What people pass to ``fit`` as clients: arrays, tensors or map-style datasets, looked through once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from flgames.errors import UserError
from flgames.standardise import Standardise, moments

CHUNK = 512
"""Samples that are looked at together."""


class Data(Protocol):
    """One client's samples as they were given."""

    def __len__(self) -> int: ...

    def take(self, index: Tensor) -> tuple[Tensor, list[Hashable]]:
        """Inputs and labels of these samples."""


@dataclass(frozen=True)
class Arrays:
    """Inputs and labels in memory."""

    inputs: Tensor
    labels: list[Hashable]

    def __len__(self) -> int:
        return len(self.inputs)

    def take(self, index: Tensor) -> tuple[Tensor, list[Hashable]]:
        return self.inputs.index_select(0, index), [self.labels[number] for number in index.tolist()]


@dataclass(frozen=True)
class Streamed:
    """A map-style dataset: samples are read when a batch needs them, and never kept."""

    dataset: Any

    def __len__(self) -> int:
        return len(self.dataset)

    def take(self, index: Tensor) -> tuple[Tensor, list[Hashable]]:
        pairs = [self.dataset[number] for number in index.tolist()]
        return torch.stack([torch.as_tensor(inputs) for inputs, _ in pairs]), [_plain(label) for _, label in pairs]


@dataclass(frozen=True)
class Facts:
    """What was found in one client's samples."""

    shape: tuple[int, ...]
    labels: Mapping[Hashable, int]
    count: int
    sums: Tensor
    squares: Tensor


@dataclass(frozen=True)
class Encoded:
    """A client's samples for training: made ready, with labels as numbers."""

    data: Data
    numbers: Mapping[Hashable, int]
    ready: nn.Module

    def __len__(self) -> int:
        return len(self.data)

    @torch.no_grad()
    def batch(self, index: Tensor) -> tuple[Tensor, Tensor]:
        inputs, labels = self.data.take(index)
        return self.ready(inputs.float()), torch.tensor([self.numbers[label] for label in labels])


def as_clients(X: Any, y: Any = None, groups: Any = None) -> dict[str, Data]:  # noqa: N803
    """Clients by name, from a mapping, or from arrays and the group of every row."""
    if isinstance(X, Mapping):
        if y is not None or groups is not None:
            raise UserError("fit takes clients as {name: (X, y)}, or X, y and groups; not both.")
        return {str(name): _data(str(name), given) for name, given in X.items()}
    if y is None or groups is None:
        raise UserError("fit needs to know who has what: fit({name: (X, y), ...}) or fit(X, y, groups=...).")
    inputs, labels, names = _tensor(X), list(map(_plain, y)), np.asarray(groups)
    if not len(inputs) == len(labels) == len(names):
        raise UserError(f"X, y and groups have {len(inputs)}, {len(labels)} and {len(names)} rows.")
    found: dict[str, Data] = {}
    for name in dict.fromkeys(names.tolist()):
        rows = np.flatnonzero(names == name)
        found[str(name)] = Arrays(inputs[torch.from_numpy(rows)], [labels[row] for row in rows])
    return found


def look_through(name: str, data: Data) -> Facts:
    """Shape, labels and moments of a client's samples; what can't be used is an error that names the client."""
    if not len(data):
        raise UserError(f"{name} has no samples.")
    labels: Counter[Hashable] = Counter()
    shape: tuple[int, ...] | None = None
    sums, squares = torch.zeros(1, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
    count = 0
    for first in range(0, len(data), CHUNK):
        index = torch.arange(first, min(first + CHUNK, len(data)))
        try:
            inputs, own = data.take(index)
        except (RuntimeError, ValueError, TypeError) as error:
            raise UserError(f"Samples of {name} can't be put together: {error}") from None
        if inputs.dim() < 2:
            raise UserError(f"{name} has one number a sample: X needs a row for every sample, of one number at least.")
        shape = shape or tuple(inputs.shape[1:])
        if unknown := [label for label in own if label != label]:
            raise UserError(f"{name} has the label {unknown[0]}: fill what is missing.")
        if not torch.isfinite(inputs.float()).all():
            raise UserError(f"{name} has NaN or infinity in its inputs: fill what is missing.")
        labels.update(own)
        features = _features_last(inputs.double())
        sums, squares = sums + features.sum(0), squares + (features**2).sum(0)
        count += len(features)
    assert shape is not None
    return Facts(shape, labels, count, sums, squares)


def check_alike(facts: Mapping[str, Facts]) -> tuple[int, ...]:
    """The shape that all clients' inputs have."""
    first, one = next(iter(facts.items()))
    for name, other in facts.items():
        if other.shape != one.shape:
            raise UserError(f"Inputs of {name} have the shape {other.shape}, and those of {first} {one.shape}.")
    return one.shape


def ready_for(facts: Mapping[str, Facts], shape: tuple[int, ...]) -> Standardise:
    """What makes all clients' inputs ready, from their sums and counts alone."""
    count = sum(each.count for each in facts.values())
    told = list(facts.values())
    return Standardise(shape).fit(*moments(count, [each.sums for each in told], [each.squares for each in told]))


def _features_last(inputs: Tensor) -> Tensor:
    """One row a pixel for images, whose first dimension is channels; one a sample for all else."""
    if inputs.dim() == 4:
        return inputs.permute(0, 2, 3, 1).reshape(-1, inputs.shape[1])
    return inputs.reshape(len(inputs), -1) if inputs.dim() > 2 else inputs


def _data(name: str, given: Any) -> Data:
    if isinstance(given, tuple | list) and len(given) == 2:
        try:
            inputs, labels = _tensor(given[0]), [_plain(label) for label in given[1]]
        except (ValueError, TypeError) as error:
            raise UserError(f"X of {name} is no array of numbers: {error}.") from None
        if len(inputs) != len(labels):
            raise UserError(f"{name} has {len(inputs)} inputs and {len(labels)} labels.")
        return Arrays(inputs, labels)
    if hasattr(given, "__getitem__") and hasattr(given, "__len__"):
        return Streamed(given)
    raise UserError(f"{name}: a client is (X, y) or a map-style dataset, not {type(given).__name__}.")


def _tensor(values: Any) -> Tensor:
    tensor = values if isinstance(values, Tensor) else torch.as_tensor(np.asarray(values))
    return tensor.float() if tensor.is_floating_point() else tensor


def _plain(label: Any) -> Hashable:
    """A label as a plain value: that of a tensor or of NumPy is the same as Python's."""
    value: Hashable = label.item() if hasattr(label, "item") else label
    return value


def rows_of(X: Any) -> Tensor:  # noqa: N803
    """Inputs to predict, as a tensor."""
    if isinstance(X, Tensor | np.ndarray | Sequence) or hasattr(X, "__array__"):
        return _tensor(X)
    return torch.stack([torch.as_tensor(X[number][0]) for number in range(len(X))])


def batches(inputs: Tensor, size: int = CHUNK) -> Iterator[Tensor]:
    for first in range(0, len(inputs), size):
        yield inputs[first : first + size]

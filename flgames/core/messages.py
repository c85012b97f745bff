"""What a server and its clients say to each other: actions, questions, answers, and what a proper answer looks like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

import torch
from torch import Tensor

from flgames.core.state import State
from flgames.models.architecture import Weights
from flgames.models.ensemble import BALANCE

MODEL = "model"
"""The author of a model that all clients share, in methods without players: an ensemble with a single member."""

HISTORY = "history"
"""The author of the mean of what all linear players have played lately, where it can't be told from the model's."""

CONTESTED = "contested"
"""The author of the direction in which the clients' own models, or the players, differ most."""

NO_PLAYERS = (MODEL, HISTORY, CONTESTED, BALANCE)
"""Authors of what is no player's action."""

Number = int | float

NUMBER_BYTES = 8

ROUNDING = 1e-6
"""By how much of itself a sum may be off: sums of many numbers are rounded."""

TIMES_WEIGHTS, TIMES_GRADIENT = 1e3, 1e6
"""How many times their peers' norm weights and gradients may have. Honest gradients differ more: some clients have
fitted their samples, and penalties are multiplied."""

SHARE = (0.0, 1.0 + ROUNDING)
"""What a share of something lies between."""

LARGEST = 1e30
"""No number that a client reports is as large as this; one that is could end the server's arithmetic."""


@dataclass(frozen=True)
class Action:
    """What a player played: its predictor's weights, and the version that orders its actions.

    Version 0 is the initial action, which the server drew; it has not been played.
    """

    author: str
    version: int
    weights: Weights

    @property
    def key(self) -> tuple[str, int]:
        return self.author, self.version


@dataclass(frozen=True)
class Form:
    """What a proper answer looks like: type and shape of its tensors, and the names of its numbers."""

    tensors: Mapping[str, tuple[torch.dtype, torch.Size]] = field(default_factory=dict)
    numbers: tuple[str, ...] = ()
    times: float | None = None
    """How many times its own first norm, or its peers', an answer's norm may be; None: it is not bounded."""
    between: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """The least and the largest that a number, or a number of a tensor, can honestly be."""
    counts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Tensors that are counts, and how many samples they count: at least, and at most."""

    @classmethod
    def of(cls, like: Weights, *numbers: str, times: float | None = None) -> Self:
        """That of an answer with such tensors and these numbers."""
        return cls({name: (tensor.dtype, tensor.shape) for name, tensor in like.items()}, numbers, times)

    @property
    def bytes(self) -> int:
        """What such an answer weighs, counted as :func:`bytes_up` does."""
        tensors = sum(shape.numel() * dtype.itemsize for dtype, shape in self.tensors.values())
        return tensors + NUMBER_BYTES * len(self.numbers)

    def malformed(self, answer: Answer) -> Iterator[str]:
        """What is not of the kind that was asked for, in words that fit after "its answer"."""
        for name in dict.fromkeys((*self.tensors, *answer.tensors)):
            if name not in answer.tensors:
                yield f"lacks the tensor {name}"
            elif name not in self.tensors:
                yield f"has a tensor {name}, which nobody asked for"
            else:
                dtype, shape = self.tensors[name]
                tensor = answer.tensors[name]
                if (tensor.dtype, tensor.shape) != (dtype, shape):
                    yield f"has {name} as {_form(tensor.dtype, tensor.shape)} instead of {_form(dtype, shape)}"
        if set(answer.numbers) != set(self.numbers):
            yield f"has the numbers {sorted(answer.numbers)} instead of {sorted(self.numbers)}"

    def implausible(self, answer: Answer) -> Iterator[str]:
        """What is of the right kind, and can't be true."""
        for name, (least, most) in self.counts.items():
            counted = answer.tensors[name].double()  # whole numbers might add up to more than there are
            if counted.min() < 0 or not least <= counted.sum() <= most or (counted != counted.round()).any():
                yield f"counts {counted.sum():.0f} samples, and {least} to {most} were to be counted"
        for name, (low, high) in self.between.items():
            said = answer.tensors[name] if name in answer.tensors else torch.tensor(answer.numbers[name])
            if not low <= said.min() <= said.max() <= high:
                yield f"has {said.min():.3g} to {said.max():.3g} in {name}, which is {low:.3g} to {high:.3g}"

    def unbounded(self, answer: Answer) -> Iterator[str]:
        """What is of the right kind, and so large, or so undefined, that nobody can go on from it."""
        for name, tensor in answer.tensors.items():
            if not _is_finite(tensor):
                yield f"has NaN or infinity in {name}"
        for name, number in answer.numbers.items():
            if not abs(number) < LARGEST:  # NaN is not either
                yield f"says that {name} is {number:.3g}" if isinstance(number, float) else f"has a huge {name}"


@dataclass(frozen=True)
class MomentForm(Form):
    """That of sums and sums of squares of features, over so many samples."""

    samples: int = 1

    @classmethod
    def over(cls, features: int, samples: int) -> Self:
        like = (torch.float64, torch.Size((features,)))
        return cls({"sums": like, "squares": like}, samples=samples)

    def implausible(self, answer: Answer) -> Iterator[str]:
        sums, squares = answer.tensors["sums"], answer.tensors["squares"]
        if (sums.square() / self.samples > squares * (1 + ROUNDING)).any():
            yield f"has squares that add up to less than those of {self.samples} numbers with these sums"


def _form(dtype: torch.dtype, shape: torch.Size) -> str:
    return f"{str(dtype).removeprefix('torch.')}{list(shape)}"


def _is_finite(tensor: Tensor) -> bool:
    # A finite sum needs finite numbers, and is faster; finite numbers may have an infinite sum.
    return bool(tensor.sum().isfinite()) or bool(tensor.isfinite().all())


@dataclass(frozen=True)
class Ask:
    """A question to one client: the task, the actions it has not seen yet, and a few plain arguments."""

    task: str
    news: tuple[Action, ...] = ()
    arguments: Mapping[str, Number] = field(default_factory=dict)
    number: int = 0
    """The server counts its questions; the answer has the same number."""
    after: int | None = None
    """The last question that this client is known to have answered. None: forget what you know of the others, the news
    are all there is."""
    form: Form = Form()
    """What the answer must look like; this does not travel."""


@dataclass(frozen=True)
class Answer:
    """What one client returns: tensors and numbers, never samples."""

    tensors: Weights = field(default_factory=dict)
    numbers: Mapping[str, Number] = field(default_factory=dict)


@dataclass(frozen=True)
class Answers:
    """Who answered, and who failed and why."""

    answered: Mapping[str, Answer]
    failed: Mapping[str, str] = field(default_factory=dict)
    unbounded: frozenset[str] = frozenset()
    """Of those who failed: whose answer was NaN, or without bound. What they were told may be to blame."""


@dataclass(frozen=True)
class Saved:
    """What became of saving the clients' states."""

    states: Mapping[str, State] = field(default_factory=dict)
    """What the server has to keep for them; nothing where clients have disks of their own."""
    failed: Mapping[str, str] = field(default_factory=dict)


def _weights_bytes(weights: Weights) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in weights.values())


def bytes_down(ask: Ask) -> int:
    """Bytes from server to client: tensors as they are, each number as eight bytes."""
    return sum(_weights_bytes(action.weights) for action in ask.news) + NUMBER_BYTES * len(ask.arguments)


def bytes_up(answer: Answer) -> int:
    """Bytes from client to server, counted as :func:`bytes_down` does."""
    return _weights_bytes(answer.tensors) + NUMBER_BYTES * len(answer.numbers)

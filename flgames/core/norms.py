"""How large what clients send is, beside what they sent first and what their peers send.

A finite answer can be so large that whoever hears of it computes NaN. One client's answer is bounded by its own first
one and by the median of the others', so that nobody's answers can grow beyond everybody's, be it in many rounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import torch

from flgames.core.messages import Answer, Form
from flgames.core.state import State, taken
from flgames.models.architecture import Weights

STANDS_OUT = 10.0
"""Times the median of its peers' norms: who is above it is blamed when others turn NaN."""

SMALLEST = 1.0
"""A norm that is below this is none that another could be too large beside."""


def norm_of(weights: Weights) -> float:
    """Of all that is in floating point, as one vector; infinite where squares are."""
    found = [torch.linalg.vector_norm(tensor) for tensor in weights.values() if tensor.is_floating_point()]
    return math.hypot(*map(float, found))


class Norms:
    """The norms of what every client has sent, by kind: the first and the last that were taken."""

    def __init__(self) -> None:
        self.first: dict[str, dict[str, float]] = {}
        self.last: dict[str, dict[str, float]] = {}

    def note(self, name: str, weights: Weights) -> None:
        """What is taken for a client's own."""
        self._note(_kind(weights), name, norm_of(weights))

    def faults(self, answers: Mapping[str, Answer], forms: Mapping[str, Form]) -> dict[str, str]:
        """Whose answer is too large to be taken, in words that fit after "its answer"; all others are noted."""
        bounded = {name: answer.tensors for name, answer in answers.items() if forms[name].times}
        sizes = {name: norm_of(tensors) for name, tensors in bounded.items()}
        wrong = {}
        heard = {kind: self.last.get(kind, {}) | sizes for kind in {_kind(each) for each in bounded.values()}}
        others = {kind: _medians_of_others(each) for kind, each in heard.items()}
        for name, size in sizes.items():
            kind = _kind(bounded[name])
            beside = max(SMALLEST, self.first.get(kind, {}).get(name, 0.0), others[kind][name])
            if len(heard[kind]) > 1 and size > (forms[name].times or 0.0) * beside:
                wrong[name] = f"has the norm {size:.3g}, and its first one or its peers' have {beside:.3g}"
        for name, size in sizes.items():
            if name not in wrong:
                self._note(_kind(bounded[name]), name, size)
        return wrong

    def author(self) -> str | None:
        """Who stands out most by what was taken, if anybody does."""
        found = [
            (size / max(SMALLEST, beside[name]), name)
            for sizes in self.last.values()
            for beside in [_medians_of_others(sizes)]
            for name, size in sizes.items()
            if len(sizes) > 1
        ]
        most, name = max(found, default=(0.0, ""))
        return name if most > STANDS_OUT else None

    def forget(self, name: str | None = None) -> None:
        """What this client sent last counts no more; None: what anybody did."""
        for sizes in self.last.values():
            for each in list(sizes) if name is None else [name]:
                sizes.pop(each, None)

    def _note(self, kind: str, name: str, size: float) -> None:
        self.first.setdefault(kind, {}).setdefault(name, size)
        self.last.setdefault(kind, {})[name] = size

    def state_dict(self) -> State:
        return {"first": self.first, "last": self.last}

    def load_state_dict(self, state: State) -> None:
        self.first, self.last = taken(state, "first", dict), taken(state, "last", dict)


def _kind(names: Iterable[str]) -> str:
    """Norms are compared of tensors that have the same names."""
    return " ".join(sorted(names))


def _medians_of_others(sizes: Mapping[str, float]) -> dict[str, float]:
    """For everybody the median of all others' sizes, 0 where there are none. Sizes are sorted once for all."""
    ranked = sorted(sizes, key=sizes.__getitem__)
    count = len(ranked) - 1
    if not count:
        return dict.fromkeys(ranked, 0.0)

    def without(place: int, rank: int) -> float:
        """The size at a rank when the one at this place is left out."""
        return sizes[ranked[rank + (rank >= place)]]

    middle = count // 2
    if count % 2:
        return {name: without(place, middle) for place, name in enumerate(ranked)}
    return {name: (without(place, middle - 1) + without(place, middle)) / 2 for place, name in enumerate(ranked)}

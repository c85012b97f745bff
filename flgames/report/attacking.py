"""A federation in this process with one client that lies, and the lies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from torch import Tensor

from flgames.core.client import Client
from flgames.core.gradients import GRADIENT
from flgames.core.local import LocalFederation
from flgames.core.messages import MODEL, Answer, Answers, Ask
from flgames.data.samples import Samples
from flgames.models.architecture import Weights

CLAIMED = 10**18
"""The samples that a client says that it has, which lies about them."""

LAST_LAYER = 2
"""Tensors of the last layer: its weight and its bias."""

Lie = Callable[[Weights, Weights], Weights]
"""What is sent, of what was to be sent and what it started from."""


@dataclass(frozen=True)
class Attack:
    """What a client does to the others."""

    name: str
    lie: Lie | None = None
    lies_about_counts: bool = False
    reverses_labels: bool = False


def moved(times: float) -> Lie:
    """The change times this number; of a gradient, which starts from nothing, the gradient."""
    return lambda sent, before: {
        name: before[name] + times * (tensor - before[name]) if name in before else times * tensor
        for name, tensor in sent.items()
    }


def last_layer(times: float) -> Lie:
    """The last layer times this number."""
    return lambda sent, _: sent | {name: times * sent[name] for name in list(sent)[-LAST_LAYER:]}


ATTACKS = (
    Attack("none"),
    Attack("sign flip x10", moved(-10)),
    Attack("last layer x -5", last_layer(-5)),
    Attack("scaled x100", moved(100)),
    Attack("lying counts", lies_about_counts=True),
    Attack("reversed labels", reverses_labels=True),
    Attack("reversed labels, lying counts", lies_about_counts=True, reverses_labels=True),
)


@dataclass(frozen=True)
class Reversed:
    """Samples with the last label for the first, and so on."""

    samples: Samples
    classes: int

    def __len__(self) -> int:
        return len(self.samples)

    def batch(self, index: Tensor) -> tuple[Tensor, Tensor]:
        inputs, targets = self.samples.batch(index)
        return inputs, self.classes - 1 - targets


class Attacked(LocalFederation):
    """Clients as objects, of which the last one lies. What the server refuses is as if it had not come."""

    def __init__(self, clients: Mapping[str, Client], attack: Attack) -> None:
        super().__init__(clients)
        self.attack = attack
        self.liar = tuple(clients)[-1]
        self._initial: Weights = {}
        """The liar's initial action, where it is a player."""

    def ask(self, asks: Mapping[str, Ask], timeout: float | None = None) -> Answers:
        for action in asks[self.liar].news if self.liar in asks else ():
            if action.author == self.liar and action.version == 0:
                self._initial = action.weights
        answered = dict(super().ask(asks, timeout).answered)
        if self.liar in answered:
            answered[self.liar] = self._lied(asks[self.liar], answered[self.liar])
        return Answers(answered)

    def refuse(self, name: str, task: str, why: str) -> str:
        return f"refused, because its answer {why}"

    def _lied(self, ask: Ask, answer: Answer) -> Answer:
        if ask.task == "introduce" and self.attack.lies_about_counts:
            return replace(answer, numbers=dict(answer.numbers) | {"samples": CLAIMED})
        if ask.form.times is None or self.attack.lie is None:
            return answer
        return replace(answer, tensors=self.attack.lie(answer.tensors, self._before(answer.tensors)))

    def _before(self, sent: Weights) -> Weights:
        """What it started from: the shared model, or a player's initial action. A gradient is a change already."""
        if any(name.startswith(GRADIENT) for name in sent):
            return {}
        known = self._clients[self.liar].known.buffers
        return known[MODEL].current.weights if MODEL in known else self._initial

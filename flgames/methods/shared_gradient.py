"""What methods have in common whose clients send gradients of one shared model: FedSGD, IRMv1, V-REx, GroupDRO.

In a round every client answers with the gradient of its own risk R_k on a batch. The server adds the gradients, each
with a share that the method decides, and takes one step. If the shares are those of an objective over all clients,
the step is exactly the one that pooled data would give.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from flgames.client import Client, Site, Task
from flgames.data.clients import BatchStream
from flgames.federation import Action, Answer
from flgames.gradients import gradient_answer, gradient_form, gradients_and_buffers
from flgames.logits import in_chunks
from flgames.memory import MODEL
from flgames.methods.base import Method, Move, combine, losses_of, shares_by_size
from flgames.models import Architecture, initial_weights, snapshot
from flgames.rules import OptimiserName, Share, batches_in, make_optimiser
from flgames.seeds import torch_seed
from flgames.server import Server

CHUNK = 1024
"""Samples a pass when a gradient is of all samples."""


class GradientRules(BaseModel):
    """The knobs of every such method."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    batches: Share = 1
    """Mini-batches in a client's gradient; all of them is gradient descent."""
    batch_size: int = Field(default=256, ge=1)
    learning_rate: float = Field(default=2.5e-4, gt=0)
    optimiser: OptimiserName = "adam"
    l2: float = Field(default=0.0, ge=0)
    """Times the squared norm of the weights, added to the objective."""


class GradientClient(Client):
    """A client that lends the gradient of its risk."""

    def __init__(self, site: Site, architecture: Architecture, rules: GradientRules) -> None:
        super().__init__(site, architecture)
        self.rules = rules
        self.rounds = 0
        self.stream = BatchStream(len(site.samples), rules.batch_size, site.seed, site.name, "moves")

    def tasks(self) -> dict[str, Task]:
        return super().tasks() | {"gradient": self.gradient}

    def gradient(self, **arguments: float) -> Answer:
        """The gradient of this client's objective at the shared model, and its risk R_k on the same samples."""
        self.predictor.load_state_dict(self.known.buffers[MODEL].current.weights)
        self.predictor.train()
        with torch_seed(self.site.seed, "move", self.site.name, self.rounds):
            risk = self.collect(**arguments)
        self.rounds += 1
        return gradient_answer(self.predictor, risk)

    def collect(self) -> float:
        """Add the gradient up in the predictor, a chunk at a time; the risk."""
        size, risk = self.size, 0.0
        for inputs, targets in self.chunks():
            part = self.loss(self.predictor(inputs), targets) * (len(targets) / size)
            part.backward()  # type: ignore[no-untyped-call]
            risk += part.item()
        return risk

    @property
    def size(self) -> int:
        """How many samples this round's gradient is the mean of."""
        if self.rules.batches == "all":
            return len(self.site.samples)
        return self.stream.batch_size * self._count

    @property
    def _count(self) -> int:
        return batches_in(self.rules.batches, len(self.site.samples), self.rules.batch_size)

    def chunks(self, skip: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """This round's samples, but for the first chunks; the same ones however often it is asked."""
        if self.rules.batches == "all":
            yield from map(self.batch, in_chunks(torch.arange(len(self.site.samples)), CHUNK)[skip:])
            return
        for number in range(self.rounds * self._count + skip, (self.rounds + 1) * self._count):
            yield self.batch(self.stream.batch(number))

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"rounds": self.rounds}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.rounds = state["rounds"]


class SharedGradient(Method):
    """One model; the server steps on a sum of the clients' gradients."""

    def __init__(self, architecture: Architecture, rules: GradientRules | None = None) -> None:
        self.architecture = architecture.joined()
        self.rules = rules or GradientRules()
        self._reset()

    def _reset(self) -> None:
        self.model: nn.Module = self.architecture.predictor()
        self.optimiser = make_optimiser(self.rules.optimiser, self.model.parameters(), self.rules.learning_rate)

    def client(self, site: Site) -> GradientClient:
        return GradientClient(site, self.architecture, self.rules)

    def start(self, server: Server, seed: int) -> None:
        self._reset()
        self.model.load_state_dict(initial_weights(self.architecture.predictor, seed, MODEL))
        server.publish(Action(MODEL, 0, snapshot(self.model)))

    def round(self, server: Server, round_: int, seed: int) -> Move:
        answers = server.ask("gradient", server.clients, gradient_form(self.model), **self.arguments(round_))
        risks = losses_of(answers)
        parts = {client: gradients_and_buffers(answer) for client, answer in answers.items()}
        by_size = shares_by_size(server.samples, answers)
        gradient = combine({k: gradient for k, (gradient, _) in parts.items()}, self.shares(risks, by_size, round_))
        buffers = combine({k: buffers for k, (_, buffers) in parts.items()}, by_size)
        self._step(gradient, buffers, self.scale(round_))
        server.publish(Action(MODEL, round_ + 1, snapshot(self.model)))
        return Move("model", risks)

    @abstractmethod
    def shares(self, risks: Mapping[str, float], by_size: Mapping[str, float], round_: int) -> Mapping[str, float]:
        """What each client's gradient is multiplied with; ``by_size`` is N_k/N."""

    def arguments(self, round_: int) -> dict[str, float]:
        """What clients are told besides the model."""
        return {}

    def scale(self, round_: int) -> float:
        """What the whole objective is multiplied with, for methods whose penalties are huge."""
        return 1.0

    def _step(self, gradient: Mapping[str, Tensor], buffers: Mapping[str, Tensor], scale: float) -> None:
        for name, parameter in self.model.named_parameters():
            whole = gradient[name].to(parameter.device) + 2 * self.rules.l2 * parameter.detach()
            parameter.grad = whole * scale
        self.optimiser.step()
        self.model.load_state_dict(dict(buffers), strict=False)

    def state_dict(self) -> dict[str, Any]:
        return {"optimiser": self.optimiser.state_dict()}

    def load_state_dict(self, state: dict[str, Any], server: Server) -> None:
        self._reset()
        self.model.load_state_dict(server.known.buffers[MODEL].current.weights)
        self.optimiser.load_state_dict(state["optimiser"])


class PenaltyRules(GradientRules):
    """The knobs of a method that adds a penalty once the model has learnt something."""

    penalty: float = Field(default=1.0, ge=0)
    anneal: int = Field(default=0, ge=0)
    """Rounds before the penalty has its full weight."""
    annealed: float = Field(default=1.0, ge=0)
    """The penalty until then."""


def penalty_in(rules: PenaltyRules, round_: int) -> float:
    return rules.penalty if round_ >= rules.anneal else rules.annealed


def scale_in(rules: PenaltyRules, round_: int) -> float:
    """Arjovsky et al. divide the whole objective by a penalty above 1, so that steps keep their size."""
    return 1 / max(penalty_in(rules, round_), 1.0)

"""What methods have in common whose clients send gradients of one shared model: FedSGD, IRMv1, V-REx, GroupDRO.

In a round every client answers with the gradient of its own risk R_k on a batch. The server adds the gradients, each
with a share that the method decides, and takes one step. If the shares are those of an objective over all clients,
the step is exactly the one that pooled data would give.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from flgames.core.client import Client, Site
from flgames.core.gradients import combine, descend, gradient_answer, gradient_form, losses_of
from flgames.core.knobs import OptimiserName, Share
from flgames.core.messages import MODEL, Action, Answer
from flgames.core.method import Method, Move
from flgames.core.server import Server
from flgames.core.state import State, taken
from flgames.core.steps import batches_in, make_optimiser
from flgames.data.samples import BatchStream, in_chunks
from flgames.models.architecture import Architecture, Weights, initial_weights, snapshot
from flgames.seeds import torch_seed

GRADIENT_CHUNK = 1024
"""Samples a pass when a gradient is of all samples. It decides the bits of that gradient."""


class GradientConfig(BaseModel):
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

    tasks = Client.tasks | {"gradient"}

    def __init__(self, site: Site, architecture: Architecture, config: GradientConfig) -> None:
        super().__init__(site, architecture)
        self.config = config
        self.rounds = 0
        self.batches = BatchStream(len(site.samples), config.batch_size, site.seed, site.name, "moves")

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
        if self.config.batches == "all":
            return len(self.site.samples)
        return self.batches.batch_size * self._count

    @property
    def _count(self) -> int:
        return batches_in(self.config.batches, len(self.site.samples), self.config.batch_size)

    def chunks(self, skip: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """This round's samples, but for the first chunks; the same ones however often it is asked."""
        if self.config.batches == "all":
            yield from map(self.batch, in_chunks(torch.arange(len(self.site.samples)), GRADIENT_CHUNK)[skip:])
            return
        for number in range(self.rounds * self._count + skip, (self.rounds + 1) * self._count):
            yield self.batch(self.batches.batch(number))

    def state_dict(self) -> State:
        return super().state_dict() | {"rounds": self.rounds}

    def load_state_dict(self, state: State) -> None:
        super().load_state_dict(state)
        self.rounds = taken(state, "rounds", int)


class SharedGradient(Method):
    """One model; the server steps on a sum of the clients' gradients."""

    Config = GradientConfig

    def __init__(self, architecture: Architecture, config: GradientConfig | None = None) -> None:
        self.architecture = architecture.joined()
        self.config = config or GradientConfig()
        self._reset()

    def _reset(self) -> None:
        self.model: nn.Module = self.architecture.predictor()
        self.optimiser = make_optimiser(self.config.optimiser, self.model.parameters(), self.config.learning_rate)

    def client(self, site: Site) -> GradientClient:
        return GradientClient(site, self.architecture, self.config)

    def start(self, server: Server, seed: int) -> None:
        self._reset()
        self.model.load_state_dict(initial_weights(self.architecture.predictor, seed, MODEL))
        server.publish(Action(MODEL, 0, snapshot(self.model)))

    def round(self, server: Server, round_: int, seed: int) -> Move:
        answers = server.ask("gradient", server.clients, gradient_form(self.model), **self.arguments(round_))
        risks, by_size = losses_of(answers), server.shares(answers)
        shares = self.shares(risks, by_size, round_)
        descend(self.model, self.optimiser, answers, shares, by_size, self.config.l2, self.scale(round_), self.merge)
        server.publish(Action(MODEL, round_ + 1, snapshot(self.model)))
        return Move("model", risks)

    @abstractmethod
    def shares(self, risks: Mapping[str, float], by_size: Mapping[str, float], round_: int) -> Mapping[str, float]:
        """What each client's gradient is multiplied with; ``by_size`` is N_k/N."""

    def merge(self, tensors: Mapping[str, Weights], shares: Mapping[str, float]) -> Weights:
        """One of all clients' gradients."""
        return combine(tensors, shares)

    def arguments(self, round_: int) -> dict[str, float]:
        """What clients are told besides the model."""
        return {}

    def scale(self, round_: int) -> float:
        """What the whole objective is multiplied with, for methods whose penalties are huge."""
        return 1.0

    def state_dict(self) -> State:
        return {"optimiser": self.optimiser.state_dict()}

    def load_state_dict(self, state: State, server: Server) -> None:
        self._reset()
        self.model.load_state_dict(server.known.buffers[MODEL].current.weights)
        self.optimiser.load_state_dict(taken(state, "optimiser", dict))


class PenaltyConfig(GradientConfig):
    """The knobs of a method that adds a penalty once the model has learnt something."""

    penalty: float = Field(default=1.0, ge=0)
    anneal: int = Field(default=0, ge=0)
    """Rounds before the penalty has its full weight."""
    annealed: float = Field(default=1.0, ge=0)
    """The penalty until then."""


def penalty_in(config: PenaltyConfig, round_: int) -> float:
    return config.penalty if round_ >= config.anneal else config.annealed


def scale_in(config: PenaltyConfig, round_: int) -> float:
    """Arjovsky et al. divide the whole objective by a penalty above 1, so that steps keep their size."""
    return 1 / max(penalty_in(config, round_), 1.0)

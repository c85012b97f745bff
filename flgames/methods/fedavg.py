"""FedAvg: Communication-Efficient Learning of Deep Networks from Decentralized Data.

H. Brendan McMahan, Eider Moore, Daniel Ramage, Seth Hampson, Blaise Agüera y Arcas, 2017,
https://arxiv.org/abs/1602.05629

One model for all: each client trains it for some steps, the server takes the mean of the weights by N_k/N.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

from flgames.core.client import Client, Site
from flgames.core.gradients import losses_of
from flgames.core.knobs import LATER, MergedBy, OptimiserName, Share
from flgames.core.messages import MODEL, Action, Answer
from flgames.core.method import Method, Move
from flgames.core.robust import merged
from flgames.core.server import Server
from flgames.core.state import State, taken
from flgames.core.steps import batches_in, make_optimiser
from flgames.data.samples import BatchStream
from flgames.models.architecture import Architecture, Weights, initial_weights, snapshot
from flgames.seeds import torch_seed


class FedAvgConfig(BaseModel):
    """FedAvg's knobs. The paper gives none for its baselines; these are ours.

    Examples
    --------
    >>> from flgames.methods.fedavg import FedAvgConfig
    >>> FedAvgConfig(learning_rate=0.1).local_steps
    10
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    local_steps: Share = 10
    batch_size: int = Field(default=256, ge=1)
    learning_rate: float = Field(default=2.5e-4, gt=0)
    optimiser: OptimiserName = "adam"
    merged_by: MergedBy = Field(default="mean", json_schema_extra=LATER)
    """What the server makes of the clients' weights: their mean, their median or their trimmed mean."""
    clip: float = Field(default=0.0, ge=0, json_schema_extra=LATER)
    """How many times the median of the clients' norms a client's change may have; 0: any number of times."""


class FedAvgClient(Client):
    """A client that trains the shared model on its own samples, with a new optimiser each round."""

    tasks = Client.tasks | {"train"}

    def __init__(self, site: Site, architecture: Architecture, config: FedAvgConfig) -> None:
        super().__init__(site, architecture)
        self.config = config
        self.rounds = 0
        self.batches = BatchStream(len(site.samples), config.batch_size, site.seed, site.name, "moves")
        self.steps = batches_in(config.local_steps, len(site.samples), config.batch_size)

    def train(self) -> Answer:
        """Some steps from the current model; the new weights and the mean loss."""
        self.predictor.load_state_dict(self.shared_model())
        self.predictor.train()
        optimiser = make_optimiser(self.config.optimiser, self.predictor.parameters(), self.config.learning_rate)
        total = 0.0
        with torch_seed(self.site.seed, "move", self.site.name, self.rounds):
            for number in range(self.rounds * self.steps, (self.rounds + 1) * self.steps):
                inputs, targets = self.batch(self.batches.batch(number))
                loss = self.objective(inputs, targets)
                self.predictor.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                total += loss.item()
        self.rounds += 1
        return Answer(snapshot(self.predictor), {"loss": total / self.steps})

    def shared_model(self) -> Weights:
        """What a round of training starts from."""
        return self.known.buffers[MODEL].current.weights

    def objective(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """What one step descends."""
        return self.loss(self.predictor(inputs), targets)

    def state_dict(self) -> State:
        return super().state_dict() | {"rounds": self.rounds}

    def load_state_dict(self, state: State) -> None:
        super().load_state_dict(state)
        self.rounds = taken(state, "rounds", int)


class FedAvg(Method):
    """Federated averaging of one model.

    Examples
    --------
    >>> from flgames.methods.fedavg import FedAvg, FedAvgConfig
    >>> from flgames.models.mlp import paper_architecture
    >>> FedAvg(paper_architecture((4,), 2, variable=False), FedAvgConfig(local_steps=5)).config.local_steps
    5
    """

    Config = FedAvgConfig

    def __init__(self, architecture: Architecture, config: FedAvgConfig | None = None) -> None:
        self.architecture = architecture.joined()
        self.config = config or FedAvgConfig()

    def client(self, site: Site) -> FedAvgClient:
        return FedAvgClient(site, self.architecture, self.config)

    def start(self, server: Server, seed: int) -> None:
        server.publish(Action(MODEL, 0, initial_weights(self.architecture.predictor, seed, MODEL)))

    def round(self, server: Server, round_: int, seed: int) -> Move:
        answers = server.ask("train", server.clients, self.predictor_form)
        weights = {client: answer.tensors for client, answer in answers.items()}
        by_size = server.shares(answers)
        server.publish(Action(MODEL, round_ + 1, self.merge(server, weights, by_size)))
        return Move("model", losses_of(answers))

    def merge(self, server: Server, weights: Mapping[str, Weights], by_size: Mapping[str, float]) -> Weights:
        """The next model from the clients' weights; ``by_size`` is N_k/N."""
        return self.merged_by(self.config.merged_by, server, weights, by_size)

    def merged_by(
        self, by: MergedBy, server: Server, weights: Mapping[str, Weights], by_size: Mapping[str, float]
    ) -> Weights:
        """One of the clients' weights; where changes are clipped, they are those of the current model."""
        before = server.known.buffers[MODEL].current.weights if self.config.clip else None
        return merged(weights, by_size, by, self.config.clip, before)

"""FedAvg: Communication-Efficient Learning of Deep Networks from Decentralized Data.

H. Brendan McMahan, Eider Moore, Daniel Ramage, Seth Hampson, Blaise Agüera y Arcas, 2017,
https://arxiv.org/abs/1602.05629

One model for all: each client trains it for some steps, the server takes the mean of the weights by N_k/N.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

from flgames.client import Client, Site, Task
from flgames.data.clients import BatchStream
from flgames.federation import Action, Answer, Weights
from flgames.memory import MODEL
from flgames.methods.base import Method, Move, combine, losses_of, shares_by_size
from flgames.models import Architecture, initial_weights, snapshot
from flgames.rules import OptimiserName, Share, batches_in, make_optimiser
from flgames.seeds import torch_seed
from flgames.server import Server


class FedAvgRules(BaseModel):
    """FedAvg's knobs. The paper gives none for its baselines; these are ours.

    Examples
    --------
    >>> from flgames import FedAvgRules
    >>> FedAvgRules(learning_rate=0.1).local_steps
    10
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    local_steps: Share = 10
    batch_size: int = Field(default=256, ge=1)
    learning_rate: float = Field(default=2.5e-4, gt=0)
    optimiser: OptimiserName = "adam"


class Trainer(Client):
    """A client that trains the shared model on its own samples, with a new optimiser each round."""

    def __init__(self, site: Site, architecture: Architecture, rules: FedAvgRules) -> None:
        super().__init__(site, architecture)
        self.rules = rules
        self.rounds = 0
        self.batches = BatchStream(len(site.samples), rules.batch_size, site.seed, site.name, "moves")
        self.steps = batches_in(rules.local_steps, len(site.samples), rules.batch_size)

    def tasks(self) -> dict[str, Task]:
        return super().tasks() | {"train": self.train}

    def train(self) -> Answer:
        """Some steps from the current model; the new weights and the mean loss."""
        self.predictor.load_state_dict(self.shared_model())
        self.predictor.train()
        optimiser = make_optimiser(self.rules.optimiser, self.predictor.parameters(), self.rules.learning_rate)
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

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"rounds": self.rounds}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.rounds = state["rounds"]


class FedAvg(Method):
    """Federated averaging of one model.

    Examples
    --------
    >>> from flgames import FedAvg, FedAvgRules, paper_architecture
    >>> FedAvg(paper_architecture((4,), 2, variable=False), FedAvgRules(local_steps=5)).rules.local_steps
    5
    """

    def __init__(self, architecture: Architecture, rules: FedAvgRules | None = None) -> None:
        self.architecture = architecture.joined()
        self.rules = rules or FedAvgRules()

    def client(self, site: Site) -> Trainer:
        return Trainer(site, self.architecture, self.rules)

    def start(self, server: Server, seed: int) -> None:
        server.publish(Action(MODEL, 0, initial_weights(self.architecture.predictor, seed, MODEL)))

    def round(self, server: Server, round_: int, seed: int) -> Move:
        answers = server.ask("train", server.clients, self.predictor_form)
        weights = {client: answer.tensors for client, answer in answers.items()}
        by_size = shares_by_size(server.samples, answers)
        server.publish(Action(MODEL, round_ + 1, self.merge(server, weights, by_size)))
        return Move("model", losses_of(answers))

    def merge(self, server: Server, weights: Mapping[str, Weights], by_size: Mapping[str, float]) -> Weights:
        """The next model from the clients' weights; ``by_size`` is N_k/N."""
        return combine(weights, by_size)

"""Logistic regression, fitted to the end: what most people would do with a table.

Each client fits a head on its own samples in one go, and the server takes their mean by N_k/N. Where one place has all
samples (``clients = "pooled"``) that is ordinary logistic regression.
"""

from __future__ import annotations

import torch
from pydantic import BaseModel, ConfigDict, Field

from flgames.core.client import Client, Site
from flgames.core.gradients import combine, losses_of
from flgames.core.messages import MODEL, Action, Answer
from flgames.core.method import Method, Move
from flgames.core.server import Server
from flgames.methods.heads import L2, fit_head
from flgames.models.architecture import Architecture, initial_weights, snapshot
from flgames.models.linear import is_linear, linear_layer


class LogisticConfig(BaseModel):
    """``l2`` times the squared norm of the effects is added to the mean loss."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    l2: float = Field(default=L2, ge=0)


class LogisticClient(Client):
    """A client that fits its own head."""

    tasks = Client.tasks | {"fit"}

    def __init__(self, site: Site, architecture: Architecture, config: LogisticConfig) -> None:
        super().__init__(site, architecture)
        self.config = config

    def fit(self) -> Answer:
        """The head with the least penalised loss, and that loss without the penalty."""
        inputs, targets = self.batch(torch.arange(len(self.site.samples)))
        layer = linear_layer(self.predictor)
        head = fit_head(inputs.flatten(1), targets, layer.out_features, self.config.l2, self.loss)
        with torch.no_grad():
            layer.weight.copy_(head.weight)
            layer.bias.copy_(head.bias)
            loss = self.loss(self.predictor(inputs), targets)
        return Answer(snapshot(self.predictor), {"loss": float(loss)})


class Logistic(Method):
    """One round: everybody fits, and the mean is what was learnt."""

    Config = LogisticConfig

    def __init__(self, architecture: Architecture, config: LogisticConfig | None = None) -> None:
        self.architecture = architecture.joined()
        self.config = config or LogisticConfig()
        if not is_linear(self.architecture.predictor()):
            raise ValueError("logistic regression has one linear layer: choose linear players")

    def client(self, site: Site) -> LogisticClient:
        return LogisticClient(site, self.architecture, self.config)

    def start(self, server: Server, seed: int) -> None:
        server.publish(Action(MODEL, 0, initial_weights(self.architecture.predictor, seed, MODEL)))

    def round(self, server: Server, round_: int, seed: int) -> Move:
        answers = server.ask("fit", server.clients, self.predictor_form)
        by_size = server.shares(answers)
        weights = combine({client: answer.tensors for client, answer in answers.items()}, by_size)
        server.publish(Action(MODEL, round_ + 1, weights))
        return Move("model", losses_of(answers))

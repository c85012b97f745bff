"""FedBN: Federated Learning on Non-IID Features via Local Batch Normalization.

Xiaoxiao Li, Meirui Jiang, Xiaofei Zhang, Michael Kamp, Qi Dou, 2021, https://arxiv.org/abs/2102.07623

FedAvg whose clients keep their batch normalisation, weights and statistics, to themselves. An unseen client has none of
its own: what is played there is the mean of the clients' logits, each with its own normalisation, or one model with
the clients' mean normalisation and the statistics of the batch that it is shown. For that, clients show theirs to the
server, which passes them on to nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from flgames.core.client import Site
from flgames.core.gradients import combine
from flgames.core.information import Term
from flgames.core.messages import MODEL, Action, Answer
from flgames.core.server import Server
from flgames.core.state import State, taken
from flgames.methods.fedavg import FedAvg, FedAvgClient, FedAvgConfig
from flgames.models.architecture import Architecture, Weights, initial_weights
from flgames.models.ensemble import Ensemble


def normalisation_in(module: nn.Module) -> set[str]:
    """The names of all weights and statistics that belong to batch normalisation."""
    return {
        f"{path}.{name}" if path else name
        for path, layer in module.named_modules()
        if isinstance(layer, _BatchNorm)
        for name in layer.state_dict()
    }


def by_batch(module: nn.Module) -> nn.Module:
    """The same module, whose batch normalisation always uses the statistics of the batch at hand."""
    for layer in module.modules():
        if isinstance(layer, _BatchNorm):
            layer.track_running_stats = False
            layer.running_mean = layer.running_var = layer.num_batches_tracked = None
    return module


class FedBNConfig(FedAvgConfig):
    unseen: Literal["mean", "batch"] = "mean"
    """What an unseen client plays: the mean of the clients' logits, or the statistics of its own batches."""


class FedBNClient(FedAvgClient):
    """A client with a batch normalisation of its own."""

    def __init__(self, site: Site, architecture: Architecture, config: FedAvgConfig) -> None:
        super().__init__(site, architecture, config)
        self.private = normalisation_in(self.predictor)
        self.own: Weights = {}

    def shared_model(self) -> Weights:
        """The shared weights with this client's normalisation; before it has trained, the initial one."""
        shared = super().shared_model()
        if not self.own:
            self.own = {name: shared[name] for name in self.private}
        return shared | self.own

    def train(self) -> Answer:
        answer = super().train()
        self.own = {name: tensor for name, tensor in answer.tensors.items() if name in self.private}
        return answer

    def model(self) -> list[Term]:
        """As this client would use it: with its own normalisation."""
        current = self.known.buffers[MODEL].current
        return [(1.0, Action(self.site.name, current.version, self.shared_model()))]

    def state_dict(self) -> State:
        return super().state_dict() | {"own": self.own}

    def load_state_dict(self, state: State) -> None:
        super().load_state_dict(state)
        self.own = taken(state, "own", dict)


class FedBN(FedAvg):
    """Federated averaging of everything but batch normalisation."""

    Config = FedBNConfig

    config: FedBNConfig

    def __init__(self, architecture: Architecture, config: FedBNConfig | None = None) -> None:
        super().__init__(architecture, config or FedBNConfig())
        self.private = normalisation_in(self.architecture.predictor())
        self.own: dict[str, Weights] = {}

    def client(self, site: Site) -> FedBNClient:
        return FedBNClient(site, self.architecture, self.config)

    def start(self, server: Server, seed: int) -> None:
        super().start(server, seed)
        initial = initial_weights(self.architecture.predictor, seed, MODEL)
        self.own = {client: {name: initial[name] for name in self.private} for client in server.clients}

    def merge(self, server: Server, weights: Mapping[str, Weights], by_size: Mapping[str, float]) -> Weights:
        for client, tensors in weights.items():
            self.own[client] = {name: tensor for name, tensor in tensors.items() if name in self.private}
        shared = {
            client: {name: tensor for name, tensor in tensors.items() if name not in self.private}
            for client, tensors in weights.items()
        }
        return super().merge(server, shared, by_size)

    @property
    def learnt(self) -> Architecture:
        if self.config.unseen == "mean":
            return self.architecture
        return replace(self.architecture, predictor=lambda: by_batch(self.architecture.predictor()))

    def ensemble(self, server: Server) -> Ensemble:
        shared = server.known.buffers[MODEL].current.weights
        if self.config.unseen == "mean":
            return Ensemble(self.learnt, {client: shared | own for client, own in self.own.items()})
        whole = shared | combine(self.own, server.shares(self.own))
        names = self.learnt.predictor().state_dict()
        return Ensemble(self.learnt, {MODEL: {name: whole[name] for name in names}})

    def state_dict(self) -> State:
        return super().state_dict() | {"own": self.own}

    def load_state_dict(self, state: State, server: Server) -> None:
        super().load_state_dict(state, server)
        self.own = taken(state, "own", dict)

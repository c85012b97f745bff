"""FedProx: Federated Optimization in Heterogeneous Networks.

Tian Li, Anit Kumar Sahu, Manzil Zaheer, Maziar Sanjabi, Ameet Talwalkar, Virginia Smith, 2020,
https://arxiv.org/abs/1812.06127

FedAvg whose clients are held near the shared model: mu / 2 times the squared distance is added to each local step.
"""

from __future__ import annotations

from pydantic import Field
from torch import Tensor

from flgames.core.client import Site
from flgames.core.messages import MODEL
from flgames.methods.fedavg import FedAvg, FedAvgClient, FedAvgConfig
from flgames.models.architecture import Architecture


class FedProxConfig(FedAvgConfig):
    mu: float = Field(default=0.01, ge=0)
    """How strongly a client is held."""


class FedProxClient(FedAvgClient):
    """A client that does not go far."""

    config: FedProxConfig

    def objective(self, inputs: Tensor, targets: Tensor) -> Tensor:
        shared = self.known.buffers[MODEL].current.weights
        distance = sum((own - shared[name]).square().sum() for name, own in self.predictor.named_parameters())
        return super().objective(inputs, targets) + self.config.mu / 2 * distance


class FedProx(FedAvg):
    """Federated averaging with a proximal term."""

    Config = FedProxConfig

    config: FedProxConfig

    def __init__(self, architecture: Architecture, config: FedProxConfig | None = None) -> None:
        super().__init__(architecture, config or FedProxConfig())

    def client(self, site: Site) -> FedProxClient:
        return FedProxClient(site, self.architecture, self.config)

"""FedProx: Federated Optimization in Heterogeneous Networks.

Tian Li, Anit Kumar Sahu, Manzil Zaheer, Maziar Sanjabi, Ameet Talwalkar, Virginia Smith, 2020,
https://arxiv.org/abs/1812.06127

FedAvg whose clients are held near the shared model: mu / 2 times the squared distance is added to each local step.
"""

from __future__ import annotations

from pydantic import Field
from torch import Tensor

from flgames.client import Site
from flgames.memory import MODEL
from flgames.methods.fedavg import FedAvg, FedAvgRules, Trainer
from flgames.models import Architecture


class FedProxRules(FedAvgRules):
    mu: float = Field(default=0.01, ge=0)
    """How strongly a client is held."""


class ProximalTrainer(Trainer):
    """A client that does not go far."""

    rules: FedProxRules

    def objective(self, inputs: Tensor, targets: Tensor) -> Tensor:
        shared = self.known.buffers[MODEL].current.weights
        distance = sum((own - shared[name]).square().sum() for name, own in self.predictor.named_parameters())
        return super().objective(inputs, targets) + self.rules.mu / 2 * distance


class FedProx(FedAvg):
    """Federated averaging with a proximal term."""

    rules: FedProxRules

    def __init__(self, architecture: Architecture, rules: FedProxRules | None = None) -> None:
        super().__init__(architecture, rules or FedProxRules())

    def client(self, site: Site) -> ProximalTrainer:
        return ProximalTrainer(site, self.architecture, self.rules)

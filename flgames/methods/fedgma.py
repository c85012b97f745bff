"""FedGMA: Gradient Masked Averaging for Federated Learning.

Irene Tenison, Sai Aravind Sreeramadas, Vaikkunth Mugunthan, Edouard Oyallon, Irina Rish, Eugene Belilovsky, 2023,
https://arxiv.org/abs/2201.11986

FedAvg whose step is masked where clients disagree: the agreement of a weight is the absolute mean of the signs of the
clients' changes; the mask is 1 where it is at least tau, and the agreement itself elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from pydantic import Field

from flgames.core.messages import MODEL
from flgames.core.server import Server
from flgames.methods.fedavg import FedAvg, FedAvgConfig
from flgames.models.architecture import Architecture, Weights


class FedGMAConfig(FedAvgConfig):
    tau: float = Field(default=0.4, ge=0, le=1)
    server_rate: float = Field(default=1.0, gt=0)


class FedGMA(FedAvg):
    """Federated averaging of what clients agree on."""

    Config = FedGMAConfig

    config: FedGMAConfig

    def __init__(self, architecture: Architecture, config: FedGMAConfig | None = None) -> None:
        super().__init__(architecture, config or FedGMAConfig())

    def merge(self, server: Server, weights: Mapping[str, Weights], by_size: Mapping[str, float]) -> Weights:
        before = server.known.buffers[MODEL].current.weights
        mean = super().merge(server, weights, by_size)
        merged = {}
        for name, old in before.items():
            if not old.is_floating_point():
                merged[name] = mean[name]
                continue
            old = old.to(mean[name].device)
            signs = torch.stack([(own[name] - old).sign() for own in weights.values()])
            agreement = signs.mean(0).abs()
            mask = torch.where(agreement >= self.config.tau, 1.0, agreement)
            merged[name] = old + self.config.server_rate * mask * (mean[name] - old)
        return merged

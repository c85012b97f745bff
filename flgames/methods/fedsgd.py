"""FedSGD: Communication-Efficient Learning of Deep Networks from Decentralized Data.

H. Brendan McMahan, Eider Moore, Daniel Ramage, Seth Hampson, Blaise Agüera y Arcas, 2017,
https://arxiv.org/abs/1602.05629

The server steps on the mean of the clients' gradients by N_k/N. With all batches it is gradient descent on pooled data.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from flgames.core.knobs import LATER, MergedBy
from flgames.core.robust import merged
from flgames.methods.shared_gradient import GradientConfig, SharedGradient
from flgames.models.architecture import Architecture, Weights


class FedSGDConfig(GradientConfig):
    merged_by: MergedBy = Field(default="mean", json_schema_extra=LATER)
    """What the server makes of the clients' gradients: their mean, their median or their trimmed mean."""
    clip: float = Field(default=0.0, ge=0, json_schema_extra=LATER)
    """How many times the median of the clients' norms a gradient may have; 0: any number of times."""


class FedSGD(SharedGradient):
    """Federated stochastic gradient descent."""

    Config = FedSGDConfig

    config: FedSGDConfig

    def __init__(self, architecture: Architecture, config: FedSGDConfig | None = None) -> None:
        super().__init__(architecture, config or FedSGDConfig())

    def shares(self, risks: Mapping[str, float], by_size: Mapping[str, float], round_: int) -> Mapping[str, float]:
        return by_size

    def merge(self, tensors: Mapping[str, Weights], shares: Mapping[str, float]) -> Weights:
        return merged(tensors, shares, self.config.merged_by, self.config.clip)

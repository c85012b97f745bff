"""V-REx: Out-of-Distribution Generalization via Risk Extrapolation.

David Krueger, Ethan Caballero, Joern-Henrik Jacobsen, Amy Zhang, Jonathan Binas, Dinghuai Zhang, Remi Le Priol,
Aaron Courville, 2021, https://arxiv.org/abs/2003.00688

Objective: mean of R_k + beta x variance of R_k over clients, each counting once. Its gradient is a sum of the
clients' gradients with shares (1 + 2 beta (R_k - mean R)) / N, so the federated step is exact as long as R_k and its
gradient come from the same batch. A share may be negative: a client with a low risk is made worse.
"""

from __future__ import annotations

from collections.abc import Mapping

from flgames.methods.shared_gradient import PenaltyConfig, SharedGradient, penalty_in, scale_in
from flgames.models.architecture import Architecture


class VRExConfig(PenaltyConfig):
    """``penalty`` is beta."""


class VREx(SharedGradient):
    """Variance risk extrapolation."""

    Config = VRExConfig

    config: VRExConfig

    def __init__(self, architecture: Architecture, config: VRExConfig | None = None) -> None:
        super().__init__(architecture, config or VRExConfig())

    def shares(self, risks: Mapping[str, float], by_size: Mapping[str, float], round_: int) -> Mapping[str, float]:
        beta, clients = penalty_in(self.config, round_), len(risks)
        mean = sum(risks.values()) / clients
        return {client: (1 + 2 * beta * (risk - mean)) / clients for client, risk in risks.items()}

    def scale(self, round_: int) -> float:
        return scale_in(self.config, round_)

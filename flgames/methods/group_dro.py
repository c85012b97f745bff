"""GroupDRO: Distributionally Robust Neural Networks for Group Shifts.

Shiori Sagawa, Pang Wei Koh, Tatsunori B. Hashimoto, Percy Liang, 2020, https://arxiv.org/abs/1911.08731

Clients are groups. Each round q_k <- q_k exp(eta R_k), normalised, and the server steps on the sum of q_k grad R_k.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from pydantic import Field

from flgames.core.server import Server
from flgames.core.state import State, taken
from flgames.methods.shared_gradient import GradientConfig, SharedGradient
from flgames.models.architecture import Architecture

LARGEST_EXPONENT = 500.0


class GroupDROConfig(GradientConfig):
    eta: float = Field(default=0.01, ge=0)
    """How fast q follows the risks."""


class GroupDRO(SharedGradient):
    """Distributionally robust optimisation over clients; q stays on the server."""

    Config = GroupDROConfig

    config: GroupDROConfig

    def __init__(self, architecture: Architecture, config: GroupDROConfig | None = None) -> None:
        super().__init__(architecture, config or GroupDROConfig())

    def _reset(self) -> None:
        super()._reset()
        self.q: dict[str, float] = {}

    def shares(self, risks: Mapping[str, float], by_size: Mapping[str, float], round_: int) -> Mapping[str, float]:
        # Only ratios count, so that a huge loss may be taken from all before it is too large for exp.
        surplus = max(0.0, self.config.eta * max(risks.values()) - LARGEST_EXPONENT)
        for client, risk in risks.items():
            self.q[client] = self.q.get(client, 1.0) * math.exp(self.config.eta * risk - surplus)
        total = sum(self.q[client] for client in risks)
        self.q |= {client: self.q[client] / total for client in risks}
        return {client: self.q[client] for client in risks}

    def state_dict(self) -> State:
        return super().state_dict() | {"q": self.q}

    def load_state_dict(self, state: State, server: Server) -> None:
        super().load_state_dict(state, server)
        self.q = taken(state, "q", dict)

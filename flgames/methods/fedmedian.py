"""FedMedian: Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates.

Dong Yin, Yudong Chen, Kannan Ramchandran, Peter Bartlett, 2018, https://arxiv.org/abs/1803.01498

FedAvg whose server takes the median of the clients' weights, coordinate by coordinate, instead of their mean.
"""

from __future__ import annotations

from collections.abc import Mapping

from flgames.core.server import Server
from flgames.methods.fedavg import FedAvg
from flgames.models.architecture import Weights


class FedMedian(FedAvg):
    """Federated averaging by the median. Every client counts once, however many samples it has."""

    def merge(self, server: Server, weights: Mapping[str, Weights], by_size: Mapping[str, float]) -> Weights:
        """Of an even number of clients, the mean of the two in the middle; counters are the first client's."""
        return self.merged_by("median", server, weights, by_size)

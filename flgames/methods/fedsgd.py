"""FedSGD: Communication-Efficient Learning of Deep Networks from Decentralized Data.

H. Brendan McMahan, Eider Moore, Daniel Ramage, Seth Hampson, Blaise Agüera y Arcas, 2017,
https://arxiv.org/abs/1602.05629

The server steps on the mean of the clients' gradients by N_k/N. With all batches it is gradient descent on pooled data.
"""

from __future__ import annotations

from collections.abc import Mapping

from flgames.methods.shared_gradient import SharedGradient


class FedSGD(SharedGradient):
    """Federated stochastic gradient descent."""

    def shares(self, risks: Mapping[str, float], by_size: Mapping[str, float], round_: int) -> Mapping[str, float]:
        return by_size

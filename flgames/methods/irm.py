"""IRMv1: Invariant Risk Minimization.

Martin Arjovsky, Leon Bottou, Ishaan Gulrajani, David Lopez-Paz, 2019, https://arxiv.org/abs/1907.02893

Objective: mean over clients of R_k + lambda g_k^2, where g_k is the derivative of R_k to a factor s of the logits, at
s = 1. It separates by client, so the federated step is exact. g_k is of the client's whole batch and stands squared:
a client that goes through its samples in chunks needs g_k before it can take the first gradient. It keeps the graphs
of the first chunks and goes forward again through the others only (where dropout would draw another mask).
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from flgames.core.client import Site
from flgames.methods.shared_gradient import GradientClient, PenaltyConfig, SharedGradient, penalty_in, scale_in
from flgames.models.architecture import Architecture

KEPT = 32
"""Chunks whose graphs are kept, which is all of them for the paper's clients."""


class IRMConfig(PenaltyConfig):
    """``penalty`` is lambda."""


class IRMClient(GradientClient):
    """A client whose objective has the penalty in it."""

    def collect(self, penalty: float = 0.0) -> float:
        kept, risk, g = [], 0.0, 0.0
        for number, (inputs, targets) in enumerate(self.chunks()):
            with torch.set_grad_enabled(number < KEPT):
                loss, derivative = self._parts(inputs, targets)
            share = len(targets) / self.size
            risk += share * loss.item()
            g += share * derivative.item()
            if number < KEPT:
                kept.append((share, loss, derivative))

        def backward(share: float, loss: Tensor, derivative: Tensor) -> None:
            # The gradient of g^2 is 2 g times the gradient of g, and g is a mean over samples as the risk is.
            part = share * (loss + 2 * penalty * g * derivative)
            part.backward()  # type: ignore[no-untyped-call]

        for parts in kept:
            backward(*parts)
        for inputs, targets in self.chunks(skip=KEPT):
            backward(len(targets) / self.size, *self._parts(inputs, targets))
        return risk

    def _parts(self, inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """The mean loss of a chunk, and its derivative to the factor."""
        logits = self.predictor(inputs)
        with torch.enable_grad():
            factor = torch.ones((), device=logits.device, requires_grad=True)
            loss = self.loss(logits * factor, targets)
            (derivative,) = torch.autograd.grad(loss, factor, create_graph=True)
        return loss, derivative


class IRM(SharedGradient):
    """Invariant risk minimisation, version 1."""

    Config = IRMConfig

    config: IRMConfig

    def __init__(self, architecture: Architecture, config: IRMConfig | None = None) -> None:
        super().__init__(architecture, config or IRMConfig())

    def client(self, site: Site) -> IRMClient:
        return IRMClient(site, self.architecture, self.config)

    def arguments(self, round_: int) -> dict[str, float]:
        return {"penalty": penalty_in(self.config, round_)}

    def shares(self, risks: Mapping[str, float], by_size: Mapping[str, float], round_: int) -> Mapping[str, float]:
        return dict.fromkeys(risks, 1 / len(risks))

    def scale(self, round_: int) -> float:
        return scale_in(self.config, round_)

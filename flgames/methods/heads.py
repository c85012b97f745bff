"""A client's own head: logistic regression on its samples alone, fitted to the end, and how sure its effects are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from flgames.models.architecture import Loss

ITERATIONS = 200

L2 = 1e-3
"""Times the squared norm of the effects, in units of the mean loss: what a client with few samples needs."""


LEAST_VARIANCE = 1e-12
"""Of an effect."""


@dataclass(frozen=True)
class Head:
    """A linear model of one client: ``weight[c] x + bias[c]`` are the logits."""

    weight: Tensor
    bias: Tensor

    def effects(self) -> Tensor:
        """What a column adds to the log-odds: of the second class, or, with more than two, of each against the mean of
        the others."""
        if len(self.weight) == 2:
            return (self.weight[1] - self.weight[0])[None]
        classes = len(self.weight)
        return (self.weight - self.weight.mean(0)) * (classes / (classes - 1))

    def variances(self, features: Tensor, l2: float = L2) -> Tensor:
        """How far every effect would vary from sample to sample of this client.

        Of a column about which the samples say less than the penalty does, such as one that is the same for all, the
        effect hardly varies because it is held at zero: there it is what the penalty leaves open. With more than two
        classes each is taken against the rest, as if it were alone.
        """
        exact = features.double()
        said = (exact @ self.weight.T + self.bias).softmax(1)
        with_bias = torch.cat([exact, torch.ones_like(exact[:, :1])], 1)
        ridge = torch.full_like(with_bias[0], 2 * l2 * len(exact))
        ridge[-1] = 1e-9
        found = []
        for p in said.T[1:] if len(self.weight) == 2 else said.T:
            curvature = p * (1 - p)
            information = (with_bias.T * curvature) @ with_bias
            inverse = torch.linalg.inv(information + torch.diag(ridge))
            sampling = (inverse @ information @ inverse).diagonal()[:-1]
            centred = exact - (curvature @ exact) / curvature.sum().clamp(min=1e-12)
            tells = curvature @ centred.square() > ridge[:-1]
            found.append(torch.where(tells, sampling, inverse.diagonal()[:-1]).clamp(min=LEAST_VARIANCE))
        return torch.stack(found)


def largest_effect(classes: int) -> float:
    """No effect of a fitted head is beyond: its penalty is not larger than the loss of a head that says nothing."""
    return 4 * math.sqrt(math.log(classes) / (2 * L2))


def fit_head(
    features: Tensor, targets: Tensor, classes: int, l2: float = L2, loss_of: Loss = functional.cross_entropy
) -> Head:
    """The head that has the least penalised loss on these samples. Nothing is drawn: it is where descent ends.

    Examples
    --------
    >>> import torch
    >>> from flgames.methods.heads import fit_head
    >>> x = torch.tensor([[-1.0], [1.0], [-1.0], [1.0]])
    >>> head = fit_head(x, torch.tensor([0, 1, 0, 1]), classes=2)
    >>> bool(head.effects()[0, 0] > 2), bool(head.bias.abs().max() < 1e-3)
    (True, True)
    """
    exact = features.double()
    weight = torch.zeros(classes, exact.shape[1], dtype=exact.dtype, device=exact.device, requires_grad=True)
    bias = torch.zeros(classes, dtype=exact.dtype, device=exact.device, requires_grad=True)
    optimiser = torch.optim.LBFGS([weight, bias], max_iter=ITERATIONS, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimiser.zero_grad()
        # Twice: of two classes both have half of the effect, so that the squared norm is half of the effects'.
        loss = loss_of(exact @ weight.T + bias, targets) + 2 * l2 * weight.square().sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimiser.step(closure)  # type: ignore[no-untyped-call]
    return Head(weight.detach(), (bias - bias.mean()).detach())

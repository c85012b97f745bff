"""The ensemble w_av: the mean of the players as functions. Their logits are averaged, never their weights.

docs/decisions.md (1) says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn

from flgames.models.architecture import Architecture, Weights, snapshot
from flgames.seeds import torch_seed

PHI = "phi"
"""The author under which the shared representation travels; it is not a player."""

PLAYER = "player/"

BALANCE = "balance"
"""Under which name tensors have what each player counts for, where it is not the same for all."""


def predict(predictor: nn.Module, weights: Weights, features: Tensor) -> Tensor:
    """Logits of a predictor that plays these weights."""
    logits: Tensor = torch.func.functional_call(predictor, weights, (features,))
    return logits


def average(logits: Sequence[Tensor]) -> Tensor:
    """w_av: the mean of the players' logits."""
    return weighted_sum([(1 / len(logits), each) for each in logits])


def weighted_sum(terms: Iterable[tuple[float, Tensor]]) -> Tensor:
    """The sum of weight x logits, in the order given, so that it is the same bits everywhere."""
    total: Tensor | None = None
    for weight, logits in terms:
        total = logits * weight if total is None else total.add_(logits, alpha=weight)
    if total is None:
        raise ValueError("an ensemble needs at least one player")
    return total


class Ensemble(nn.Module):
    """w_av o phi: the mean of the players' logits on a shared representation.

    ``balance`` has other ``weights`` than the mean's, one a player, and a ``bias``, one a class.

    Examples
    --------
    >>> import torch
    >>> from flgames.models.architecture import snapshot
    >>> from flgames.models.ensemble import Ensemble
    >>> from flgames.models.mlp import paper_architecture
    >>> architecture = paper_architecture((4,), classes=2, variable=False)
    >>> players = {name: snapshot(architecture.predictor()) for name in ("north", "south")}
    >>> Ensemble(architecture, players)(torch.zeros(3, 4)).shape
    torch.Size([3, 2])
    """

    balance_weights: Tensor | None
    balance_bias: Tensor | None

    def __init__(
        self,
        architecture: Architecture,
        players: Mapping[str, Weights],
        phi: Weights | None = None,
        balance: Weights | None = None,
    ) -> None:
        super().__init__()
        self.names = tuple(players)
        with torch_seed(0, "discarded"):
            self.representation = architecture.representation()
            self.players = nn.ModuleList([architecture.predictor() for _ in players])
        if phi is not None:
            self.representation.load_state_dict(phi)
        for module, weights in zip(self.players, players.values(), strict=True):
            module.load_state_dict(weights)
        self.register_buffer("balance_weights", balance["weights"].float() if balance else None)
        self.register_buffer("balance_bias", balance["bias"].float() if balance else None)
        self.eval()

    @classmethod
    def from_tensors(cls, architecture: Architecture, tensors: Weights) -> Ensemble:
        """The inverse of :meth:`tensors`."""
        phi, players = parts_of(tensors)
        balance = players.pop(BALANCE, None)
        return cls(architecture, players, phi or None, balance)

    def tensors(self) -> Weights:
        """All weights by ``player/NAME/parameter`` and ``phi/parameter``, as they are stored in a run folder."""
        named = {f"{PHI}/{name}": tensor for name, tensor in snapshot(self.representation).items()}
        for player, module in zip(self.names, self.players, strict=True):
            named |= {f"{PLAYER}{player}/{name}": tensor for name, tensor in snapshot(module).items()}
        if self.balance_weights is not None and self.balance_bias is not None:
            named |= {f"{BALANCE}/weights": self.balance_weights, f"{BALANCE}/bias": self.balance_bias}
        return named

    def forward(self, inputs: Tensor) -> Tensor:
        features = self.representation(inputs)
        logits = [predictor(features) for predictor in self.players]
        if self.balance_weights is None or self.balance_bias is None:
            return average(logits)
        return torch.einsum("k,knc->nc", self.balance_weights, torch.stack(logits)) + self.balance_bias


def parts_of(tensors: Weights) -> tuple[Weights, dict[str, Weights]]:
    """What :meth:`Ensemble.tensors` put together: the weights of phi, and those of every player."""
    phi: Weights = {}
    players: dict[str, Weights] = {}
    for key, tensor in tensors.items():
        owner, _, name = key.rpartition("/")
        own = phi if owner == PHI else players.setdefault(owner.removeprefix(PLAYER), {})
        own[name] = tensor
    return phi, players

"""Weights that leave labels independent of one score u of the samples: P(y) / P(y | u), made and kept at a client."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

LARGEST_WEIGHT = 10.0


def cells_of(u: Tensor, edges: Tensor | None) -> Tensor:
    """Where samples lie on u: between which edges, if it is one number; with one a class, the class it speaks for.

    Examples
    --------
    >>> import torch
    >>> from flgames.methods.weighting import cells_of
    >>> cells_of(torch.tensor([[-1.0], [0.5], [2.0]]), torch.tensor([0.0, 1.0])).tolist()
    [0, 1, 2]
    """
    return u.argmax(1) if edges is None else torch.bucketize(u[:, 0].contiguous(), edges)


def quantile_edges(u: Tensor, bins: int) -> Tensor:
    """The edges of cells that have about as many of these samples each."""
    values = u[:, 0]
    edges = torch.quantile(values, torch.linspace(0, 1, bins + 1, dtype=values.dtype, device=values.device)[1:-1])
    below = values[values < values.max()]  # of few values the largest must not be an edge: it would share its cell
    return torch.minimum(edges, below.max()) if len(below) else edges


def counted(cells: Tensor, targets: Tensor, number: int, classes: int) -> Tensor:
    """How many samples each cell has of each label."""
    pairs = torch.bincount(cells * classes + targets, minlength=number * classes)
    return pairs.reshape(number, classes).double()


@dataclass(frozen=True)
class Weighting:
    """The weight P(y) / P(y | u) of a sample of one client, capped: so weighted, labels don't depend on u.

    Both are counted on the samples that it trains on; those that were held back are weighted by the same table.

    Examples
    --------
    >>> import torch
    >>> from flgames.methods.weighting import Weighting
    >>> u = torch.tensor([[0.0]] * 10 + [[1.0]] * 10)
    >>> targets = torch.tensor([0] * 8 + [1] * 2 + [0] * 2 + [1] * 8)
    >>> weighting = Weighting.of(u, targets, classes=2, edges=torch.tensor([0.5]))
    >>> weighting(u, targets)[[0, 9]]
    tensor([0.6667, 2.0000], dtype=torch.float64)
    """

    edges: Tensor | None
    counts: Tensor
    """By cell and label."""

    @classmethod
    def of(cls, u: Tensor, targets: Tensor, classes: int, edges: Tensor | None) -> Weighting:
        number = classes if edges is None else len(edges) + 1
        return cls(edges, counted(cells_of(u, edges), targets, number, classes))

    @property
    def table(self) -> Tensor:
        """The weight of every cell and label. One is added to every count: a cell without a label has some of it."""
        count = self.counts + 1
        given_u, overall = count / count.sum(1, keepdim=True), count.sum(0) / count.sum()
        return (overall / given_u).clamp(max=LARGEST_WEIGHT)

    def __call__(self, u: Tensor, targets: Tensor) -> Tensor:
        return self.table[cells_of(u, self.edges), targets]

    def guesses(self, u: Tensor) -> Tensor:
        """What u alone says: the label that is most frequent in a sample's cell."""
        return self.counts.argmax(1)[cells_of(u, self.edges)]

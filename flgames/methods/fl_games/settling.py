"""What the clients disagree about, and how it is taken out of a game of linear players. Ours: the paper has none of it.

Every client fits its own head and tells its effects, how uncertain they are, and how much its columns vary. Where
effects differ by more than chance (Cochran's Q, as in a meta-analysis of trials), the direction u in which heads differ
most is *contested*. If most of what the heads say lies in it, no ensemble of them can be trusted elsewhere: a game
between heads that lean the same way ends at the weaker one. Then clients weight their samples by P(y) / P(y | u), so
that u tells nothing, and the game is played on those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from flgames.core.records import Contested

SIGNIFICANT = 0.01
"""Effects differ where chance alone would make one of the columns differ so much this rarely."""

NOISE = 4.0
"""Differences below twice their standard error are taken for noise and left out of u."""

RELIED_ON = 0.6
"""From this share on, what the heads say is mostly what they disagree about. docs/real-data.md has the shares by which
planted shortcuts and crash records were told apart."""

BINS, FEW_BINS, FEW = 4, 2, 400
"""Cells of u for weights; fewer where a client has few samples."""

LARGEST_WEIGHT = 10.0


@dataclass(frozen=True)
class Told:
    """What one client tells of its own head."""

    effects: Tensor
    """``(1, columns)`` with two classes, ``(classes, columns)`` with more."""
    variances: Tensor
    spread: Tensor
    """The variance of every column."""
    samples: int


@dataclass(frozen=True)
class Disagreement:
    """What follows from all heads."""

    direction: Tensor
    """u, of the shape of the effects; zero where nothing differs by more than noise."""
    mean: Tensor
    """The mean of the heads."""
    contested: tuple[Contested, ...]


def disagreement(told: Sequence[Told]) -> Disagreement:
    """Test every effect for heterogeneity, and find the direction in which clients differ most.

    Examples
    --------
    >>> import torch
    >>> from flgames.methods.fl_games.settling import Told, disagreement
    >>> def head(*effects):
    ...     return Told(torch.tensor([effects]).double(), torch.full((1, 2), 0.01).double(), torch.ones(2), 100)
    >>> found = disagreement([head(1.0, 2.0), head(1.1, 4.0)])
    >>> [each.column for each in found.contested], [round(float(u), 1) for u in found.direction[0].abs()]
    ([1], [0.0, 1.4])
    """
    effects = torch.stack([each.effects for each in told])
    precision = 1 / torch.stack([each.variances for each in told])
    freedom = len(told) - 1
    common = (precision * effects).sum(0) / precision.sum(0)
    apart = effects - common
    q = (precision * apart.square()).sum(0)
    p = torch.special.gammaincc(torch.full_like(q, freedom / 2), q / 2) * q.numel()
    sure = (1 - NOISE * freedom / q.clamp(min=1e-12)).clamp(min=0)
    sizes = torch.tensor([each.samples for each in told], dtype=torch.float64)
    spread = sum(each.spread * size for each, size in zip(told, sizes / sizes.sum(), strict=True))
    differing = apart * sure
    scaled = (differing * torch.as_tensor(spread).sqrt()).flatten(1)
    _, vectors = torch.linalg.eigh(scaled @ scaled.T)
    direction = (vectors[:, -1, None, None] * differing).sum(0)
    return Disagreement(direction, effects.mean(0), _contested(q / freedom, p))


def _contested(heterogeneity: Tensor, p: Tensor) -> tuple[Contested, ...]:
    """Every column once, by the class about which clients differ most."""
    best, which = heterogeneity.max(0)
    least = p.gather(0, which[None])[0]
    columns = [int(column) for column in torch.argsort(best, descending=True) if least[column] < SIGNIFICANT]
    return tuple(
        Contested(column=column, heterogeneity=float(best[column]), p=float(least[column])) for column in columns
    )


def reliance(features: Tensor, direction: Tensor, mean: Tensor) -> float:
    """At one client: how much of the variance of what the heads say, on average, u explains."""
    along, said = ((features.double() @ each.T) for each in (direction, mean))
    along, said = along - along.mean(0), said - said.mean(0)
    whole = along.square().sum() * said.square().sum()
    return float((along * said).sum() ** 2 / whole) if whole > 0 else 0.0


@dataclass(frozen=True)
class Cells:
    """Where on u a sample lies: in a quantile with two classes, with more at the class that u speaks for."""

    direction: Tensor
    edges: Tensor | None

    @classmethod
    def of(cls, features: Tensor, direction: Tensor) -> Cells:
        """Quantiles are those of these samples."""
        if len(direction) > 1:
            return cls(direction, None)
        along = (features.double() @ direction.T)[:, 0]
        bins = BINS if len(along) >= FEW else FEW_BINS
        edges = torch.quantile(along, torch.linspace(0, 1, bins + 1, dtype=along.dtype)[1:-1])
        below = along[along < along.max()]  # of few values the largest must not be an edge: it would share its cell
        return cls(direction, torch.minimum(edges, below.max()) if len(below) else edges)

    def __call__(self, features: Tensor) -> Tensor:
        along = features.double() @ self.direction.T
        return along.argmax(1) if self.edges is None else torch.bucketize(along[:, 0].contiguous(), self.edges)


@dataclass(frozen=True)
class Weighting:
    """The weight P(y) / P(y | u) of a sample of one client, capped: so weighted, labels don't depend on u.

    Both are counted on the samples that it trains on; those that were held back are weighted by the same table.

    Examples
    --------
    >>> import torch
    >>> from flgames.methods.fl_games.settling import Weighting
    >>> features = torch.tensor([[0.0]] * 10 + [[1.0]] * 10)
    >>> targets = torch.tensor([0] * 8 + [1] * 2 + [0] * 2 + [1] * 8)
    >>> weights = Weighting.of(features, targets, torch.ones(1, 1).double(), classes=2)
    >>> weights(features, targets)[[0, 9]]
    tensor([0.6667, 2.0000], dtype=torch.float64)
    """

    cells: Cells
    table: Tensor
    """By cell and label."""

    @classmethod
    def of(cls, features: Tensor, targets: Tensor, direction: Tensor, classes: int) -> Weighting:
        cells = Cells.of(features, direction)
        found = cells(features)
        count = torch.zeros(max(classes, BINS), classes, dtype=torch.float64)
        count.index_put_((found, targets), torch.ones(len(found), dtype=torch.float64), accumulate=True)
        given_u = (count + 1) / (count + 1).sum(1, keepdim=True)
        overall = (count + 1).sum(0) / (count + 1).sum()
        return cls(cells, (overall / given_u).clamp(max=LARGEST_WEIGHT))

    def __call__(self, features: Tensor, targets: Tensor) -> Tensor:
        return self.table[self.cells(features), targets]

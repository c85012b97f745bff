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
from flgames.methods.weighting import quantile_edges

SIGNIFICANT = 0.01
"""Effects differ where chance alone would make one of the columns differ so much this rarely."""

NOISE = 4.0
"""Differences below twice their standard error are taken for noise and left out of u."""

RELIED_ON = 0.6
"""From this share on, what the heads say is mostly what they disagree about. docs/real-data.md has the shares by which
planted shortcuts and crash records were told apart."""

BINS, FEW_BINS, FEW = 4, 2, 400
"""Cells of u for weights; fewer where a client has few samples."""


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
    apart, freedom = effects - _common(told), len(told) - 1
    q, chance = heterogeneity(told)
    sure = (1 - NOISE * freedom / q.clamp(min=1e-12)).clamp(min=0)
    sizes = torch.tensor([each.samples for each in told], dtype=torch.float64)
    spread = sum(each.spread * size for each, size in zip(told, sizes / sizes.sum(), strict=True))
    differing = apart * sure
    scaled = (differing * torch.as_tensor(spread).sqrt()).flatten(1)
    _, vectors = torch.linalg.eigh(scaled @ scaled.T)
    direction = (vectors[:, -1, None, None] * differing).sum(0)
    return Disagreement(direction, effects.mean(0), _contested(q / freedom, chance * chance.numel()))


def _common(told: Sequence[Told]) -> Tensor:
    """The mean of the clients' effects, each by how sure it is."""
    precision = 1 / torch.stack([each.variances for each in told])
    return (precision * torch.stack([each.effects for each in told])).sum(0) / precision.sum(0)


def heterogeneity(told: Sequence[Told]) -> tuple[Tensor, Tensor]:
    """Cochran's Q of every effect, and how often chance alone would give as much."""
    precision = 1 / torch.stack([each.variances for each in told])
    apart = torch.stack([each.effects for each in told]) - _common(told)
    q = (precision * apart.square()).sum(0)
    return q, torch.special.gammaincc(torch.full_like(q, (len(told) - 1) / 2), q / 2)


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


def edges_along(u: Tensor) -> Tensor | None:
    """Cells of u for weights: quantiles with two classes, fewer where a client has few samples; with more classes the
    one that u speaks for."""
    if u.shape[1] > 1:
        return None
    return quantile_edges(u, BINS if len(u) >= FEW else FEW_BINS)

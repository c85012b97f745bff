"""What players disagree about: one direction of their logits, and whether clients differ about what it tells.

Players agree on what holds everywhere and are driven apart on what does not. ``u`` is their logits, added up in the
direction in which they are furthest apart. Where P(y | u) changes between clients, u is a shortcut; where it is the
same everywhere, nothing tells it from the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

SIGNIFICANT = 0.01
"""Clients differ where chance alone would make them differ so much this rarely."""

MOST_CELLS = 8

SMALLEST_CELL = 0.02
"""Of all samples that are counted."""

FINER = 100
"""Edges around a cut, when it is looked at closely."""

CUTS = 50
"""So many independent cuts there are, however fine the bins: neighbouring cuts tell nearly the same."""

FITTED, MORE_FITTED = 30, 300
"""Passes of iterative proportional fitting: tables of two cells have long converged, those of many have then too."""


def centred(logits: Tensor) -> Tensor:
    """Logits ``(samples, players, classes)`` whose mean over classes is zero: only differences tell anything."""
    return logits - logits.mean(2, keepdim=True)


def apart(logits: Tensor) -> Tensor:
    """The N x N matrix of one client: how far each player is from the players' mean, added up over samples.

    Examples
    --------
    >>> import torch
    >>> from flgames.methods.settled.disagreement import apart
    >>> apart(torch.tensor([[[1.0, -1.0], [3.0, -3.0]]]))
    tensor([[ 2., -2.],
            [-2.,  2.]])
    """
    away = logits - logits.mean(1, keepdim=True)
    return torch.einsum("nic,njc->ij", away, away)


def furthest(matrix: Tensor) -> Tensor:
    """The direction in which players are furthest apart; of its two signs the one that is positive where it is
    largest."""
    direction: Tensor = torch.linalg.eigh(matrix).eigenvectors[:, -1]
    return direction * direction[direction.abs().argmax()].sign()


def along(logits: Tensor, direction: Tensor) -> Tensor:
    """u of samples: with two classes one number ``(samples, 1)``, with more one a class."""
    u = torch.einsum("nic,i->nc", logits, direction.to(logits))
    return u[:, 1:] - u[:, :1] if u.shape[1] == 2 else u


def classes_of(u: Tensor) -> int:
    """How many classes there are, by u."""
    return max(u.shape[1], 2)


def interaction(counts: Tensor) -> Tensor:
    """Whether clients differ in how labels depend on cells: G squared of ``counts[..., client, cell, label]`` against
    the log-linear model without such differences.

    Clients may have other labels, and more samples in some cells; only what a cell *tells* of the label is compared.

    Examples
    --------
    >>> import torch
    >>> from flgames.methods.settled.disagreement import interaction
    >>> alike = torch.tensor([[[80.0, 20.0], [20.0, 80.0]], [[160.0, 40.0], [40.0, 160.0]]])
    >>> round(interaction(alike).item(), 4)
    0.0
    """
    fitted = torch.ones_like(counts)
    for _ in range(FITTED if counts.shape[-2] == 2 else MORE_FITTED):
        for dim in (-3, -2, -1):
            wanted, there = counts.sum(dim, keepdim=True), fitted.sum(dim, keepdim=True)
            fitted = fitted * torch.where(there > 0, wanted / there, 0.0)
    return 2 * torch.where(counts > 0, counts * (counts / fitted).log(), 0.0).sum((-3, -2, -1))


@dataclass(frozen=True)
class Difference:
    """How clients differ in what u tells."""

    statistic: float
    freedom: int
    p: float
    cuts: tuple[int, ...] = ()
    """Between which bins u is cut into cells; none where clients don't differ."""

    @property
    def is_sure(self) -> bool:
        return self.p < SIGNIFICANT


def difference(train: Tensor, judged: Tensor | None = None) -> Difference:
    """Cut u where clients differ most in what its two sides tell, as long as they differ by more than chance.

    ``train[client, bin, label]`` are counts of common bins of u, on samples that were trained on: they choose where to
    cut. ``judged`` are the same of samples that were held back: they say whether it is chance. Players know their own
    samples, so that on those clients always differ a little. Without ``judged``, chance is given as many tries as there
    are cuts.

    So cells are as coarse as clients allow: inside a cell they agree, and what they agree on is not weighted away.
    """
    freedom = (len(train if judged is None else judged) - 1) * (train.shape[2] - 1)
    tries = min(train.shape[1] - 1, CUTS) if judged is None else 1
    counts = train if judged is None else judged
    cuts: list[int] = []
    first: tuple[float, float] | None = None
    while len(cuts) + 1 < MOST_CELLS:
        found = max(_candidates(train, cuts), default=None)
        if found is None:
            break
        _, cut = found
        low, high = (max([0, *(c for c in cuts if c < cut)]), min([train.shape[1], *(c for c in cuts if c > cut)]))
        sides = torch.stack([counts[:, low:cut].sum(1), counts[:, cut:high].sum(1)], 1)
        statistic = float(interaction(sides))
        p = min(1.0, tail(statistic, freedom) * tries)
        first = first or (statistic, p)
        if p >= SIGNIFICANT:
            break
        cuts.append(cut)
    statistic, p = first or (0.0, 1.0)
    return Difference(statistic, freedom, p, tuple(sorted(cuts)))


def _candidates(counts: Tensor, cuts: Sequence[int]) -> list[tuple[float, int]]:
    least = SMALLEST_CELL * float(counts.sum())
    found = []
    bounds = [0, *sorted(cuts), counts.shape[1]]
    for first, last in pairwise(bounds):
        sides = _sides(counts[:, first:last])
        large = sides.sum((1, 3)).amin(1) >= least
        told = interaction(sides)
        found += [(float(told[place]), first + place + 1) for place in range(len(sides)) if large[place]]
    return found


def _sides(counts: Tensor) -> Tensor:
    """Both sides of every cut: ``[cut, client, side, label]``."""
    below = counts.cumsum(1)
    return torch.stack([below, below[:, -1:] - below], 2)[:, :-1].transpose(0, 1)


def finer(grid: Sequence[float], cuts: Sequence[int]) -> list[float]:
    """A grid with many more edges around its cuts.

    Examples
    --------
    >>> from flgames.methods.settled.disagreement import finer
    >>> len(finer([0.0, 1.0, 2.0, 3.0], cuts=[2]))
    102
    """
    edges = set(grid)
    for cut in cuts:
        first, last = grid[max(cut - 2, 0)], grid[min(cut, len(grid) - 1)]
        edges |= {first + (last - first) * step / FINER for step in range(FINER + 1)}
    return sorted(edges)


def most_telling(counts: Tensor) -> int:
    """The cut whose two sides tell most of the label, at all clients together: for those who weight in any case."""
    sides = _sides(counts)
    expected = sides.sum(2, keepdim=True) * sides.sum(3, keepdim=True) / sides.sum((2, 3), keepdim=True)
    gains = torch.where(sides > 0, sides * (sides / expected).log(), 0.0).sum((1, 2, 3))
    return int(gains.argmax()) + 1


def difference_of_classes(counts: Tensor) -> Difference:
    """The same with more than two classes, where the cell of a sample is the class that u speaks for."""
    seen = counts.sum(0) > 0
    cells, labels = int(seen.any(1).sum()), int(seen.any(0).sum())
    # Pairs that no client has are no evidence: of five colours, each with two labels, one ratio is left to differ.
    freedom = (len(counts) - 1) * max(0, int(seen.sum()) - cells - labels + 1)
    statistic = float(interaction(counts))
    return Difference(statistic, freedom, tail(statistic, freedom))


def tail(statistic: float, freedom: int) -> float:
    """How often chi square is larger than this; where nothing is free to differ, always."""
    if freedom < 1:
        return 1.0
    half = torch.tensor([freedom / 2, max(statistic, 0.0) / 2], dtype=torch.float64)
    return float(torch.special.gammaincc(half[0], half[1]))

"""What the sites of a table disagree about, column by column: for people to look at. docs/own-data.md defines it.

Three measures. *Apart*: how far two players' log-odds move apart, on average, when a column is shuffled. *Differs*:
Cochran's Q of the column's effect, estimated at every site alone, per degree of freedom, and how often chance would do
as much. *Used*: how much worse the model is, on samples that it did not learn from, when the column is shuffled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from flgames.data.samples import Samples, held_back
from flgames.methods.fl_games.settling import Told, heterogeneity
from flgames.methods.heads import Head, fit_head
from flgames.methods.settled.disagreement import centred
from flgames.models.ensemble import Ensemble
from flgames.seeds import generator
from flgames.waiting.told import followed

MOST = 2000
"""Samples of a client that a column is shuffled for."""

SHUFFLES = 5

Logits = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class ColumnEvidence:
    """What is known of one column."""

    column: str
    apart: float
    """Root mean square, over samples and pairs of players, of how differently their log-odds move when it is
    shuffled."""
    differs: float
    """Cochran's Q per degree of freedom: about 1 where sites differ by chance only."""
    p: float
    """How rarely chance makes any column differ so much, by Holm's correction for all of them."""
    loss: float
    """How much the model's log loss rises when it is shuffled."""
    accuracy: float
    """How its accuracy changes then: below zero where it needs the column."""


@dataclass(frozen=True)
class SiteRows:
    """One site's samples as a model sees them: those that were trained on, and those that it is judged by."""

    features: Tensor
    targets: Tensor
    judged: Tensor
    judged_targets: Tensor

    @classmethod
    def of(cls, name: str, samples: Samples, validation: float, seed: int) -> SiteRows:
        """Where none were held back, those that were trained on judge."""
        train, back = held_back(samples, validation, seed, name)
        features, targets = train.batch(torch.arange(len(train)))
        return cls(features, targets, *(back or train).batch(_some(len(back or train), name, seed)))


def columns_of(
    sites: Mapping[str, SiteRows],
    columns: Sequence[str],
    origins: Sequence[int],
    model: Logits,
    players: Sequence[Logits] | None,
    classes: int,
    seed: int = 0,
) -> list[ColumnEvidence]:
    """Every column's evidence, those first whose effects differ most.

    ``origins`` has the place of the column that each feature is from. ``players`` are those of a game; None: the sites'
    own logistic models stand for them.
    """
    rows = list(sites.values())
    fitting = followed(rows, lambda _: "fitting the sites' own models")
    heads = [fit_head(each.features, each.targets, classes) for each in fitting]
    told = [_told(head, each) for head, each in zip(heads, rows, strict=True)]
    playing = players or [_linear(head.weight, head.bias) for head in heads]
    q, chance = heterogeneity(told)
    of_column = [torch.tensor([place == number for place in origins]) for number in range(len(columns))]
    raw = [min(1.0, float(chance[:, mine].min()) * int(mine.sum()) * len(chance)) for mine in of_column]
    q = q / max(1, len(told) - 1)
    unmoved = [_Unmoved.of(site, each, playing, model, seed) for site, each in enumerate(rows)]
    found = []
    each = list(zip(columns, of_column, _holm(raw), strict=True))
    for name, mine, p in followed(each, lambda column: f"comparing the sites' models by {column[0]}"):
        apart = _apart(unmoved, mine, playing, name, seed)
        loss, accuracy = _used(unmoved, mine, model, name, seed)
        found.append(ColumnEvidence(name, apart, float(q[:, mine].max()), p, loss, accuracy))
    return sorted(found, key=lambda each: -each.differs)


def _told(head: Head, rows: SiteRows) -> Told:
    spread = rows.features.double().var(0, unbiased=False)
    return Told(head.effects(), head.variances(rows.features), spread, len(rows.targets))


def _some(rows: int, name: str, seed: int) -> Tensor:
    """So many rows at most, from all of a table: it may be in some order."""
    return torch.from_numpy(generator(seed, "looked at", name).permutation(rows)[:MOST])


def players_of(ensemble: Ensemble) -> list[Logits]:
    """The players of an ensemble, each on its own."""

    def alone(player: Logits) -> Logits:
        return lambda inputs: player(ensemble.representation(inputs))

    return [alone(player) for player in ensemble.players]


def _linear(weight: Tensor, bias: Tensor) -> Logits:
    return lambda inputs: inputs.double() @ weight.T + bias


def _holm(p: Sequence[float]) -> list[float]:
    """Corrected for as many tests: the smallest times their number, the next times one less, and never falling."""
    corrected, largest = [0.0] * len(p), 0.0
    for rank, place in enumerate(sorted(range(len(p)), key=lambda each: p[each])):
        largest = max(largest, min(1.0, p[place] * (len(p) - rank)))
        corrected[place] = largest
    return corrected


def _shuffled(inputs: Tensor, mine: Tensor, name: str, site: int, seed: int, time: int) -> Tensor:
    """The same rows with one column, all its features together, from other rows of the same site."""
    order = torch.from_numpy(generator(seed, "shuffled", name, str(site), str(time)).permutation(len(inputs)))
    return torch.where(mine, inputs[order], inputs)


def _said(players: Sequence[Logits], inputs: Tensor) -> Tensor:
    return centred(torch.stack([player(inputs).double() for player in players], 1))


@dataclass(frozen=True)
class _Unmoved:
    """A site's samples, and what is said of them as they are, which every column is compared with."""

    site: int
    some: Tensor
    said: Tensor
    judged: Tensor
    targets: Tensor
    loss: float
    right: float

    @classmethod
    @torch.no_grad()
    def of(cls, site: int, rows: SiteRows, players: Sequence[Logits], model: Logits, seed: int) -> _Unmoved:
        some = rows.features[_some(len(rows.features), str(site), seed)]
        judged = _judged(model, rows.judged, rows.judged_targets)
        return cls(site, some, _said(players, some), rows.judged, rows.judged_targets, *judged)


def _judged(model: Logits, inputs: Tensor, targets: Tensor) -> tuple[float, float]:
    """The sum of losses, and how many are right."""
    logits = model(inputs).double()
    return float(functional.cross_entropy(logits, targets, reduction="sum")), float((logits.argmax(1) == targets).sum())


@torch.no_grad()
def _apart(sites: Sequence[_Unmoved], mine: Tensor, players: Sequence[Logits], name: str, seed: int) -> float:
    squares = 0.0
    for each in sites if len(players) > 1 else ():
        change = each.said - _said(players, _shuffled(each.some, mine, name, each.site, seed, 0))
        # Twice the variance over players is the mean square over pairs; twice again, log-odds of two classes.
        squares += float(4 * change.var(1).sum())
    return float((squares / sum(len(each.some) for each in sites)) ** 0.5)


@torch.no_grad()
def _used(sites: Sequence[_Unmoved], mine: Tensor, model: Logits, name: str, seed: int) -> tuple[float, float]:
    loss = right = 0.0
    for each in sites:
        for time in range(SHUFFLES):
            found = _judged(model, _shuffled(each.judged, mine, name, each.site, seed, time), each.targets)
            loss, right = loss + found[0] - each.loss, right + found[1] - each.right
    count = SHUFFLES * sum(len(each.judged) for each in sites)
    return loss / count, right / count

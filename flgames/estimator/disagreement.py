"""What the clients of a fitted model disagree about, column by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from torch import Tensor

from flgames.core.records import GameResult
from flgames.data.own.layout import Layout
from flgames.data.samples import Samples
from flgames.evaluation.columns import ColumnEvidence, Logits, SiteRows, columns_of, players_of
from flgames.models.ensemble import Ensemble

if TYPE_CHECKING:
    import pandas

MOST_COLUMNS, MOST_FEATURES = 200, 2000
"""Of tables with more, such as flattened images, no column says much."""


def column_table(
    samples: Mapping[str, Samples],
    layout: Layout | None,
    ensemble: Ensemble,
    found_by: Ensemble | None,
    result: GameResult,
    validation: float,
    seed: int,
    classes: int,
) -> pandas.DataFrame | None:
    """Every column's :class:`~flgames.evaluation.columns.ColumnEvidence`; None of images and of very wide tables."""
    import pandas

    sites = {name: SiteRows.of(name, each, validation, seed) for name, each in samples.items()}
    width = next(iter(sites.values())).features.shape[1:]
    if len(width) != 1 or width[0] > MOST_FEATURES:
        return None
    columns: Sequence[str] = layout.columns if layout else [str(place) for place in range(width[0])]
    if len(columns) > MOST_COLUMNS:
        return None
    origins = layout.origins if layout else range(width[0])
    settled = result.finding is not None and result.finding.settled
    players: list[Logits] | None = None
    if found_by is not None:
        players = players_of(found_by)
    elif len(ensemble.names) == len(sites) and not settled:
        players = players_of(ensemble)

    def model(inputs: Tensor) -> Tensor:
        logits: Tensor = ensemble(inputs) / result.temperature
        return logits

    evidence = columns_of(sites, columns, origins, model, players, classes, seed)
    names = [field.name for field in fields(ColumnEvidence)]
    return pandas.DataFrame([asdict(each) for each in evidence], columns=names).set_index("column")

"""What the sites of a table disagree about, as a table, a file and a picture."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path

import torch
from matplotlib import pyplot
from rich.box import SIMPLE_HEAD
from rich.table import Table

from flgames.core.records import Finding
from flgames.data.benchmarks.benchmark import BenchmarkData
from flgames.data.benchmarks.sites import SitesData
from flgames.data.own.records import LaidOut
from flgames.data.own.source import OwnData
from flgames.errors import UserError
from flgames.evaluation.columns import ColumnEvidence, Logits, SiteRows, columns_of, players_of
from flgames.evaluation.disagreement import Disagreement
from flgames.files import write_atomically
from flgames.models.ensemble import Ensemble
from flgames.report.plots import COLOURS, GREY, save
from flgames.runs.folder import GameFolder
from flgames.runs.load import load_model
from flgames.runs.match import Match

SHOWN = 15
"""Columns that a terminal and a picture have room for."""

CHANCE = 0.01
"""Sites differ where chance would do as much more rarely than this."""

HEADS = ("column", "players apart", "sites differ", "p", "loss", "accuracy")


def evidence_of(folder: GameFolder, match: Match) -> list[ColumnEvidence]:
    """Every column of a table that a game was played on; the training clients' data must be at hand."""
    data = match.data()
    if isinstance(data, BenchmarkData) or len(data.input_shape) != 1:
        raise UserError(f"{match.title} is no table: columns are those of tables.")
    columns, origins = _named(data)
    samples: dict[str, LaidOut] = data.training_clients()
    sites = {name: SiteRows.of(name, each, match.entry.validation, match.seed) for name, each in samples.items()}
    model, result = load_model(folder, match), folder.result()

    def said(inputs: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = model(inputs) / result.temperature
        return logits

    players = _players(folder, match, model, result.finding)
    return columns_of(sites, columns, origins, said, players, data.classes, match.seed)


def _players(folder: GameFolder, match: Match, model: Ensemble, finding: Finding | None) -> list[Logits] | None:
    """Those who disagree: the players that found a shortcut, or those of a game in which nothing was settled. Where
    samples were weighted, players no longer differ about it: then the sites' own models do."""
    evidence, data = folder.evidence(), match.data()
    if evidence is not None:
        network = match.entry.players or match.entry.network
        found = Disagreement.of(network.architecture(data.input_shape, data.classes), evidence)
        return players_of(found.players)
    if set(model.names) == set(match.players) and not (finding and finding.settled):
        return players_of(model)
    return None


def _named(data: SitesData | OwnData) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Columns as they come, and from which one each feature is; a benchmark's columns come as words of columns."""
    layout = data.layout if isinstance(data, SitesData) else data.options.layout
    if isinstance(data, OwnData):
        return layout.columns, layout.origins
    whole = [name.partition("=")[0] for name in layout.features]
    columns = tuple(dict.fromkeys(whole))
    return columns, tuple(columns.index(name) for name in whole)


def beside_core(evidence: Sequence[ColumnEvidence], core: Sequence[str]) -> Iterator[str]:
    """Where the columns stand whose meaning is a site's own, of a benchmark that knows which those are."""
    others = [f"{rank} {each.column}" for rank, each in enumerate(evidence, 1) if each.column not in core]
    if core and others:
        yield f"Not of the core, by how far sites differ: {', '.join(others)} (of {len(evidence)})."


def column_table(title: str, evidence: Sequence[ColumnEvidence]) -> Table:
    """For the terminal: the columns about which sites differ most."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for head in HEADS:
        table.add_column(head, justify="left" if head == "column" else "right", overflow="fold")
    for each in evidence[:SHOWN]:
        table.add_row(*_cells(each), style="bold" if each.p < CHANCE else None)
    return table


def _cells(each: ColumnEvidence) -> tuple[str, ...]:
    chance = "<1e-12" if each.p < 1e-12 else f"{each.p:.2g}"
    return (
        each.column, f"{each.apart:.2f}", f"{each.differs:.1f}", chance,
        f"{each.loss:+.3f}", f"{100 * each.accuracy:+.1f}",
    )  # fmt: skip


def write_csv(path: Path, evidence: Sequence[ColumnEvidence]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(ColumnEvidence)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(each) for each in evidence)
    write_atomically(path, text.getvalue())


def draw(path: Path, title: str, evidence: Sequence[ColumnEvidence]) -> None:
    """Three panels on the same columns: apart, differs, used; those that differ beyond chance in colour."""
    shown = list(evidence[:SHOWN])[::-1]
    panels_ = (
        ("players apart", "log-odds", [each.apart for each in shown]),
        ("sites differ", "Cochran's Q per degree of freedom", [each.differs for each in shown]),
        ("the model uses it", "rise of log loss when shuffled", [each.loss for each in shown]),
    )
    figure, panels = pyplot.subplots(
        1, 3, sharey=True, figsize=(11, 1.6 + 0.32 * len(shown)), layout="constrained", squeeze=False
    )
    colours = [COLOURS[0] if each.p < CHANCE else GREY for each in shown]
    for panel, (name, unit, values) in zip(panels[0], panels_, strict=True):
        panel.barh([each.column for each in shown], values, color=colours)
        panel.set(title=name, xlabel=unit)
        panel.grid(axis="x", alpha=0.2)
        panel.axvline(0, color=GREY, linewidth=0.8)
    panels[0][1].axvline(1, color=GREY, linestyle=":", linewidth=1.2)
    more = f" (the first {SHOWN} of {len(evidence)} columns)" if len(evidence) > SHOWN else ""
    figure.suptitle(f"What sites disagree about{more}\n{title}\ncoloured: sites differ beyond chance, p < {CHANCE}")
    try:
        save(figure, path)
    except OSError as error:
        raise UserError(f"{path} can't be written: {error.strerror}.") from None

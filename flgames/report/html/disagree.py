"""What the sites disagree about: every column of a table, or the images in which it is strongest."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence

import numpy as np
from PIL import Image

from flgames.errors import UserError
from flgames.evaluation.columns import ColumnEvidence
from flgames.report.columns import CHANCE, evidence_of
from flgames.report.disagreement import Seen, look
from flgames.report.html import charts
from flgames.report.html.cells import number
from flgames.report.html.gather import Game, Source
from flgames.report.html.page import Block, Cell, Notes, Pictures, Section, Table
from flgames.report.sentences import columns_of, of_result

IMAGES = 8
"""On either side."""

SHOWN = 20
"""Columns that a chart has room for."""

SIDE = 96
"""Pixels of a larger image."""

BEYOND, WITHIN = f"sites differ beyond chance (p < {CHANCE:g})", "by no more than chance"

HINTS = {
    "players apart": "How far two players' log-odds move apart when the column is shuffled",
    "sites differ": "Cochran's Q of the column's effect per degree of freedom: about 1 where only chance differs",
    "p": "How rarely chance makes any column differ so much, by Holm's correction",
    "loss": "How much the model's log loss rises when the column is shuffled",
    "accuracy": "How its accuracy changes then, in points",
}


def disagreement(source: Source) -> Section | None:
    """Of the first seed of the last method that has a finding, or has columns; None where there is nothing to say."""
    blocks: list[Block] = []
    for game in _telling(source):
        assert game.result is not None
        sentences = [each.text for each in of_result(game.result, _columns(game)) if each.level == "finding"]
        if sentences:
            blocks.append(Notes(sentences, "finding"))
        try:
            blocks += _evidence(game)
        except (UserError, OSError) as error:
            why = str(error).rstrip(".")
            blocks.append(Notes([f"Columns and images are shown where the training clients' data are: {why}."]))
    if not blocks:
        return None
    return Section(f"What the sites disagree about{source.apart}", blocks)


def _telling(source: Source) -> Iterator[Game]:
    """Games whose players or sites say what they disagree about: the last method of every run, or one that found
    something."""
    last = {id(method.run): method for method in source.methods}
    for method in source.methods:
        game = method.games[0]
        if game.result is None:
            continue
        has_found = game.result.finding is not None or game.result.balanced is not None
        if has_found or (source.match.has_columns and last[id(method.run)] is method):
            yield game


def _columns(game: Game) -> Sequence[str]:
    try:
        return columns_of(game.match)
    except (UserError, OSError):
        return ()


def _evidence(game: Game) -> list[Block]:
    if game.match.has_columns:
        return _of_columns(evidence_of(game.folder, game.match))
    seen = look(game.folder, game.match, IMAGES)
    return [] if seen is None else _of_images(seen)


def _of_columns(evidence: Sequence[ColumnEvidence]) -> list[Block]:
    shown = evidence[:SHOWN]
    rows: charts.Rows = [
        {
            "of": each.column,
            "value": round(each.differs, 3),
            "p": _chance(each.p),
            "series": BEYOND if each.p < CHANCE else WITHIN,
        }
        for each in shown
    ]
    differ = [each.column for each in evidence if each.p < CHANCE]
    label = f"How far the effect of each column differs between sites. Beyond chance: {', '.join(differ) or 'none'}."
    more = f", the first {SHOWN} of {len(evidence)} columns" if len(evidence) > SHOWN else ""
    chart = charts.bars(
        f"How far a column's effect differs between sites{more}",
        f"{label} The table has every figure.",
        rows,
        {BEYOND: "var(--s0)", WITHIN: "var(--s7)"},
        "Cochran's Q per degree of freedom (1: chance)",
        1.0,
    )
    cells = [
        [
            Cell(each.column),
            number(each.apart, ".2f"),
            number(each.differs, ".1f"),
            Cell(_chance(each.p), each.p),
            number(each.loss, "+.3f"),
            number(100 * each.accuracy, "+.1f"),
        ]
        for each in evidence
    ]
    columns = ("column", "players apart", "sites differ", "p", "loss", "accuracy")
    caption = "Every column: how players and sites differ by it, and what the model loses without it"
    return [chart, Table(caption, columns, cells, hints=HINTS)]


def _chance(p: float) -> str:
    return "<1e-12" if p < 1e-12 else f"{p:.2g}"


def _of_images(seen: Seen) -> list[Block]:
    where = (255 * np.clip(seen.where, 0, 1)).astype(np.uint8)
    blocks: list[Block] = [
        Pictures("Strongest on one side", [_image(*each) for each in seen.low]),
        Pictures("Strongest on the other side", [_image(*each) for each in seen.high[::-1]]),
        Pictures(
            "Where it sits: bright pixels move it most", [(_png(where), "Where the disagreement sits in the image")]
        ),
    ]
    if seen.agreement is not None:
        blocks.append(
            Notes(
                [
                    f"It is the planted feature for {seen.agreement:.1%} of the training samples: for eyes only, nothing that trains can see that."
                ]
            )
        )
    return blocks


def _image(picture: np.ndarray, caption: str) -> tuple[str, str]:
    values = (255 * np.clip(picture.astype(float), 0, 1)).astype(np.uint8)
    return _png(values), ", ".join(caption.split("\n"))


def _png(values: np.ndarray) -> str:
    """An image as an address that holds it whole."""
    image = Image.fromarray(values)
    image.thumbnail((SIDE, SIDE))
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"

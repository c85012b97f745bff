"""figure-lime: the models of its matches, explained; and whether that agrees with the flip rate."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev

from rich.console import Console

from flgames.data.benchmarks.registry import planted
from flgames.files import write_atomically
from flgames.report.explanations import draw_explanations, explain_games, share_table
from flgames.report.lines import Line
from flgames.runs.store import Store

IMAGES = 32
"""What a share is the mean of; the first few of them are drawn."""

DRAWN = 8


def show_lime(stem: Path, lines: Sequence[Line], store: Store, console: Console) -> list[Path]:
    """Explain the first seed's models, draw some images and write a table of shares: the files that were made."""
    if not lines:
        return []
    source, seed = planted(lines[0].case.options), lines[0].played[0].seed
    firsts = {line.label: line.case.matches()[0] for line in lines}
    games = {label: (store.folder(match), match) for label, match in firsts.items()}
    explained, flip_rates = explain_games(games, IMAGES)
    noun = source.feature.noun
    picture, table = stem.with_suffix(".png"), stem.with_name(stem.name + "-shares.csv")
    draw_explanations(picture, f"{source.title}, seed {seed}: explained by LIME", explained, noun, DRAWN)
    console.print(share_table(f"{source.title}: what {noun} takes of a prediction, %", explained, flip_rates, noun))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("method", "images", "spurious_share", "spurious_share_sd", "flip_rate"))
    for name, explanations in explained.items():
        values = [each.share for each in explanations]
        deviation = round(stdev(values), 4) if len(values) > 1 else ""
        writer.writerow((name, len(values), round(fmean(values), 4), deviation, round(flip_rates[name], 4)))
    write_atomically(table, text.getvalue())
    return [picture, table]

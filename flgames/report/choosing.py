"""Which of the settings that a table tries its training clients would choose: no unseen client is asked."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import torch

from flgames.core.counts import Counts, TrainingMeasure
from flgames.core.stopping.best_round import BestRound
from flgames.report.lines import Line
from flgames.runs.result import Result

SCORE = BestRound(patience=1)
"""The score of the rule for those who know no threshold."""


def score(result: Result) -> float:
    """Training accuracy, less the difference between clients and the bias: high where no shortcut is used."""
    clients = {name: Counts(torch.tensor(confusion), 0.0) for name, confusion in result.confusion_of.items()}
    return SCORE.score(TrainingMeasure(clients, {name: counts.samples for name, counts in clients.items()}))


def chosen(lines: Sequence[Line]) -> str:
    """A table of settings, the best first: a setting is all labels of a line but its method."""
    tried: dict[tuple[str, ...], list[Line]] = {}
    for line in lines:
        setting = tuple(value for name, value in line.case.labels.items() if name != "method")
        tried.setdefault(setting, []).append(line)
    names = [name for name in lines[0].case.labels if name != "method"]
    scores = {
        setting: [score(played.result) for line in own for played in line.played] for setting, own in tried.items()
    }
    whole = {setting: len(scores[setting]) == len(own) for setting, own in tried.items()}
    # A mean over some of the games would be compared with one over all: such a setting stands at the end.
    order = sorted(tried, key=lambda setting: (not whole[setting], -fmean(scores[setting] or [0.0])))
    columns = [*names, "score", "lowest", "games"]
    rows = [
        [*setting, *([f"{fmean(own):.3f}", f"{min(own):.3f}"] if own else ["", ""]), f"{len(own)} of {len(games)}"]
        for setting in order
        for own, games in [(scores[setting], tried[setting])]
    ]
    table = "".join("| " + " | ".join(row) + " |\n" for row in [columns, ["---"] * len(columns), *rows])
    return (
        "\n## What training clients would choose\n\nThe mean over both benchmarks, both schedules and both variants. "
        f"The score is {SCORE.formula}, on all training samples; no unseen client takes part.\n\n{table}"
    )

"""Explained predictions side by side: a row of inputs, then a row of masks for every model."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
from matplotlib import pyplot
from rich.table import Table

from flgames.data.benchmarks.clients import HeldOut
from flgames.evaluation.lime import Explanation, chosen_rows, explain
from flgames.report.plots import GREY, UNSEEN, save
from flgames.runs.folder import GameFolder
from flgames.runs.load import load_model
from flgames.runs.match import Match
from flgames.waiting.told import within

Explained = Mapping[str, Sequence[Explanation]]
"""The explanations of every model, of the same images in the same order."""


def explain_games(
    games: Mapping[str, tuple[GameFolder, Match]], images: int
) -> tuple[dict[str, list[Explanation]], dict[str, float]]:
    """Explain the model of every game on the same held-out images, as its entry sees them: and their flip rates."""
    explained, flip_rates = {}, {}
    for number, (name, (folder, match)) in enumerate(games.items()):
        (held_out, *_) = match.data().unseen_clients()
        assert isinstance(held_out, HeldOut)
        rows = chosen_rows(held_out, images)  # the same ones for all: they follow from the labels alone
        with within(number, len(games)):
            explained[name] = explain(load_model(folder, match), held_out, rows, match.seed)
        profile = folder.result().profile
        assert profile is not None
        flip_rates[name] = profile.flip_rate
    return explained, flip_rates


def draw_explanations(path: Path, title: str, explained: Explained, noun: str, drawn: int | None = None) -> None:
    """Orange segments speak for the prediction, purple ones against it; below is the spurious feature's share.

    Only the first few are ``drawn``; the share of a model is the mean over all of them.
    """
    first = next(iter(explained.values()))[:drawn]
    size = (1.5 * len(first) + 2.2, 1.95 * (1 + len(explained)) + 0.9)
    figure, panels = pyplot.subplots(1 + len(explained), len(first), figsize=size, squeeze=False, layout="constrained")
    for panel, each in zip(panels[0], first, strict=True):
        panel.imshow(each.image, interpolation="nearest")
        panel.set_title(f"label {each.label}", fontsize=9)
    panels[0][0].set_ylabel("input", fontsize=9)
    for row, (name, explanations) in zip(panels[1:], explained.items(), strict=True):
        largest = max(max(abs(each.spurious), float(np.abs(each.mask).max())) for each in explanations[:drawn])
        for panel, each in zip(row, explanations[:drawn], strict=True):
            panel.imshow(each.image.mean(2), cmap="gray_r", alpha=0.25, interpolation="nearest")
            panel.imshow(
                np.ma.masked_equal(each.mask, 0), cmap="PuOr_r", vmin=-largest, vmax=largest, alpha=0.85,
                interpolation="nearest",
            )  # fmt: skip
            right = "" if each.prediction == each.label else " (not the label)"
            panel.set_title(f"says {each.prediction}{right}", fontsize=8)
            panel.set_xlabel(f"{noun} {each.share:.0%}", fontsize=9, color=UNSEEN if each.share > 0.5 else GREY)
        wrapped = textwrap.fill(name, 20)
        images = f"\nof {len(explanations)} images" if drawn else ""
        row[0].set_ylabel(f"{wrapped}\n{noun}: {_mean(explanations):.0%}{images}", fontsize=9)
    for panel in panels.flat:
        panel.set(xticks=[], yticks=[])
    figure.suptitle(f"{title}\norange speaks for what is said, purple against; below: the share of {noun}", fontsize=11)
    save(figure, path)


def share_table(title: str, explained: Explained, flip_rates: Mapping[str, float], noun: str) -> Table:
    """One number a model, beside the flip rate, which should say the same."""
    table = Table(title=title, title_justify="left")
    for column in ("model", "images", f"share of {noun}", "flip rate"):
        table.add_column(column, justify="left" if column == "model" else "right")
    for name, explanations in explained.items():
        table.add_row(name, str(len(explanations)), shares(explanations), f"{100 * flip_rates[name]:.1f}")
    return table


def shares(explanations: Sequence[Explanation]) -> str:
    """The mean share over images in %, and its standard deviation."""
    values = [100 * each.share for each in explanations]
    return f"{fmean(values):.1f}" + (f" ± {stdev(values):.1f}" if len(values) > 1 else "")


def _mean(explanations: Sequence[Explanation]) -> float:
    return fmean(each.share for each in explanations)

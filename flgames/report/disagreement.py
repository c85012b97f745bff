"""A picture of what players disagree about: the images in which it is strongest on either side, and where it sits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from matplotlib import pyplot
from torch import Tensor

from flgames.data.benchmarks.clients import PaintedSamples
from flgames.data.own.records import LaidOut
from flgames.data.own.source import OwnOptions
from flgames.data.samples import Samples
from flgames.errors import UserError
from flgames.evaluation.disagreement import Disagreement, agreement, strength
from flgames.report.plots import GREY, save
from flgames.runs.folder import GameFolder
from flgames.runs.match import Match

MOST = 2000
"""Samples of a client that are looked at."""


@dataclass(frozen=True)
class Seen:
    """A settled game's disagreement at its training clients."""

    title: str
    low: list[tuple[np.ndarray, str]]
    """The images in which it is strongest on one side, with client and label."""
    high: list[tuple[np.ndarray, str]]
    where: np.ndarray
    agreement: float | None
    """With the true code, where one was planted."""


def look(folder: GameFolder, match: Match, images: int) -> Seen | None:
    """What players disagreed about in a game; None if it was not settled by players, or knows no images."""
    evidence, data = folder.evidence(), match.data()
    if evidence is None or len(data.input_shape) != 3:
        return None
    network = match.entry.players or match.entry.network
    found = Disagreement.of(network.architecture(data.input_shape, data.classes), evidence)
    strengths, rows, codes, us = [], [], [], []
    for name, samples in data.training_clients().items():
        index = torch.arange(min(len(samples), MOST))
        u = found.on(len(index), samples.batch)
        us.append(u)
        strengths.append(strength(u))
        rows += [(name, samples, int(row)) for row in index]
        if isinstance(samples, PaintedSamples):
            codes.append(samples.codes[index].long())
    order = torch.cat(strengths).argsort().tolist()
    chosen = [rows[place] for place in (*order[:images], *order[-images:])]
    inputs = torch.cat([samples.batch(torch.tensor([row]))[0] for _, samples, row in chosen])
    told = agreement(torch.cat(us), torch.cat(codes)) if codes else None
    called = match.options.layout.classes if isinstance(match.options, OwnOptions) else ()
    shown = [(_picture(samples, row), _caption(name, samples, row, called)) for name, samples, row in chosen]
    where = found.where(inputs).numpy()
    return Seen(f"{match.title}: {match.entry.title}, seed {match.seed}", shown[:images], shown[images:], where, told)


def draw(path: Path, seen: Seen) -> None:
    """Two rows of images, and a map of the pixels that move the disagreement."""
    images = len(seen.low)
    figure, panels = pyplot.subplots(
        2, images + 2, figsize=(1.25 * images + 3.2, 3.9), layout="constrained", width_ratios=[*[1] * images, 0.1, 2.0]
    )
    for row, (side, shown) in zip(panels, (("one side", seen.low), ("the other", seen.high[::-1])), strict=True):
        for panel, (image, caption) in zip(row, shown, strict=False):
            panel.imshow(image, interpolation="nearest", cmap="gray", vmin=0, vmax=1)
            panel.set_title(caption, fontsize=7)
        row[0].set_ylabel(f"strongest on\n{side}", fontsize=9)
    for panel in panels.flat:
        panel.set(xticks=[], yticks=[])
    for panel in (*panels[:, images], panels[1, images + 1]):
        panel.axis("off")
    panels[0, images + 1].imshow(seen.where, cmap="magma", vmin=0, vmax=1)
    panels[0, images + 1].set_title("where it sits", fontsize=9)
    told = "" if seen.agreement is None else f"\nit is the planted feature for {seen.agreement:.1%} of the samples"
    panels[1, images + 1].text(
        0.5, 0.9, f"bright: pixels that\nmove it most{told}", ha="center", va="top", fontsize=8, color=GREY, wrap=True
    )
    figure.suptitle(f"What players disagree about\n{seen.title}", fontsize=11)
    try:
        save(figure, path)
    except OSError as error:
        raise UserError(f"{path} can't be written: {error.strerror}.") from None


def _picture(samples: Samples, row: int) -> np.ndarray:
    """As people see it."""
    index = torch.tensor([row])
    if isinstance(samples, PaintedSamples):
        picture: np.ndarray = samples.feature.picture(samples.batch(index)[0])[0]
        return picture
    assert isinstance(samples, LaidOut)
    raw: Tensor = samples.rows.take(index)[0].float()
    scaled = (raw / 255 if raw.max() > 1 else raw).clamp(0, 1).permute(1, 2, 0).numpy()
    return scaled[..., 0] if scaled.shape[2] == 1 else scaled


def _caption(name: str, samples: Samples, row: int, called: Sequence[str]) -> str:
    label = int(samples.batch(torch.tensor([row]))[1][0])
    return f"{name}\n{called[label] if called else f'label {label}'}"

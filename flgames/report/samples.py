"""A picture of a benchmark: sample images of every client, as its players see them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from matplotlib import pyplot
from matplotlib.figure import SubFigure

from flgames.data.benchmarks.benchmark import HELD_OUT, Benchmark, Portion
from flgames.report.plots import GREY, UNSEEN, save

COLUMNS = 10
MOST_CLIENTS = 12
"""More are not drawn: a picture is looked at, not scrolled through."""


def draw_samples(path: Path, source: Benchmark, seed: int) -> None:
    """A row a client, as many images for each label; captions of contradicting images stand out."""
    draw_benchmarks(path, [source], seed)


def draw_benchmarks(path: Path, sources: Sequence[Benchmark], seed: int) -> None:
    """Samples of several benchmarks in one picture."""
    heights = [1.75 * (min(len(source.flips), MOST_CLIENTS) + 1) + 0.6 for source in sources]
    figure = pyplot.figure(figsize=(1.15 * COLUMNS, sum(heights) + 0.2), layout="constrained")
    parts = figure.subfigures(len(sources), 1, squeeze=False, height_ratios=heights)[:, 0]
    for part, source in zip(parts, sources, strict=True):
        _draw_clients(part, source, seed)
    noun = sources[0].feature.noun if len(sources) == 1 else "the feature"
    figure.supxlabel(f"*: label noise.  Caption in orange: {noun} contradicts the label.", fontsize=9, color=GREY)
    save(figure, path)


def _draw_clients(part: SubFigure, source: Benchmark, seed: int) -> None:
    data = source.data(seed)
    images = data.images
    training = list(data.training_portions().items())
    shown = np.unique(np.linspace(0, len(training) - 1, MOST_CLIENTS).round().astype(int))
    clients = [(*training[place], images.train_images) for place in shown]
    clients.append((HELD_OUT, data.held_out_portion(), images.test_images))
    strips = part.subfigures(len(clients), 1, squeeze=False)[:, 0]
    for (name, portion, published), strip in zip(clients, strips, strict=True):
        flip = source.flips.get(name, source.held_out_flip)
        strip.suptitle(
            f"{name}: {source.feature.noun} contradicts the label with p = {flip:.3g} (measured {portion.flip:.3f})",
            x=0.01, ha="left", fontsize=10, fontweight="bold", color=UNSEEN if name == HELD_OUT else "black",
        )  # fmt: skip
        _draw_strip(strip, source, portion, published)
    some = f", {len(shown)} of {len(training)} training clients" if len(shown) < len(training) else ""
    part.suptitle(source.title + some)


def _draw_strip(strip: SubFigure, source: Benchmark, portion: Portion, published: np.ndarray) -> None:
    chosen = _chosen(portion, source.classes)
    pixels = torch.from_numpy(published[portion.rows[chosen]])
    pictures = source.feature.picture(source.feature.paint(pixels, torch.from_numpy(portion.codes[chosen])))
    panels = strip.subplots(1, COLUMNS)
    for panel in panels:
        panel.axis("off")
    for panel, place, picture in zip(panels, chosen, pictures, strict=False):
        label, code = int(portion.labels[place]), int(portion.codes[place])
        noise = "*" if label != portion.clean[place] else ""
        panel.imshow(picture, interpolation="nearest")
        panel.set_title(
            f"label {label}{noise}\n{source.feature.names[code]}", fontsize=8, pad=3,
            color=UNSEEN if code != label else "black",
        )  # fmt: skip


def _chosen(portion: Portion, classes: int) -> np.ndarray:
    """The first samples of each label, in the client's own random order."""
    each = max(1, COLUMNS // classes)
    return np.concatenate([np.flatnonzero(portion.labels == label)[:each] for label in range(classes)])[:COLUMNS]

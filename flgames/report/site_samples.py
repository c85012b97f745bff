"""A picture of a benchmark of real sites: what its columns say of the label at each site, or sample images of each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes

from flgames.data.benchmarks.site_set import SiteSet
from flgames.data.benchmarks.sites import Sites, correlation
from flgames.report.plots import COLOURS, GREY, UNSEEN, save

EACH = 3
"""Images of each class and site."""


def draw_sites(path: Path, source: Sites, seed: int) -> None:
    """For a table: the share of the last class, and how columns correlate with it; for images: samples of each class.

    Sites that train come first; names of unseen sites stand out.
    """
    samples = source.load(seed)
    if source.kind == "images":
        _draw_images(path, source, samples)
    else:
        _draw_columns(path, source, samples)


def _draw_columns(path: Path, source: Sites, samples: SiteSet) -> None:
    shown = source.shown or samples.columns[:2]
    sites = (*source.players, *sorted(source.unseen, key=lambda site: -correlation(samples, site, shown[-1])))
    height = 1.6 + 0.24 * len(sites)
    figure, (shares, correlations) = pyplot.subplots(
        1, 2, figsize=(11, height), sharey=True, width_ratios=(1, 2), layout="constrained"
    )
    places = np.arange(len(sites))
    shares.barh(places, [samples.labels[samples.rows(site)].mean() for site in sites], color=GREY, height=0.6)
    shares.set(xlim=(0, 1), xlabel=f"share of {source.class_names[-1]!r}")
    for number, column in enumerate(shown):
        found = [correlation(samples, site, column) for site in sites]
        correlations.plot(found, places, "os^D"[number % 4], color=COLOURS[1 - number], label=column)
    correlations.axvline(0, color=GREY, linewidth=0.8)
    correlations.set(xlim=(-1.04, 1.04), xlabel=f"correlation with {source.class_names[-1]!r}")
    for panel in (shares, correlations):
        panel.grid(alpha=0.2)
        if source.unseen:
            panel.axhline(len(source.players) - 0.5, color="black", linewidth=0.8)
    _name_sites(shares, source, sites)
    figure.legend(loc="outside lower center", ncols=2, fontsize=9)
    figure.suptitle(f"{source.title}: sites that train, and below the line unseen ones")
    save(figure, path)


def _name_sites(panel: Axes, source: Sites, sites: tuple[str, ...]) -> None:
    panel.set_yticks(np.arange(len(sites)), sites)
    panel.set_ylim(len(sites) - 0.4, -0.6)
    for name, text in zip(sites, panel.get_yticklabels(), strict=True):
        text.set_color(UNSEEN if name in source.unseen else "black")


def _draw_images(path: Path, source: Sites, samples: SiteSet) -> None:
    sites = (*source.players, *source.unseen)
    figure = pyplot.figure(figsize=(1.1 * source.classes, 3.1 * len(sites) + 0.4), layout="constrained")
    strips = figure.subfigures(len(sites), 1, squeeze=False)[:, 0]
    for site, strip in zip(sites, strips, strict=True):
        rows = samples.rows(site)
        is_unseen = site in source.unseen
        strip.suptitle(
            f"{site}, {'unseen' if is_unseen else 'trains'}: {len(rows):,} images",
            x=0.01, ha="left", fontsize=10, fontweight="bold", color=UNSEEN if is_unseen else "black",
        )  # fmt: skip
        panels = strip.subplots(EACH, source.classes, squeeze=False)
        for label in range(source.classes):
            of_class = rows[samples.labels[rows] == label][:EACH]
            for panel in panels[:, label]:
                panel.axis("off")
            for panel, row in zip(panels[:, label], of_class, strict=False):
                panel.imshow(samples.values[row], cmap="gray", vmin=0, vmax=255, interpolation="nearest")
            panels[0, label].set_title(source.class_names[label], fontsize=8, pad=3)
    figure.suptitle(source.title)
    save(figure, path)

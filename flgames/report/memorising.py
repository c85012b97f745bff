"""What becomes of the unseen client while a method memorises its training samples, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib import pyplot
from matplotlib.axes import Axes

from flgames.paper import printed
from flgames.paper.controls import PROBE_EVERY
from flgames.report.drawings import by_section
from flgames.report.lines import Line
from flgames.report.plots import COLOURS, GREY, save


def memorising(path: Path, title: str, lines: Sequence[Line]) -> None:
    """A panel a benchmark: the unseen client over training accuracy, a dot a look; the paper's figures as stars."""
    sections = by_section(lines)
    size = (7.0 * len(sections), 5.4)
    figure, panels = pyplot.subplots(1, len(sections), figsize=size, squeeze=False, sharey=True, layout="constrained")
    for panel, (section, its_lines) in zip(panels[0], sections.items(), strict=True):
        looked_at = [line for line in its_lines if line.case.entry.probe_every]
        for line, colour in zip(looked_at, COLOURS, strict=False):
            _path(panel, line, colour)
            _printed(panel, line, colour)
        panel.axhline(75, color=GREY, linestyle=":", linewidth=1.2)
        panel.set(title=section, xlabel="training accuracy, %", ylim=(0, 80))
        panel.grid(alpha=0.2)
        panel.legend(loc="upper left", fontsize=9)
    panels[0][0].set_ylabel("unseen client, %")
    figure.suptitle(f"{title}: dots are {PROBE_EVERY} epochs apart")
    save(figure, path)


def _path(panel: Axes, line: Line, colour: str) -> None:
    for number, played in enumerate(line.played):
        label = None if number else f"{line.row.title}, here"
        learnt = [100 * played.train_curve[int(round_)] for round_ in played.probes.get("round", [])]
        unseen = [100 * each for each in played.probes.get("unseen", [])]
        panel.plot(learnt, unseen, "o-", color=colour, markersize=4, linewidth=1, label=label)


def _printed(panel: Axes, line: Line, colour: str) -> None:
    training, unseen = printed.training(line.case.options.benchmark, line.row.title), line.case.paper
    if training and unseen:
        panel.errorbar(
            training.mean,
            unseen.mean,
            xerr=training.deviation,
            yerr=unseen.deviation,
            fmt="*",
            markersize=15,
            color=colour,
            markeredgecolor="black",
            label=f"{line.row.title}, the paper",
        )

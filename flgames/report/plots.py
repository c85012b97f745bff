"""The two figures of a run: accuracy over rounds, and the invariance profile."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from flgames.evaluation.profile import InvarianceProfile
from flgames.files import write_atomically
from flgames.report.clients import ClientRow
from flgames.report.rows import Row
from flgames.runs.folder import GameFolder

# Names of columns and clients may have dollars in them.
matplotlib.rcParams["text.parse_math"] = False

# Okabe and Ito's palette: told apart by colour-blind readers too.
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
CLIENT_COLOURS = (
    "#56B4E9", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#332288", "#882255", "#F0E442", "#000000", "#999933",
)  # fmt: skip
CLIENT_STYLES = ("-", "--", "-.", ":")
"""Of clients for whom no colour is left."""
UNSEEN = "#D55E00"
GREY = "#666666"

MOST_NAMED = len(CLIENT_COLOURS)
"""Training clients whose lines the legend names."""

FEW_PROBES = 50
"""Below this, points are marked: the lines between them are not measured."""


def draw_curves(
    path: Path, title: str, games: Mapping[str, Sequence[GameFolder]], ceiling: float | None = None
) -> None:
    """One panel a method: training accuracy of the clients, and the unseen client where it was probed."""
    size = (6.2 * len(games), 4.8)
    figure, panels = pyplot.subplots(1, len(games), figsize=size, sharey=True, squeeze=False, layout="constrained")
    for panel, (method, folders) in zip(panels[0], games.items(), strict=True):
        _curves(panel, folders)
        if ceiling is not None:
            panel.axhline(ceiling, color=GREY, linestyle=":", linewidth=1.2, label="best an invariant model can do")
        stop_below = folders[0].result().stop_below
        if stop_below is not None:
            panel.axhline(stop_below, color=GREY, linestyle="--", linewidth=1.2, label=f"stops below {stop_below:.0%}")
        panel.set(title=method, xlabel="round", ylim=(0, 1))
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        panel.yaxis.set_major_formatter(PercentFormatter(1.0))
        panel.grid(alpha=0.2)
    panels[0][0].set_ylabel("accuracy")
    handles, labels = panels[0][-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9)
    figure.suptitle(title)
    save(figure, path)


def _curves(panel: Axes, folders: Sequence[GameFolder]) -> None:
    for number, folder in enumerate(folders):
        lines, label = folder.measures(), number == 0
        rounds = [line.round + 1 for line in lines]
        for place, client in enumerate(lines[0].accuracy_of):
            panel.plot(
                rounds,
                [line.accuracy_of.get(client, float("nan")) for line in lines],
                color=CLIENT_COLOURS[place % len(CLIENT_COLOURS)],
                linestyle=CLIENT_STYLES[place // len(CLIENT_COLOURS) % len(CLIENT_STYLES)],
                linewidth=1.2,
                alpha=0.9 if len(folders) == 1 else 0.4,
                label=f"training, {client}" if label and len(lines[0].accuracy_of) <= MOST_NAMED else None,
            )
        trained = next((line.round for line in lines if line.kind == "model"), 0)
        if trained and number == 0:
            panel.axvline(trained + 0.5, color=GREY, linestyle=":", linewidth=1.2, label="settled: training begins")
        probes = folder.probes()
        panel.plot(
            [probe.round + 1 for probe in probes], [probe.unseen for probe in probes],
            color=UNSEEN, linewidth=1.2, alpha=0.9 if len(folders) == 1 else 0.4,
            marker="." if len(probes) < FEW_PROBES else None,
        )  # fmt: skip
        result = folder.result()
        chosen = result.chosen_round + 1
        if chosen != rounds[-1]:
            panel.axvline(
                chosen, color=GREY, linestyle="--", linewidth=1.2, label="the rule's choice" if label else None
            )
        if result.unseen is not None:
            panel.plot(
                chosen, result.unseen,
                "o", color=UNSEEN, markersize=7, label="unseen client" if label else None, zorder=5,
            )  # fmt: skip


def draw_unseen(path: Path, title: str, methods: Mapping[str, Sequence[ClientRow]]) -> None:
    """A line an unseen client: what every method reaches there, with the constant answer beside it."""
    unseen = {method: {row.client: row for row in rows if row.is_unseen} for method, rows in methods.items()}
    last = list(unseen.values())[-1]
    order = sorted(last, key=lambda client: last[client].mean("accuracy") or 0.0)
    figure, axes = pyplot.subplots(figsize=(8.0, 1.9 + 0.24 * len(order)), layout="constrained")
    for (method, rows), colour in zip(unseen.items(), COLOURS, strict=False):
        values = [100 * (rows[client].mean("accuracy") or 0.0) for client in order]
        ends = [rows[client].interval for client in order]
        low = [max(0.0, value - 100 * end) for value, (end, _) in zip(values, ends, strict=True)]
        high = [max(0.0, 100 * end - value) for value, (_, end) in zip(values, ends, strict=True)]
        axes.errorbar(
            values, range(len(order)), xerr=[low, high], fmt="o", color=colour, markersize=5, elinewidth=0.8,
            label=f"{method}: mean {sum(values) / len(values):.1f}",
        )  # fmt: skip
    constants = [100 * last[client].constant for client in order]
    axes.plot(constants, range(len(order)), "|", color=GREY, markersize=9, label="the most frequent answer")
    axes.set_yticks(range(len(order)), order, fontsize=8)
    axes.set(title=title, xlabel="accuracy, % (bars: 95 %)", ylim=(-0.7, len(order) - 0.3))
    axes.grid(axis="x", alpha=0.2)
    figure.legend(loc="outside lower center", fontsize=8, ncols=1)
    save(figure, path)


def draw_profile(path: Path, title: str, rows: Sequence[Row], training_flips: Sequence[float]) -> None:
    """Accuracy over the flip rate p, a straight line a method, with the clients' own p on it."""
    figure, axes = pyplot.subplots(figsize=(7.4, 5.0), layout="constrained")
    p = np.linspace(0, 1, 2)
    for row, colour in zip(rows, COLOURS, strict=False):
        profiles = row.profiles
        mean = InvarianceProfile.mean_of(profiles)
        axes.plot(
            p, [mean.at(x) for x in p], color=colour, linewidth=2.2,
            label=f"{row.title}{_rule(row)}: mean {mean.mean:.0%}, flip rate {mean.flip_rate:.0%}",
        )  # fmt: skip
        for profile in profiles if len(profiles) > 1 else ():
            axes.plot(p, [profile.at(x) for x in p], color=colour, linewidth=0.8, alpha=0.35)
        axes.plot(training_flips, [mean.at(x) for x in training_flips], "o", color=colour, markersize=7)
        axes.plot(mean.unseen_p, mean.at(mean.unseen_p), "*", color=colour, markersize=15)
    first = rows[0].profiles[0]
    axes.axhline(first.ceiling, color=GREY, linestyle=":", linewidth=1.2)
    axes.annotate(
        f"best an invariant model can do: {first.ceiling:.0%}", (0.62, first.ceiling), xytext=(0, 4),
        textcoords="offset points", color=GREY, fontsize=9,
    )  # fmt: skip
    for flip in training_flips:
        axes.axvline(flip, color=GREY, linewidth=0.5, alpha=0.5)
    axes.axvline(first.unseen_p, color=GREY, linewidth=0.5, alpha=0.5)
    axes.plot([], [], "o", color=GREY, label="training clients")
    axes.plot([], [], "*", color=GREY, markersize=12, label="unseen client")
    axes.set(
        title=title, ylabel="accuracy on held-out images", xlim=(-0.02, 1.02), ylim=(0, 1.02),
        xlabel="p: how often the spurious feature contradicts the label (0 agrees, 1 conflicts)",
    )  # fmt: skip
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(alpha=0.2)
    axes.legend(loc="lower left", fontsize=9)
    save(figure, path)


def _rule(row: Row) -> str:
    threshold = row.played[0].stop_below
    return f", stopped below {threshold:.0%}" if threshold is not None else ""


def save(figure: Figure, path: Path) -> None:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    pyplot.close(figure)
    write_atomically(path, buffer.getvalue())

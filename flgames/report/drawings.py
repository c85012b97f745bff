"""The pictures of reproduced tables and figures: seeds as bands or bars, colours that everybody can tell apart."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from itertools import zip_longest
from pathlib import Path
from statistics import fmean

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes

from flgames.core.counts import oscillation
from flgames.report.comparison import AGREE, CONFLICT, draw_rows, explain_rows
from flgames.report.lines import Line
from flgames.report.plots import COLOURS, GREY, UNSEEN, save
from flgames.runs.result import StoredMatch

Lines = Sequence[Line]

SCHEDULES = ("Sequential", "Parallel")


def by_section(lines: Lines) -> dict[str, list[Line]]:
    sections: dict[str, list[Line]] = {}
    for line in lines:
        sections.setdefault(line.section, []).append(line)
    return sections


def methods(path: Path, title: str, lines: Lines) -> None:
    """A panel a benchmark, a line a method: agree, conflict, the unseen client here and in the paper."""
    sections = by_section(lines)
    columns = min(2, len(sections))
    height = 0.36 * max(map(len, sections.values())) + 0.8
    grid = (-(-len(sections) // columns), columns)
    size = (8.2 * columns, height * grid[0] + 0.9)
    figure, panels = pyplot.subplots(*grid, figsize=size, squeeze=False, layout="constrained")
    for panel, drawn in zip_longest(panels.flat, sections.items()):
        if drawn is None:
            panel.axis("off")
            continue
        section, its_lines = drawn
        draw_rows(panel, [(f"{line.label} ({len(line.played)})", line.row) for line in its_lines])
        panel.set_title(section)
    explain_rows(figure)
    figure.suptitle(f"{title}; in brackets: seeds")
    save(figure, path)


def clients(path: Path, title: str, lines: Lines) -> None:
    """Rounds, moves, megabytes and accuracy over the number of clients, a row a benchmark."""
    measures: dict[str, Callable[[Line], Sequence[float]]] = {
        "rounds": lambda line: line.row.values("rounds"),
        "moves of predictors": lambda line: line.moves,
        "megabytes, up and down": lambda line: line.megabytes,
        "unseen client, %": lambda line: line.row.values("unseen"),
    }
    sections = by_section(lines)
    size = (4.0 * len(measures), 2.9 * len(sections) + 0.9)
    figure, panels = pyplot.subplots(
        len(sections), len(measures), figsize=size, squeeze=False, layout="constrained", sharex=True
    )
    for row, (section, its_lines) in zip(panels, sections.items(), strict=True):
        for panel, (name, measure) in zip(row, measures.items(), strict=True):
            for schedule, colour in zip(SCHEDULES, COLOURS, strict=False):
                own = [line for line in its_lines if line.row.title.startswith(schedule)]
                _over_clients(panel, own, measure, colour, schedule)
            panel.set(title=f"{section}: {name}", xticks=[2, 3, 5, 10])
            panel.grid(alpha=0.2)
            if "%" in name:
                panel.axhline(75, color=GREY, linestyle=":", linewidth=1.2)
                panel.set_ylim(0, 100)
            else:
                panel.set_ylim(bottom=0)
    for panel in panels[-1]:
        panel.set_xlabel("training clients")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    figure.suptitle(f"{title}: F-FL Games; bands and bars from the lowest seed to the highest")
    save(figure, path)


def _over_clients(
    panel: Axes, lines: Lines, measure: Callable[[Line], Sequence[float]], colour: str, name: str
) -> None:
    even = [line for line in lines if line.case.labels["clients"].isdecimal()]
    places = [int(line.case.labels["clients"]) for line in even]
    values = [measure(line) for line in even]
    panel.plot(places, [fmean(each) for each in values], "o-", color=colour, label=name)
    panel.fill_between(places, [min(each) for each in values], [max(each) for each in values], color=colour, alpha=0.2)
    for line in lines:
        if line not in even:
            each, mean = measure(line), fmean(measure(line))
            bar = [[mean - min(each)], [max(each) - mean]]
            panel.errorbar(5, mean, yerr=bar, fmt="D", color=colour, markerfacecolor="white", label=f"{name}, 5 uneven")


def curves(path: Path, title: str, lines: Lines) -> None:
    """Train and unseen accuracy over rounds with and without memory: a row a benchmark, a column a schedule."""
    sections = by_section(lines)
    size = (15, 3.1 * len(sections) + 0.9)
    figure, panels = pyplot.subplots(len(sections), 2, figsize=size, squeeze=False, layout="constrained", sharey=True)
    for row, (section, its_lines) in zip(panels, sections.items(), strict=True):
        for panel, schedule in zip(row, SCHEDULES, strict=True):
            swings = []
            for line in its_lines:
                if not line.row.title.startswith(schedule):
                    continue
                has_memory = bool(line.case.entry.config["memory"])
                name = "with memory" if has_memory else "without memory"
                colour = COLOURS[1] if has_memory else COLOURS[0]
                _band(panel, [played.train_curve for played in line.played], colour, f"training, {name}")
                _probed(panel, line, colour, f"unseen client, {name}")
                settled = [played.train_curve[len(played.train_curve) // 3 :] for played in line.played]
                swings.append(f"{name} {100 * fmean(map(oscillation, settled)):.1f}")
            panel.axhline(0.75, color=GREY, linestyle=":", linewidth=1)
            panel.set_title(f"{section}, {schedule.lower()}; points a round: {', '.join(swings)}", fontsize=10)
            panel.set(ylim=(0, 1))
            panel.grid(alpha=0.2)
        row[0].set_ylabel("accuracy")
    for panel in panels[-1]:
        panel.set_xlabel("round")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    seeds = max(len(line.played) for line in lines)
    bands = "bands: lowest to highest seed; " if seeds > 1 else ""
    figure.suptitle(f"{title}; rule off; {bands}points a round: mean change of training accuracy after the first third")
    save(figure, path)


def _band(panel: Axes, curves: Sequence[Sequence[float]], colour: str, label: str, width: float = 1.0) -> None:
    """The mean of seeds that are all under way, between the lowest and the highest."""
    longest = max(map(len, curves))
    padded = np.full((len(curves), longest), np.nan)
    for place, curve in enumerate(curves):
        padded[place, : len(curve)] = curve
    shortest = min(map(len, curves))
    rounds = np.arange(1, longest + 1)
    panel.plot(rounds[:shortest], padded[:, :shortest].mean(0), color=colour, linewidth=width, label=label)
    if len(curves) > 1:
        panel.fill_between(rounds, np.nanmin(padded, 0), np.nanmax(padded, 0), color=colour, alpha=0.22, linewidth=0)


def _probed(panel: Axes, line: Line, colour: str, label: str) -> None:
    probes = [played.probes for played in line.played if played.probes]
    if probes:
        rounds = [round_ + 1 for round_ in probes[0]["round"]]
        unseen = np.array([each["unseen"] for each in probes])
        panel.plot(rounds, unseen.mean(0), "o--", color=colour, markersize=4, linewidth=0.8, label=label)
        panel.vlines(rounds, unseen.min(0), unseen.max(0), color=colour, alpha=0.4)


LEVELS = (0.80, 0.75, 0.70)


def fast(path: Path, title: str, lines: Lines) -> None:
    """Training accuracy over rounds for the four combinations, and the first round below each level."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(14, 5), layout="constrained", width_ratios=(3, 2))
    width = 0.8 / len(lines)
    for place, (line, colour) in enumerate(zip(lines, COLOURS, strict=False)):
        name = line.row.title.removeprefix("Parallel ")
        seeds = [played.train_curve for played in line.played]
        _band(left, seeds, colour, f"{name} ({len(seeds)} seed{'s' if len(seeds) > 1 else ''})")
        for slot, level in enumerate(LEVELS):
            firsts = [first for played in line.played if (first := _first_round(played, level)) is not None]
            spot = slot + (place - (len(lines) - 1) / 2) * width
            if firsts:
                right.bar(spot, fmean(firsts), width * 0.9, color=colour)
            missing = len(seeds) - len(firsts)
            if missing:
                never = {"xytext": (0, 4), "textcoords": "offset points", "ha": "center", "va": "bottom"}
                right.annotate(f"{missing} never", (spot, 0), rotation=90, fontsize=8, **never)
    left.axhline(0.75, color=GREY, linestyle=":", linewidth=1)
    left.set(
        xlabel="round (phi and predictors in turn)", ylabel="training accuracy", ylim=(0.3, 0.9), title=lines[0].section
    )
    left.legend(fontsize=9)
    right.set(xticks=range(len(LEVELS)), xticklabels=[f"below {level:.2f}" for level in LEVELS], ylabel="first round")
    right.set_xlim(-0.6, len(LEVELS) - 0.4)
    right.set_title("first round with a training accuracy below ...")
    for panel in (left, right):
        panel.grid(alpha=0.2)
    figure.suptitle(title)
    save(figure, path)


WARM = 20
"""The first rounds, in which nothing is learnt yet."""


def _first_round(played: StoredMatch, level: float) -> int | None:
    """The curve is of estimates and the rule counts exactly: where it fired, it knows better."""
    result = played.result
    fired = result.end == "rule" and result.stop_below is not None and result.stop_below <= level
    return first_below(played.train_curve, level) or (result.rounds if fired else None)


def first_below(curve: Sequence[float], level: float) -> int | None:
    """The first round, counted from 1, in which a curve that has been above a level is below it."""
    armed = False
    for round_, value in enumerate(curve, start=1):
        if armed and round_ > WARM and value < level:
            return round_
        armed = armed or value >= level
    return None


def categories(path: Path, title: str, lines: Lines) -> None:
    """Accuracy, rounds and training curves for named ways to play, a column of panels a schedule."""
    schedules = [name for name in SCHEDULES if any(line.row.title.startswith(name) for line in lines)]
    size = (7.0 * len(schedules), 10.5)
    figure, panels = pyplot.subplots(3, len(schedules), figsize=size, squeeze=False, layout="constrained", sharey="row")
    for column, schedule in zip(panels.T, schedules, strict=True):
        own = [line for line in lines if line.row.title.startswith(schedule)]
        names = [list(line.case.labels.values())[-1] for line in own]
        for name, marker, colour in (("agree", "o", AGREE), ("conflict", "s", CONFLICT), ("unseen", "*", UNSEEN)):
            for place, line in enumerate(own):
                values = line.row.values(name)
                label = ("unseen client" if name == "unseen" else name) if place == 0 else None
                size_ = 13 if name == "unseen" else 7
                column[0].plot(place, fmean(values), marker, color=colour, markersize=size_, label=label)
                column[0].vlines(place, min(values), max(values), color=colour, alpha=0.5)
        column[0].axhline(75, color=GREY, linestyle=":", linewidth=1.2)
        column[0].set(title=f"{own[0].section}, {schedule.lower()} F-FL Games", ylim=(0, 100))
        rounds = [line.row.values("rounds") for line in own]
        means = [fmean(each) for each in rounds]
        column[1].bar(range(len(own)), means, color=COLOURS[: len(own)])
        column[1].vlines(range(len(own)), [min(each) for each in rounds], [max(each) for each in rounds], color="black")
        for place, mean in enumerate(means):
            least = "≥ " if own[place].unstopped else ""
            above = (place, max(rounds[place]))
            column[1].annotate(f"{least}{mean:.0f}", above, ha="center", va="bottom", fontsize=9)
        column[1].margins(y=0.12)
        for panel in column[:2]:
            panel.set_xticks(range(len(own)), [textwrap.fill(name, 16) for name in names], fontsize=8)
        for line, name, colour in zip(own, names, COLOURS, strict=False):
            _band(column[2], [played.train_curve for played in line.played], colour, name)
        column[2].set(xlabel="round", ylim=(0.2, 0.95))
        column[2].legend(fontsize=8)
        for panel in column:
            panel.grid(alpha=0.2)
    for panel, label in zip(panels[:, 0], ("held-out accuracy, %", "rounds", "training accuracy"), strict=True):
        panel.set_ylabel(label)
    panels[0][0].legend(fontsize=9)
    seeds = " or ".join(str(number) for number in sorted({len(line.played) for line in lines}))
    figure.suptitle(f"{title}\nseeds: {seeds}; bars and bands from the lowest to the highest")
    save(figure, path)

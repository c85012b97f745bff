"""Real sites compared: every method on the same draws of training sites, with paired differences to FedAvg."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from matplotlib import pyplot
from matplotlib.axes import Axes
from rich.console import Console
from rich.table import Table

from flgames.data.benchmarks.registry import benchmark
from flgames.files import write_atomically
from flgames.report.clients import majority_of, rows_of, spread
from flgames.report.difference import Difference
from flgames.report.plots import COLOURS, GREY, save
from flgames.runs.compare import Comparison
from flgames.runs.evidence import held_back_accuracy
from flgames.runs.match import Match
from flgames.runs.names import FL_GAMES
from flgames.runs.result import Result
from flgames.runs.store import Store

AGAINST = "fedavg"
"""Whom differences are to."""

REFERENCES = ("core-only", "constant")
"""Rows that nobody competes with."""

OURS_MINUS = ("FL Games - it, mean", "10th")

COLUMNS = ("mean", "10th", "worst", "AUC", "log loss", "held back", "mean - FedAvg", "wins", "10th - FedAvg",
           "rounds")  # fmt: skip


def _unseen(measure: str, part: str, scale: float) -> Callable[[Result], float]:
    def value(result: Result) -> float:
        found = spread(rows_of([result]), measure)
        return scale * getattr(found, part) if found else math.nan

    return value


MEASURES: dict[str, Callable[[Result], float]] = {
    "mean": _unseen("accuracy", "mean", 100),
    "tenth": _unseen("accuracy", "tenth", 100),
    "worst": _unseen("accuracy", "worst", 100),
    "auc": _unseen("auc", "mean", 1),
    "log_loss": _unseen("log_loss", "mean", 1),
    "calibration_error": _unseen("calibration_error", "mean", 100),
    "held_back": lambda result: 100 * held_back_accuracy(result)[0] if result.held_back else math.nan,
    "rounds": lambda result: result.chosen_round + 1,
    "settled": lambda result: float(bool(result.finding and result.finding.settled)),
}
"""Of one draw; accuracies in %, over unseen sites."""


@dataclass(frozen=True)
class DrawsRow:
    """One method on all draws."""

    slug: str
    title: str
    values: Mapping[str, Sequence[float]]
    """Of every measure, draw by draw."""
    in_turn: bool = False
    """Whether every draw has one unseen site: then the 10th percentile and the worst are over draws."""

    @classmethod
    def of(cls, slug: str, title: str, results: Sequence[Result]) -> DrawsRow:
        values = {name: [value(result) for result in results] for name, value in MEASURES.items()}
        return cls(slug, title, values, _in_turn(results))

    @classmethod
    def mean_of(cls, rows: Sequence[DrawsRow]) -> DrawsRow:
        """The same draws with several seeds: the mean of each draw counts once."""
        by_draw = {name: zip(*(row.values[name] for row in rows), strict=True) for name in MEASURES}
        values = {name: [fmean(seeds) for seeds in draws] for name, draws in by_draw.items()}
        return replace(rows[0], values=values)

    @classmethod
    def constant(cls, results: Sequence[Result]) -> DrawsRow:
        """The answer that is most frequent at the training sites."""
        nothing = [math.nan] * len(results)
        found: dict[str, list[float]] = {name: list(nothing) for name in MEASURES}
        for place, result in enumerate(results):
            label = majority_of(result)
            shares = sorted(100 * each.constant(label) for each in result.unseen_clients.values())
            found["mean"][place], found["worst"][place] = fmean(shares), shares[0]
            found["tenth"][place] = _quantile(shares, 0.1)
        return cls("constant", "the most frequent answer", found, _in_turn(results))

    def mean(self, measure: str) -> float:
        """Over draws. Where every site is unseen in turn, the 10th percentile and the worst are those of the sites."""
        values = self.values[measure]
        if measure in ("tenth", "worst") and self.in_turn:
            return min(values) if measure == "worst" else _quantile(sorted(values), 0.1)
        return fmean(values)

    def minus(self, other: DrawsRow, measure: str) -> Difference:
        pairs = zip(self.values[measure], other.values[measure], strict=True)
        return Difference([own - its for own, its in pairs])

    def cells(self, against: DrawsRow | None) -> tuple[str, ...]:
        """What a person reads, in the order of the columns."""
        plain = [_shown(self.mean(name), form) for name, form in (
            ("mean", ".1f"), ("tenth", ".1f"), ("worst", ".1f"), ("auc", ".3f"), ("log_loss", ".3f"),
            ("held_back", ".1f"))]  # fmt: skip
        if against is None or against.slug == self.slug:
            return (*plain, "", "", "", _shown(self.mean("rounds"), ".0f"))
        ahead = self.minus(against, "mean")
        tenth = "" if self.in_turn else str(self.minus(against, "tenth"))
        return (*plain, str(ahead), f"{ahead.wins}:{ahead.losses}", tenth, _shown(self.mean("rounds"), ".0f"))

    def record(self, against: DrawsRow | None) -> dict[str, str | float | int]:
        """What a program reads."""
        draws = len(self.values["mean"])
        record: dict[str, str | float | int] = {"method": self.slug, "title": self.title, "draws": draws}
        record |= {name: _rounded(self.mean(name)) for name in self.values}
        for measure in ("mean", "tenth", "worst", "auc"):
            same = against is None or against.slug == self.slug or (self.in_turn and measure in ("tenth", "worst"))
            other = None if against is None or same else self.minus(against, measure)
            record[f"{measure}_minus_fedavg"] = _rounded(other.mean) if other else ""
            record[f"{measure}_minus_fedavg_half"] = _rounded(other.half) if other else ""
            record[f"{measure}_wins"] = other.wins if other else ""
            record[f"{measure}_losses"] = other.losses if other else ""
        return record


@dataclass(frozen=True)
class DrawsTable:
    """Every method on the same draws."""

    title: str
    rows: Sequence[DrawsRow]

    @classmethod
    def of(cls, title: str, matches: Mapping[tuple[str, str], Sequence[Match]], store: Store) -> DrawsTable:
        """From matches that have all been played, by the method's name and title."""
        found = {key: [played(store, match) for match in its] for key, its in matches.items()}
        rows = [DrawsRow.of(slug, title, results) for (slug, title), results in found.items()]
        return cls(title, [*rows, DrawsRow.constant(next(iter(found.values())))])

    @property
    def against(self) -> DrawsRow | None:
        return next((row for row in self.rows if row.slug == AGAINST), None)

    @property
    def draws(self) -> int:
        return len(self.rows[0].values["mean"])

    def terminal(self) -> Iterator[Table]:
        """For 80 characters: accuracies, then differences."""
        for columns in (COLUMNS[:6], COLUMNS[6:]):
            table = Table(title=self.title, title_justify="left", padding=(0, 0), collapse_padding=True)
            table.add_column("", min_width=20)
            for column in columns:
                table.add_column(column, justify="right")
            for row in self.rows:
                cells = dict(zip(COLUMNS, row.cells(self.against), strict=True))
                table.add_row(row.title, *(cells[column] for column in columns))
            yield table

    def markdown(self) -> str:
        lines = [("", *COLUMNS, *OURS_MINUS), ("---",) * (len(COLUMNS) + 1 + len(OURS_MINUS))]
        lines += [(row.title, *row.cells(self.against), *self._ours_minus(row)) for row in self.rows]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def _ours_minus(self, row: DrawsRow) -> tuple[str, ...]:
        """FL Games against each of the others."""
        ours = next((each for each in self.rows if each.slug == FL_GAMES), None)
        if ours is None or ours is row:
            return ("",) * len(OURS_MINUS)
        return str(ours.minus(row, "mean")), "" if row.in_turn else str(ours.minus(row, "tenth"))

    def csv(self, **first: str) -> list[dict[str, str | float | int]]:
        return [{**first, **row.record(self.against)} for row in self.rows]


LEGEND = """
Accuracies in %, over unseen sites: their `mean`, `10th` percentile and `worst`, averaged over draws. `held back`:
accuracy on samples of the training sites that were held back. `mean - FedAvg` and `10th - FedAvg`: paired differences
over draws with 95% intervals; `wins`: draws in which the mean is higher : lower. `rounds`: of the chosen model. The
last two columns are FL Games minus the row, in the same way. Where every site is unseen in turn, 10th and worst are
over sites.
"""


def show(comparison: Comparison, store: Store, console: Console) -> None:
    """Write and print the comparison of matches that have all been played."""
    source = benchmark(comparison.options)
    matches = {(entry.slug, entry.title): its for entry, its in comparison.by_entry()}
    table = DrawsTable.of(f"{source.title}, {_what(comparison)}", matches, store)
    stem = store.root / f"compare-{comparison.label}"
    files = [stem.with_name(stem.name + ending) for ending in (".md", ".csv", ".png")]
    write_atomically(files[0], f"{table.title}\n{LEGEND}\n{table.markdown()}")
    write_atomically(files[1], csv_of(table.csv()))
    if table.against is not None:
        draw(files[2], [table])
    else:
        files.pop()
    from flgames.report.html.stored_pages import draws_page

    results = {title: [played(store, match) for match in its] for (_, title), its in matches.items()}
    page = stem.with_name(stem.name + ".html")
    files.append(
        draws_page(page, f"Comparison on {source.title}", table.title, {"all": table}, results, comparison.command)
    )
    for each in table.terminal():
        console.print(each)
    for file in files:
        console.print(str(file), soft_wrap=True)


def _what(comparison: Comparison) -> str:
    number = len(comparison.cases())
    if comparison.states is not None:
        return f"{number} draws of {comparison.states} training sites"
    return f"{number} case{'s' if number > 1 else ''}"


def csv_of(records: Sequence[Mapping[str, object]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


Mark = tuple[float, str, str, str]
"""How far from a method's line a measure is marked, which one, what a legend calls it, and its colour."""

MEAN_AND_TENTH: Sequence[Mark] = (
    (-0.14, "mean", "mean over unseen sites", COLOURS[1]),
    (0.14, "tenth", "10th percentile", COLOURS[0]),
)
EACH_IN_TURN: Sequence[Mark] = ((0.0, "mean", "mean over unseen sites (bars: 95%)", COLOURS[1]),)
"""Where a draw has one unseen site, which is its own mean and 10th percentile."""


def draw(path: Path, tables: Sequence[DrawsTable]) -> None:
    """A panel a table: the paired difference to FedAvg of every method, with its interval, in mean and, of several
    unseen sites, 10th percentile."""
    compared = [row for row in tables[0].rows if row.slug not in (AGAINST, "constant")]
    size = (4.2 * len(tables) + 2.2, 0.36 * len(compared) + 1.8)
    figure, panels = pyplot.subplots(1, len(tables), figsize=size, sharey=True, squeeze=False, layout="constrained")
    for panel, table in zip(panels[0], tables, strict=True):
        against = table.against
        assert against is not None, "differences are to FedAvg"
        rows = [row for row in table.rows if row.slug not in (AGAINST, "constant")]
        draw_differences(panel, rows, against, EACH_IN_TURN if against.in_turn else MEAN_AND_TENTH)
        panel.set_title(table.title, fontsize=9)
    panels[0][0].set_yticks(range(len(compared)), [row.title for row in compared])
    panels[0][0].set_ylim(len(compared) - 0.5, -0.5)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=9)
    save(figure, path)


def draw_differences(panel: Axes, rows: Sequence[DrawsRow], against: DrawsRow, marks: Sequence[Mark]) -> None:
    """A line a method: how far it is above FedAvg in some measures, with intervals."""
    for offset, measure, label, colour in marks:
        found = [row.minus(against, measure) for row in rows]
        halves = [0.0 if math.isnan(each.half) else each.half for each in found]
        panel.errorbar(
            [each.mean for each in found], [place + offset for place in range(len(rows))], xerr=halves, fmt="o",
            color=colour, markersize=5, elinewidth=1.2, label=label,
        )  # fmt: skip
    panel.axvline(0, color=GREY, linewidth=1)
    panel.set_xlabel("points above FedAvg")
    panel.grid(axis="x", alpha=0.2)


def _in_turn(results: Sequence[Result]) -> bool:
    return len(results) > 1 and all(len(result.unseen_clients) == 1 for result in results)


def played(store: Store, match: Match) -> Result:
    """The result of a match that has been played."""
    result = store.find(match)
    assert result is not None, f"{match.stem} has not been played"
    return result


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def _shown(value: float, form: str) -> str:
    return "" if math.isnan(value) else format(value, form)


def _rounded(value: float) -> float | str:
    return "" if math.isnan(value) else round(value, 4)

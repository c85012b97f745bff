"""Figures by client, as people read them: what training clients say of samples that were held back, and what is found
where nobody trained."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from rich.box import SIMPLE_HEAD
from rich.table import Table

from flgames.core.figures import Figures, Interval, Spread, wilson
from flgames.runs.result import Result

MOST_SHOWN = 8
"""Unseen clients that a terminal shows one by one; of more, the mean, the 10th percentile and the worst."""

COLUMNS = ("client", "n", "accuracy", "balanced", "AUC", "loss", "calib.", "const.")
"""Accuracy in % with its 95% interval; balanced accuracy; the area under the ROC curve; the mean log loss; how far
confidence and accuracy are apart; and the accuracy of the answer that is most frequent at the training clients."""

MEASURES: dict[str, Callable[[Figures], float | None]] = {
    "accuracy": lambda each: each.accuracy,
    "balanced_accuracy": lambda each: each.rates.balanced_accuracy,
    "auc": lambda each: each.auc,
    "log_loss": lambda each: each.log_loss,
    "calibration_error": lambda each: each.calibration_error,
}

LOWER_IS_BETTER = ("log_loss", "calibration_error")


@dataclass(frozen=True)
class ClientRow:
    """One client's figures with every seed."""

    client: str
    figures: Sequence[Figures]
    majority: int
    """The label that is most frequent at the training clients."""
    is_unseen: bool

    def mean(self, measure: str) -> float | None:
        """Over seeds; None where it can't be said."""
        found = [value for value in map(MEASURES[measure], self.figures) if value is not None]
        return fmean(found) if found else None

    @property
    def n(self) -> int:
        return round(fmean(each.n for each in self.figures))

    @property
    def constant(self) -> float:
        return fmean(each.constant(self.majority) for each in self.figures)

    @property
    def interval(self) -> Interval:
        """Of the accuracy, as far as this client's samples are few."""
        return wilson(fmean(each.accuracy for each in self.figures), self.n)

    def cells(self) -> tuple[str, ...]:
        low, high = self.interval
        return (
            self.client,
            str(self.n),
            f"{_percent(self.mean('accuracy'))} ({100 * low:.0f}-{100 * high:.0f})",
            _percent(self.mean("balanced_accuracy")),
            _number(self.mean("auc")),
            _number(self.mean("log_loss")),
            _percent(self.mean("calibration_error")),
            _percent(self.constant),
        )

    def record(self) -> dict[str, str | float | int]:
        """What a program reads."""
        low, high = self.interval
        values = {name: _rounded(self.mean(name)) for name in MEASURES}
        ends: dict[str, str | float | int] = {"accuracy_low": round(low, 4), "accuracy_high": round(high, 4)}
        of_auc = self.figures[0].auc_interval if len(self.figures) == 1 else None
        ends |= dict(zip(("auc_low", "auc_high"), map(_rounded, of_auc or (None, None)), strict=True))
        kind = "unseen" if self.is_unseen else "trained on"
        return {"client": self.client, "kind": kind, "n": self.n, **values, **ends, "constant": round(self.constant, 4)}


def rows_of(results: Sequence[Result]) -> list[ClientRow]:
    """Training clients on samples that were held back, then those that nobody trained on."""
    majority = majority_of(results[0])
    rows = []
    for is_unseen, found in (
        (False, [_on_training(result) for result in results]),
        (True, [result.unseen_clients for result in results]),
    ):
        for client in dict.fromkeys(name for each in found for name in each):
            rows.append(ClientRow(client, [each[client] for each in found if client in each], majority, is_unseen))
    return rows


def _on_training(result: Result) -> Mapping[str, Figures]:
    """Of training clients: on samples that were held back, or else what was counted where they trained."""
    return result.held_back or {name: Figures.of_counts(counts) for name, counts in result.confusion_of.items()}


def majority_of(result: Result) -> int:
    """The label that is most frequent at the training clients."""
    counts = [sum(columns) for columns in zip(*(_by_label(each) for each in _training(result)), strict=True)]
    return counts.index(max(counts))


def _training(result: Result) -> list[Sequence[Sequence[int]]]:
    held_back = [each.confusion for each in result.held_back.values()]
    return list(held_back or result.confusion_of.values())


def _by_label(confusion: Sequence[Sequence[int]]) -> list[int]:
    return [sum(row) for row in confusion]


def spread(rows: Sequence[ClientRow], measure: str) -> Spread | None:
    """Over unseen clients; the 10th percentile and the worst are those of bad values, whichever way they lie."""
    values = [value for value in (row.mean(measure) for row in rows if row.is_unseen) if value is not None]
    if not values:
        return None
    sign = -1 if measure in LOWER_IS_BETTER else 1
    found = Spread.of([sign * value for value in values])
    return Spread(mean=sign * found.mean, tenth=sign * found.tenth, worst=sign * found.worst)


def summary_cells(rows: Sequence[ClientRow]) -> Iterator[tuple[str, ...]]:
    """Over unseen clients: the mean, the 10th percentile and the worst of every measure."""
    unseen = [row for row in rows if row.is_unseen]
    if len(unseen) < 2:
        return
    spreads = {measure: spread(rows, measure) for measure in MEASURES}
    for name, part in (("mean", "mean"), ("10th perc.", "tenth"), ("worst", "worst")):
        values = {measure: getattr(found, part) if found else None for measure, found in spreads.items()}
        constants = Spread.of([row.constant for row in unseen])
        yield (
            f"{name} of {len(unseen)} unseen",
            "",
            _percent(values["accuracy"]),
            _percent(values["balanced_accuracy"]),
            _number(values["auc"]),
            _number(values["log_loss"]),
            _percent(values["calibration_error"]),
            _percent(getattr(constants, part)),
        )


def terminal_tables(title: str, methods: Mapping[str, Sequence[ClientRow]]) -> Iterator[Table]:
    """For a terminal of 80 characters: a table a method."""
    for method, rows in methods.items():
        table = empty_table(f"{method}\n{title}")
        unseen = [row for row in rows if row.is_unseen]
        for row in rows:
            if not row.is_unseen or len(unseen) <= MOST_SHOWN:
                first, *rest = row.cells()
                table.add_row(f"{first}{' (unseen)' if row.is_unseen else ''}", *rest)
        for cells in summary_cells(rows):
            table.add_row(*cells, style="bold")
        yield table


def empty_table(title: str) -> Table:
    """With the columns of a client's figures."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in COLUMNS:
        is_name = column == "client"
        table.add_column(column, justify="left" if is_name else "right", overflow="fold", no_wrap=not is_name)
    return table


def markdown_page(title: str, methods: Mapping[str, Sequence[ClientRow]]) -> str:
    lines = [("", *COLUMNS), ("---",) * (len(COLUMNS) + 1)]
    for method, rows in methods.items():
        for place, row in enumerate(rows):
            first, *rest = row.cells()
            lines.append((method if not place else "", f"{first}{' (unseen)' if row.is_unseen else ''}", *rest))
        lines += [("", *cells) for cells in summary_cells(rows)]
    return f"{title}\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def csv_page(methods: Mapping[str, Sequence[ClientRow]]) -> str:
    records = [{"method": method, **row.record()} for method, rows in methods.items() for row in rows]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def _percent(value: float | None) -> str:
    return "-" if value is None or value != value else f"{100 * value:.1f}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _rounded(value: float | None) -> float | str:
    return "" if value is None or value != value else round(value, 4)

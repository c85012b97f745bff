"""The answer in figures: the table with intervals, the invariance profile, unseen clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from flgames.data.benchmarks.benchmark import Benchmark
from flgames.evaluation.profile import InvarianceProfile
from flgames.report.clients import MEASURES, ClientRow, spread
from flgames.report.html import charts
from flgames.report.html.cells import NOTHING, ends, inside, number, percent, share
from flgames.report.html.page import Cell, Chart, Table
from flgames.report.rows import Row

HINTS = {
    "train": "Accuracy at the training clients, %",
    "unseen client": "Accuracy at the client that nobody trained on, %",
    "agree": "Accuracy where the shortcut agrees with the label, %",
    "conflict": "Accuracy where the shortcut contradicts the label, %",
    "mean": "The mean of agree and conflict, %",
    "flip rate": "Predictions that change when only the shortcut changes, %",
    "paper": "The paper's figure for the unseen client, mean ± standard deviation",
    "MB": "Megabytes up and down, all clients",
    "10th": "The 10th percentile over unseen clients, %",
    "worst": "The worst unseen client, %",
    "AUC": "The area under the ROC curve, mean over unseen clients",
    "log loss": "The mean log loss, over unseen clients",
    "calibration": "How far confidence and accuracy are apart, %",
    "held back": "Accuracy on samples of the training clients that were held back, %",
    "most frequent": "The accuracy of the training clients' most frequent answer, %",
}

FIRST = ("FedAvg", "FL Games")
"""Of many methods, those that a chart shows at first, beside the last one."""

MOST_SITES = 60
"""Unseen clients that a chart has room for."""


def planted_table(caption: str, rows: Sequence[Row]) -> Table:
    """A line a method on a benchmark whose shortcut is known."""
    columns = ["method", "unseen client", "agree", "conflict", "mean", "flip rate", "train", "rounds"]
    if any(row.paper for row in rows):
        columns.insert(2, "paper")
    lines = []
    for row in rows:
        unseen = share(row.values("unseen"))
        if row.reversed:
            unseen = Cell(unseen.text, unseen.value, f"{unseen.more} reversed in {row.reversed}".strip())
        cells = {
            "method": Cell(row.title),
            "unseen client": unseen,
            "paper": Cell(str(row.paper), row.paper.mean) if row.paper else NOTHING,
            "agree": share(row.values("agree")),
            "conflict": share(row.values("conflict")),
            "mean": share(row.values("mean")),
            "flip rate": share(row.values("flip_rate")),
            "train": share(row.values("train")),
            "rounds": number(_mean(row.values("rounds")), ".0f"),
        }
        lines.append([cells[column] for column in columns])
    quiet = frozenset(place for place, row in enumerate(rows) if row.is_reference)
    return Table(caption, columns, lines, quiet, HINTS)


def profile_chart(rows: Sequence[Row], source: Benchmark) -> Chart:
    """Accuracy over p: a straight line a method, with a band where seeds give one."""
    played = [row for row in rows if row.profiles]
    ceiling = played[0].profiles[0].ceiling
    clients = [*source.flips.items(), ("unseen client", played[0].profiles[0].unseen_p)]
    values: charts.Rows = []
    for row in played:
        for p in (0, 0.25, 0.5, 0.75, 1):
            values.append({"series": row.title, "kind": "line", "p": p, **_at(row.profiles, p)})
        for name, p in clients:
            kind = "unseen" if name == "unseen client" else "trained"
            values.append({"series": row.title, "kind": kind, "at": name, "p": p, **_at(row.profiles, p)})
    return charts.profile(values, charts.colours(row.title for row in played), ceiling, clients)


def _at(profiles: Sequence[InvarianceProfile], p: float) -> dict[str, object]:
    return _interval([100 * each.at(p) for each in profiles], "accuracy")


def _interval(values: Sequence[float], name: str) -> dict[str, object]:
    """A mean and its interval over seeds, for a chart."""
    found = inside(values)
    if found is None:
        return {name: round(fmean(values), 2), "low": None, "high": None, "range": "one seed: not known"}
    low, high = found
    return {name: round(fmean(values), 2), "low": low, "high": high, "range": f"{low:.1f} to {high:.1f}"}


def unseen_table(caption: str, methods: Mapping[str, Sequence[ClientRow]], rounds_: Mapping[str, float]) -> Table:
    """A line a method on real data: the mean over unseen clients, and those where it is bad."""
    several = any(sum(row.is_unseen for row in rows) > 1 for rows in methods.values())
    columns = [
        "method",
        "unseen, mean",
        *(("10th", "worst") if several else ()),
        "AUC",
        "log loss",
        "calibration",
        "training clients",
        "rounds",
    ]
    lines = []
    for method, rows in methods.items():
        unseen = [row for row in rows if row.is_unseen]
        values = [100 * (row.mean("accuracy") or 0.0) for row in unseen]
        first = percent(values[0] / 100, unseen[0].interval) if len(unseen) == 1 else share(values)
        found = {measure: spread(rows, measure) for measure in MEASURES}
        accuracy = found["accuracy"]
        trained = [row for row in rows if not row.is_unseen]
        total = sum(row.n for row in trained)
        own = sum(row.n * (row.mean("accuracy") or 0.0) for row in trained) / total if total else None
        cells = {
            "method": Cell(method),
            "unseen, mean": first,
            "10th": percent(accuracy.tenth if accuracy else None),
            "worst": percent(accuracy.worst if accuracy else None),
            "AUC": number(found["auc"].mean if found["auc"] else None, ".3f"),
            "log loss": number(found["log_loss"].mean if found["log_loss"] else None, ".3f"),
            "calibration": percent(found["calibration_error"].mean if found["calibration_error"] else None),
            "training clients": percent(own),
            "rounds": number(rounds_[method], ".0f"),
        }
        lines.append([cells[column] for column in columns])
    constants = [row.constant for row in next(iter(methods.values())) if row.is_unseen]
    if constants:
        line = {"method": Cell("the most frequent answer"), "unseen, mean": percent(fmean(constants))}
        line |= {"worst": percent(min(constants))}
        lines.append([line.get(column, NOTHING) for column in columns])
    quiet = frozenset([len(lines) - 1]) if constants else frozenset[int]()
    return Table(caption, columns, lines, quiet, HINTS)


def clients_table(caption: str, methods: Mapping[str, Sequence[ClientRow]], folded: str = "") -> Table:
    """A line a client and method: all its figures."""
    columns = (
        "client",
        "method",
        "kind",
        "samples",
        "accuracy",
        "balanced",
        "AUC",
        "log loss",
        "calibration",
        "most frequent",
    )
    lines = []
    for method, rows in methods.items():
        for row in rows:
            lines.append(
                [
                    Cell(row.client),
                    Cell(method),
                    Cell("unseen" if row.is_unseen else "trained on"),
                    number(row.n, ",d"),
                    percent(row.mean("accuracy"), row.interval),
                    percent(row.mean("balanced_accuracy")),
                    number(row.mean("auc"), ".3f"),
                    number(row.mean("log_loss"), ".3f"),
                    percent(row.mean("calibration_error")),
                    percent(row.constant),
                ]
            )
    return Table(caption, columns, lines, hints=HINTS, folded=folded)


def unseen_chart(title: str, methods: Mapping[str, Sequence[ClientRow]]) -> Chart | None:
    """A line an unseen client: what every method reaches there."""
    unseen = {method: {row.client: row for row in rows if row.is_unseen} for method, rows in methods.items()}
    last = list(unseen.values())[-1]
    if not last:
        return None
    order = sorted(last, key=lambda client: -(last[client].mean("accuracy") or 0.0))
    if len(order) > MOST_SITES:
        order = [*order[: MOST_SITES // 2], *order[-MOST_SITES // 2 :]]
        title += f", the best and the worst {MOST_SITES // 2} of {len(last)}"
    values: charts.Rows = []
    for method, rows in unseen.items():
        for client in (each for each in order if each in rows):
            row = rows[client]
            low, high = row.interval
            constant = {"constant": round(100 * row.constant, 2)} if rows is last else {}
            values.append(
                {
                    "series": method,
                    "of": client,
                    "value": round(100 * (row.mean("accuracy") or 0.0), 2),
                    "n": row.n,
                    "low": round(100 * low, 2),
                    "high": round(100 * high, 2),
                    "range": ends((low, high)),
                    **constant,
                }
            )
    worst, best = order[-1], order[0]
    label = (
        f"Accuracy at {len(last)} unseen clients. {list(unseen)[-1]}: best {100 * (last[best].mean('accuracy') or 0):.1f}% "
        f"at {best}, worst {100 * (last[worst].mean('accuracy') or 0):.1f}% at {worst}. The table has every figure."
    )
    marks = [("tick", "the most frequent answer")]
    kept = [list(unseen)[-1], *(name for name in unseen if name in FIRST), *list(unseen)[:-1]][: charts.FEW - 1]
    hidden = frozenset(unseen) - set(kept) if len(unseen) > charts.FEW else frozenset[str]()
    return charts.dots(title, label, values, charts.colours(unseen), order, "accuracy, %", marks=marks, hidden=hidden)


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None

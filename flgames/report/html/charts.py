"""The charts of a page in Vega-Lite's words: calm, told apart by colour-blind readers, and readable on a phone.

Colours are names of the page's style, so that light, dark and paper each have their own. What is switched off is the
business of the page: every chart has a parameter ``shown`` with the names of the lines that are drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flgames.report.html.page import Chart, Spec

PALETTE = 8
"""Colours that the style has, by Okabe and Ito; of more lines some share one, with another dash."""

DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])

FEW = 4
"""Series that stand one below the other on a client's line; more share it."""

QUIET, UNSEEN = "var(--quiet)", "var(--unseen)"

Rows = list[dict[str, Any]]

PERCENT = {"format": ".1f"}


def colours(names: Iterable[str]) -> dict[str, str]:
    """A colour for every name, in their order."""
    return {name: f"var(--s{place % PALETTE})" for place, name in enumerate(names)}


def _spec(
    height: int, rows: Rows, series: Mapping[str, str], layers: list[Spec], hidden: frozenset[str] = frozenset()
) -> Spec:
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "background": None,
        "params": [{"name": "shown", "value": [name for name in series if name not in hidden]}],
        "data": {"values": rows},
        "transform": [{"filter": "indexof(shown, datum.series) >= 0"}],
        "layer": layers,
    }


def _colour(series: Mapping[str, str]) -> Spec:
    return {
        "field": "series",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": list(series), "range": list(series.values())},
    }


def _dash(series: Mapping[str, str]) -> Spec:
    dashes = [DASHES[place // PALETTE % len(DASHES)] for place in range(len(series))]
    return {"field": "series", "type": "nominal", "legend": None, "scale": {"domain": list(series), "range": dashes}}


def _x(field: str, title: str, **more: Any) -> Spec:
    axis = {"tickCount": 8} | more.pop("axis", {})
    return {"field": field, "type": "quantitative", "title": title, "axis": axis, **more}


def _tips(**names: str) -> list[Spec]:
    """What is shown under the pointer: fields and their words; numbers with one digit."""
    return [
        {
            "field": field,
            "title": title,
            **({"format": ".1f", "type": "quantitative"} if field in NUMBERS else {"type": "nominal"}),
        }
        for field, title in names.items()
    ]


NUMBERS = ("accuracy", "low", "high", "conflict", "constant", "value", "mean")


def profile(rows: Rows, series: Mapping[str, str], ceiling: float, clients: Sequence[tuple[str, float]]) -> Chart:
    """Accuracy over p: a straight line a method, with the clients' own p on it."""
    base = {
        "x": _x(
            "p",
            "p: how often the shortcut contradicts the label",
            scale={"domain": [0, 1]},
            axis={"values": [0, 0.25, 0.5, 0.75, 1], "format": "~f"},
        )
    }
    y = _x("accuracy", "accuracy, %", scale={"domain": [0, 100]})
    colour = _colour(series)
    tips = _tips(series="method", at="at", p="p", accuracy="accuracy, %", range="95% interval")
    layers: list[Spec] = [
        {
            "mark": {"type": "rule", "strokeDash": [3, 3], "color": QUIET},
            "data": {"values": [{"ceiling": 100 * ceiling}]},
            "encoding": {"y": {"field": "ceiling", "type": "quantitative"}},
        },
        {
            "mark": {"type": "rule", "color": "var(--grid)"},
            "data": {"values": [{"p": p, "client": name} for name, p in clients]},
            "encoding": {"x": {"field": "p", "type": "quantitative"}},
        },
        {
            "mark": {"type": "area", "opacity": 0.14, "line": False},
            "transform": [{"filter": "datum.kind == 'line' && datum.low != null"}],
            "encoding": base
            | {"y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"}, "color": colour},
        },
        {
            "mark": {"type": "line", "strokeWidth": 2.5},
            "transform": [{"filter": "datum.kind == 'line'"}],
            "encoding": base | {"y": y, "color": colour, "strokeDash": _dash(series)},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1, "tooltip": True},
            "transform": [{"filter": "datum.kind != 'line'"}],
            "encoding": base
            | {
                "y": y,
                "color": colour,
                "tooltip": tips,
                "shape": {
                    "field": "kind",
                    "type": "nominal",
                    "legend": None,
                    "scale": {"domain": ["trained", "unseen"], "range": ["circle", "diamond"]},
                },
                "size": {"condition": {"test": "datum.kind == 'unseen'", "value": 160}, "value": 70},
            },
        },
    ]
    named = ", ".join(
        f"{name} {row['accuracy']:.1f}%"
        for name in series
        for row in rows
        if row["series"] == name and row["kind"] == "unseen"
    )
    return Chart(
        "Accuracy over p",
        f"Accuracy of every method over p, how often the shortcut contradicts the label. At the unseen client: {named}. "
        "The table above has the same figures.",
        _spec(320, rows, series, layers),
        series,
        [("circle", "training client"), ("diamond", "unseen client"), ("dashed", "best an invariant model can do")],
    )


def dots(
    title: str,
    label: str,
    rows: Rows,
    series: Mapping[str, str],
    order: Sequence[str],
    axis: str,
    zero: bool = False,
    what: str = "method",
    marks: Sequence[tuple[str, str]] = (),
    hidden: frozenset[str] = frozenset(),
) -> Chart:
    """A line a client or a method: a dot a series, with its interval."""
    beside = 1 < len(series) <= FEW
    height = len(order) * (max(18, 7 * len(series) + 4) if beside else 18) + 10
    y = {
        "field": "of",
        "type": "nominal",
        "sort": list(order),
        "title": None,
        "axis": {"labelLimit": 170, "ticks": False, "domain": False, "grid": False, "labelOverlap": False},
    }
    shift = (
        {"yOffset": {"field": "series", "type": "nominal", "scale": {"domain": list(series), "paddingOuter": 0.4}}}
        if beside
        else {}
    )
    x = _x("value", axis, scale={"zero": zero, "nice": True})
    tips = _tips(of="client" if what == "method" else "", series=what, value=axis, range="95% interval", n="samples")
    for tip in list(tips):
        if not any(tip["field"] in row for row in rows) or not tip["title"]:
            tips.remove(tip)
    layers: list[Spec] = [
        {
            "mark": {"type": "rule", "strokeWidth": 1.6, "opacity": 0.65},
            "transform": [{"filter": "datum.low != null"}],
            "encoding": {
                "y": y,
                **shift,
                "x": {"field": "low", "type": "quantitative", "title": axis},
                "x2": {"field": "high"},
                "color": _colour(series),
            },
        },
        {
            "mark": {"type": "point", "filled": True, "size": 45, "opacity": 1},
            "encoding": {"y": y, **shift, "x": x, "color": _colour(series), "tooltip": tips},
        },
    ]
    if all(row.get("low") is None for row in rows):
        layers.pop(0)  # an interval of nothing has no ends
    if any("constant" in row for row in rows):
        layers.insert(
            0,
            {
                "mark": {"type": "tick", "color": QUIET, "thickness": 2, "size": 12},
                "transform": [{"filter": "datum.constant != null"}],
                "encoding": {"y": y, "x": {"field": "constant", "type": "quantitative"}},
            },
        )
    if zero:
        layers.insert(
            0,
            {
                "mark": {"type": "rule", "color": QUIET},
                "data": {"values": [{"zero": 0}]},
                "encoding": {"x": {"field": "zero", "type": "quantitative"}},
            },
        )
    return Chart(title, label, _spec(height, rows, series, layers, hidden), series, marks, what, hidden)


def curves(
    title: str, label: str, rows: Rows, series: Mapping[str, str], chosen: Rows, levels: Rows, what: str = "client"
) -> Chart:
    """Accuracy over rounds: a line a client, with the round whose model is returned."""
    x = _x("round", "round", scale={"nice": False}, axis={"tickMinStep": 1, "format": "d"})
    y = _x("accuracy", "accuracy, %", scale={"zero": False})
    detail = [{"field": "seed", "type": "nominal"}]
    seeds = len({row["seed"] for row in rows})
    tips = [{"field": "round", "type": "quantitative"}, *_tips(series=what, accuracy="accuracy, %", seed="seed")]
    layers: list[Spec] = [
        {
            "mark": {"type": "line", "strokeWidth": 1.8, "opacity": 1 if seeds == 1 else 0.55},
            "encoding": {"x": x, "y": y, "color": _colour(series), "strokeDash": _dash(series), "detail": detail},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0},
            "encoding": {"x": x, "y": y, "color": _colour(series), "tooltip": tips},
        },
    ]
    if levels:
        layers.insert(
            0,
            {
                "mark": {"type": "rule", "strokeDash": [3, 3], "color": QUIET},
                "data": {"values": levels},
                "encoding": {"y": {"field": "level", "type": "quantitative"}, "tooltip": _tips(words="level")},
            },
        )
    if chosen:
        layers.append(
            {
                "mark": {"type": "rule", "color": UNSEEN, "strokeWidth": 1.6, "strokeDash": [5, 3]},
                "data": {"values": chosen},
                "encoding": {
                    "x": {"field": "round", "type": "quantitative"},
                    "tooltip": [{"field": "round", "title": "chosen round"}, {"field": "seed"}],
                },
            }
        )
    marks = [("rule", "the round whose model is returned")] if chosen else []
    marks += [("dashed", "; ".join(str(row["words"]) for row in levels))] if levels else []
    return Chart(title, label, _spec(240, rows, series, layers), series, marks, what, is_half=True)


def cost(title: str, label: str, unit: str, rows: Rows, series: Mapping[str, str]) -> Chart:
    """Something that adds up over rounds, a line a method."""
    x = _x("round", "round", scale={"nice": False}, axis={"tickMinStep": 1, "format": "d"})
    y = _x("value", unit)
    tips = [
        {"field": "round", "type": "quantitative"},
        *_tips(series="method"),
        {"field": "value", "title": unit, "format": ".3~s"},
    ]
    layers: list[Spec] = [
        {
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {"x": x, "y": y, "color": _colour(series), "strokeDash": _dash(series)},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0},
            "encoding": {"x": x, "y": y, "color": _colour(series), "tooltip": tips},
        },
    ]
    return Chart(title, label, _spec(200, rows, series, layers), series, is_half=True)


def bars(title: str, label: str, rows: Rows, series: Mapping[str, str], axis: str, level: float | None = None) -> Chart:
    """A bar a column, the longest first; two kinds of them."""
    y = {
        "field": "of",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"labelLimit": 200, "ticks": False, "domain": False, "grid": False, "labelOverlap": False},
    }
    tips = [
        {"field": "of", "title": "column"},
        {"field": "value", "title": axis, "format": ".2f"},
        {"field": "p", "title": "p"},
    ]
    layers: list[Spec] = [
        {
            "mark": {"type": "bar", "height": {"band": 0.7}},
            "encoding": {"y": y, "x": _x("value", axis), "color": _colour(series), "tooltip": tips},
        },
    ]
    if level is not None:
        layers.append(
            {
                "mark": {"type": "rule", "strokeDash": [3, 3], "color": QUIET},
                "data": {"values": [{"level": level}]},
                "encoding": {"x": {"field": "level", "type": "quantitative"}},
            }
        )
    return Chart(
        title,
        label,
        _spec(20 * len({row["of"] for row in rows}) + 10, rows, series, layers),
        series,
        what="kind of column",
    )

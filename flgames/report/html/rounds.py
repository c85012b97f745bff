"""What happened round by round: curves of every client with the chosen round, bytes and seconds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

from flgames.core.records import RoundRecord
from flgames.report.html import charts
from flgames.report.html.cells import NOTHING, number, percent
from flgames.report.html.gather import Game, Played, Source
from flgames.report.html.page import Block, Cell, Chart, Notes, Section, Table
from flgames.report.html.settings import several_seeds

POINTS = 6000
"""Of all curves of a source together: a page must stay small."""

FEWEST = 24
"""Points of a line, at least."""

UNSEEN = "unseen client"

Each = TypeVar("Each")


def curves(source: Source) -> Section | None:
    """A chart a method: every client's accuracy, and the round whose model is returned."""
    begun = [method for method in source.methods if method.has_begun]
    if not begun:
        return None
    lines = sum(len(game.rounds[0].accuracy_of) for method in begun for game in method.games if game.rounds)
    most = max(FEWEST, POINTS // max(1, lines))
    blocks: list[Block] = [_curve(method, most) for method in begun]
    blocks.append(_chosen_table(begun))
    thinned = any(len(game.rounds) > most for method in begun for game in method.games)
    says = "Accuracy of the model at every training client after each round."
    if thinned:
        says += f" Of long games about {most} rounds are drawn, evenly spread, and the chosen one."
    if several_seeds(begun):
        says += " A line a seed."
    return Section(f"Round by round{source.apart}", blocks, says)


def _curve(method: Played, most: int) -> Chart:
    rows: charts.Rows = []
    chosen: charts.Rows = []
    names: dict[str, None] = {}
    for game in method.games:
        keep = {game.result.chosen_round} if game.result else set()
        for record in _thinned(game.rounds, most, keep):
            for client, accuracy in record.accuracy_of.items():
                names[client] = None
                rows.append(_point(client, record.round, accuracy, game))
        if game.result:
            chosen.append({"round": game.result.chosen_round + 1, "seed": game.match.seed})
    clients = charts.colours(names)
    probed = [
        _point(UNSEEN, probe.round, probe.unseen, game)
        for game in method.games
        for probe in _thinned(game.probes, most)
    ]
    if probed:
        clients[UNSEEN] = charts.UNSEEN
    level = next((result.stop_below for result in method.results if result.stop_below is not None), None)
    levels = [] if level is None else [{"level": 100 * level, "words": f"stops below {level:.0%}"}]
    said = ", ".join(f"seed {each['seed']}: round {each['round']}" for each in chosen) or "the game is under way"
    label = f"Accuracy over rounds of {method.title}, a line for each of {len(names)} clients. Chosen: {said}."
    return charts.curves(method.title, label, rows + probed, clients, chosen, levels)


def _point(series: str, round_: int, accuracy: float, game: Game) -> dict[str, object]:
    return {"series": series, "round": round_ + 1, "accuracy": round(100 * accuracy, 2), "seed": game.match.seed}


def _thinned(records: Sequence[Each], most: int, keep: set[int] | None = None) -> list[Each]:
    """So many at most, evenly spread, with the last one and those to keep."""
    every = math.ceil(len(records) / most) if records else 1
    places = {*range(0, len(records), every), len(records) - 1, *(keep or ())}
    return [records[place] for place in sorted(places) if 0 <= place < len(records)]


def _chosen_table(methods: Sequence[Played]) -> Table:
    """The same in figures: where every game ended, client by client."""
    rows: list[list[Cell]] = []
    for method in methods:
        for game in method.games:
            if not game.rounds:
                continue
            result = game.result
            place = min(result.chosen_round, len(game.rounds) - 1) if result else len(game.rounds) - 1
            for client, accuracy in game.rounds[place].accuracy_of.items():
                rows.append(
                    [
                        Cell(client),
                        Cell(method.title),
                        number(game.match.seed, "d"),
                        percent(game.rounds[0].accuracy_of.get(client)),
                        percent(accuracy),
                        number(place + 1, "d"),
                        number(len(game.rounds), "d"),
                        Cell((result.stopped_by or "all rounds") if result else "under way"),
                    ]
                )
    columns = (
        "client",
        "method",
        "seed",
        "after round 1",
        "after the chosen round",
        "chosen round",
        "rounds",
        "stopped by",
    )
    return Table("Accuracy in %, of these charts", columns, rows, folded="These curves in figures")


def cost(source: Source) -> Section | None:
    """Bytes and seconds of every round, of the first seed."""
    begun = [method for method in source.methods if method.has_begun]
    if not begun:
        return None
    series = charts.colours(method.title for method in source.methods)
    most = max(FEWEST, POINTS // (2 * len(begun)))
    bytes_: charts.Rows = []
    seconds: charts.Rows = []
    table: list[list[Cell]] = []
    for method in begun:
        records = next(game.rounds for game in method.games if game.rounds)
        moved = [sum(each.down + each.up for each in record.bytes.values()) / 1e6 for record in records]
        took = [
            after - before
            for after, before in zip([r.seconds for r in records], [0.0, *(r.seconds for r in records)], strict=False)
        ]
        for values, rows in ((moved, bytes_), (took, seconds)):
            points = list(zip(records, values, strict=True))
            rows += [
                {"series": method.title, "round": r.round + 1, "value": round(v, 6)} for r, v in _thinned(points, most)
            ]
        is_federated = method.entry.is_federated
        down = sum(each.down for record in records for each in record.bytes.values()) / 1e6
        table.append(
            [
                Cell(method.title),
                number(len(records), "d"),
                number(down, ",.1f") if is_federated else NOTHING,
                number(sum(moved) - down, ",.1f") if is_federated else NOTHING,
                number(sum(moved) / len(records), ",.3f") if is_federated else NOTHING,
                number(records[-1].seconds, ",.1f"),
                number(records[-1].seconds / len(records), ".3f"),
                number(len({name for record in records for name in record.failures}), "d"),
            ]
        )
    columns = (
        "method",
        "rounds",
        "MB down",
        "MB up",
        "MB a round",
        "seconds",
        "seconds a round",
        "clients that failed",
    )
    blocks: list[Block] = [
        charts.cost(
            "Megabytes a round",
            "Megabytes up and down in every round, over all clients; the table below has the totals.",
            "megabytes",
            bytes_,
            series,
        ),
        charts.cost(
            "Seconds a round",
            "Seconds that every round took; the table below has the totals.",
            "seconds",
            seconds,
            series,
        ),
        Table("What it took, the first seed", columns, table),
    ]
    if failures := _failures(begun):
        blocks.append(Notes(failures, "warning"))
    return Section(f"Bytes and seconds{source.apart}", blocks)


def _failures(methods: Sequence[Played]) -> list[str]:
    """Who did not answer, how often and why at last."""
    said = []
    for method in methods:
        for game in method.games:
            failed: dict[str, list[RoundRecord]] = {}
            for record in game.rounds:
                for client in record.failures:
                    failed.setdefault(client, []).append(record)
            said += [
                f"{method.title}, seed {game.match.seed}: {client} did not answer in {len(records)} of {len(game.rounds)} "
                f"rounds; in round {records[-1].round + 1}: {records[-1].failures[client]}"
                for client, records in failed.items()
            ]
    return said

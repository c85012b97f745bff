"""The paper's tables over the number of classes and of clients, played by F-FL Games in both schedules."""

from __future__ import annotations

from flgames.paper import printed
from flgames.paper.case import Case, games, on
from flgames.paper.scope import BENCHMARKS, LARGE, SMALL, Scope

CLASSES = (2, 5, 10)

CLIENTS: dict[str, dict[str, object]] = {
    "2": {"clients": 2},
    "3": {"clients": 3},
    "5": {"clients": 5},
    "5-uneven": {"flips": "5-uneven"},
    "10": {"clients": 10},
}
"""The paper's rows, and what each means here."""

VARIANT = "f-fl-games"


def classes(scope: Scope) -> list[Case]:
    return [
        Case(
            {"method": each.title, "classes": str(number)},
            options,
            each,
            scope.first(2),
            printed.with_classes(benchmark, schedule, number),
        )
        for benchmark in scope.of(SMALL)
        for number in CLASSES
        for options in [on(benchmark, classes=number)]
        for schedule, each in games(options, VARIANT)
    ]


def clients(scope: Scope) -> list[Case]:
    return [
        Case(
            {"method": each.title, "clients": number},
            options,
            each,
            scope.first(1 if benchmark in LARGE else 2),
            printed.with_clients(benchmark, schedule, number),
        )
        for benchmark in scope.of(BENCHMARKS)
        for number, meaning in CLIENTS.items()
        for options in [on(benchmark, **meaning)]
        for schedule, each in games(options, VARIANT)
    ]

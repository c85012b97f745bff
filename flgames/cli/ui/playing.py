"""Matches are played with a bar that says how long the rest takes; a signal ends them between rounds."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence

import torch
import typer
from rich.console import Console

from flgames.cli.ui.signals import signals
from flgames.core.callbacks import Callback
from flgames.core.records import RoundRecord
from flgames.data.own.source import OwnOptions
from flgames.runs.compare import play_all
from flgames.runs.effort import expected_seconds, usual_rounds
from flgames.runs.match import Match
from flgames.runs.runner import Interrupted, Runner
from flgames.runs.store import Store
from flgames.waiting.bar import WorkBar
from flgames.waiting.forecast import Forecast, duration
from flgames.waiting.told import telling


class Part(Callback):
    """A game as one part of a work: its rounds move the bar."""

    def __init__(self, bar: WorkBar, part: str, what: str, rounds: int, usual: int | None = None) -> None:
        self.bar = bar
        self.part = part
        self.what = what
        self.rounds = rounds
        self.usual = usual or rounds
        """After how many rounds it ends, as far as one can tell."""

    def on_round(self, record: RoundRecord) -> None:
        played = record.round + 1
        how = f"round {played}/{self.rounds}, train {record.accuracy:.3f}"
        self.bar(self.part, min(played / self.usual, 0.99), f"{self.what}: {how}")


def play_waiting(
    matches: Sequence[Match],
    store: Store,
    device: torch.device,
    console: Console,
    models: bool = False,
    budget: float = math.inf,
) -> None:
    """Play those matches that the store does not have, in the order given; with ``models``, also those whose model
    lies on another machine.

    A match that would not end within ``budget`` seconds is not begun. One that takes longer than it seemed is stopped
    between rounds, and goes on with the next command.
    """
    waiting = [match for match in matches if not store.has(match) or (models and not store.has_model(match))]
    if not waiting:
        console.print(f"{len(matches)} matches, all played before")
        return
    seconds = expectations(matches, store)
    forecast = Forecast({match.stem: seconds[match.stem] for match in waiting}, budget)
    for match in waiting:
        forecast.found(match.stem, share_begun(match, store))
    time = duration(forecast.left(0.0))
    console.print(f"{len(matches)} matches, {len(matches) - len(waiting)} of them played before; about {time} to play")

    with signals(console) as asked, WorkBar(console, forecast) as bar:

        def in_time() -> Iterator[Match]:
            left = list(waiting)  # one that does not fit may do so later, when the pace is better known
            while match := next((each for each in left if forecast.fits(each.stem, bar.elapsed)), None):
                left.remove(match)
                yield match

        def runner(match: Match) -> Runner:
            where = f"{match.options.benchmark} " if len({each.options.benchmark for each in waiting}) > 1 else ""
            entry, what = match.entry, f"{where}{_said(match)}"
            parts = [Part(bar, match.stem, what, entry.rounds, usual_rounds(entry))]
            return Runner(device, parts, lambda: asked() or bar.elapsed > budget)

        def on_end(match: Match) -> None:
            bar(match.stem, 1.0, f"{_said(match)}: ended")

        try:
            with telling(lambda what, done, total: bar.say(f"{what}: {done} of {total}")):
                play_all(in_time(), store, runner, on_end)
        except Interrupted:
            if asked():
                console.print("Stopped; the state is saved. The same command goes on.")
                raise typer.Exit(130) from None
    if budget < math.inf:
        played = sum(map(store.has, waiting))
        console.print(f"{played} played within the budget; {len(waiting) - played} wait for the next.")


def _said(match: Match) -> str:
    held_out = f", {match.holdout} held out" if match.holdout else ""
    return f"{match.entry.slug} {match.seed}{held_out}"


def share_begun(match: Match, store: Store) -> float:
    """Which share of a match was played before it was stopped."""
    return min(0.9, store.begun(match) / usual_rounds(match.entry))


def expectations(matches: Sequence[Match], store: Store) -> dict[str, float]:
    """How many seconds each match is expected to take: as the same one did with other seeds, or with other clients of
    the same data held out."""
    alike: dict[str, list[Match]] = {}
    for match in matches:
        what = match.what | {"seed": None}
        what |= {"benchmark": match.options.digest} if isinstance(match.options, OwnOptions) else {}
        alike.setdefault(json.dumps(what, sort_keys=True), []).append(match)
    return {
        match.stem: seconds
        for group in alike.values()
        for seconds in [expected_seconds(group, store)]
        for match in group
    }

"""Matches are played with a bar that says how long the rest takes; a signal ends them between rounds."""

from __future__ import annotations

import json
from collections.abc import Sequence

import torch
import typer
from rich.console import Console

from flgames.cli.ui.forecast import Forecast, Part, WorkBar, duration
from flgames.cli.ui.signals import signals
from flgames.data.own.source import OwnOptions
from flgames.runs.compare import play_all
from flgames.runs.effort import expected_seconds, usual_rounds
from flgames.runs.match import Match
from flgames.runs.runner import Interrupted, Runner
from flgames.runs.store import Store


def play_waiting(
    matches: Sequence[Match], store: Store, device: torch.device, console: Console, models: bool = False
) -> None:
    """Play those matches that the store does not have, in the order given; with ``models``, also those whose model
    lies on another machine."""
    waiting = [match for match in matches if store.find(match) is None or (models and not store.has_model(match))]
    if not waiting:
        console.print(f"{len(matches)} matches, all played before")
        return
    seconds = expectations(matches, store)
    forecast = Forecast({match.stem: seconds[match.stem] for match in waiting})
    for match in waiting:
        forecast.found(match.stem, min(0.9, store.begun(match) / usual_rounds(match.entry)))
    time = duration(forecast.left(0.0))
    console.print(f"{len(matches)} matches, {len(matches) - len(waiting)} of them played before; about {time} to play")

    with signals(console) as interrupted, WorkBar(console, forecast) as bar:

        def runner(match: Match) -> Runner:
            where = f"{match.options.benchmark} " if len({each.options.benchmark for each in waiting}) > 1 else ""
            entry, what = match.entry, f"{where}{_said(match)}"
            return Runner(device, [Part(bar, match.stem, what, entry.rounds, usual_rounds(entry))], interrupted)

        def on_end(match: Match) -> None:
            bar(match.stem, 1.0, f"{_said(match)}: ended")

        try:
            play_all(waiting, store, runner, on_end)
        except Interrupted:
            console.print("Stopped; the state is saved. The same command goes on.")
            raise typer.Exit(130) from None


def _said(match: Match) -> str:
    held_out = f", {match.holdout} held out" if match.holdout else ""
    return f"{match.entry.slug} {match.seed}{held_out}"


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

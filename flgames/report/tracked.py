"""A run that others follow: every game of it in TensorBoard."""

from __future__ import annotations

import time
from typing import Any

from flgames.contest import OnRound, game_of
from flgames.entry import Entry
from flgames.lineup import matches
from flgames.runs import GameFolder, RunFolder
from flgames.tracking import TensorBoard

FOLDER = "tensorboard"

LOOK = 2.0
"""Seconds between two looks at what has been played."""


class Tracked:
    """Passes rounds on, and copies them from the run folder into RUN/tensorboard, a folder a game."""

    def __init__(self, run: RunFolder, on_round: OnRound) -> None:
        self.run = run
        self.on_round = on_round
        self._boards: dict[str, TensorBoard] = {}
        self._written: dict[str, int] = {}
        self._looked = time.monotonic()
        self._board("run")

    def __call__(self, entry: Entry, seed: int, line: dict[str, Any]) -> None:
        self.on_round(entry, seed, line)
        if time.monotonic() - self._looked > LOOK:
            self._looked = time.monotonic()
            self._catch_up()

    def finish(self) -> None:
        """What is left of the rounds, the results and the pictures."""
        self._catch_up()
        for name, game in self._games().items():
            if game.result:
                self._board(name).on_end(game.result)
        for path in sorted(self.run.path.glob("*.png")):
            self._board("run").picture(path.stem, path)
        for each in self._boards.values():
            each.close()

    def _games(self) -> dict[str, GameFolder]:
        surveys = self.run.surveys
        if self.run.settings.data and surveys is None:
            return {}
        games = [game_of(self.run, match) for match in matches(self.run.settings, surveys)]
        return {str(game.path.relative_to(self.run.path)): game for game in games}

    def _catch_up(self) -> None:
        for name, game in self._games().items():
            lines = game.measures()
            for line in lines[self._written.get(name, 0) :]:
                self._board(name).on_round(line)
            self._written[name] = len(lines)

    def _board(self, name: str) -> TensorBoard:
        if name not in self._boards:
            self._boards[name] = TensorBoard(self.run.path / FOLDER / name, self.run.settings.model_dump())
        return self._boards[name]

"""Where a run of several games stands, and how long the rest of it takes."""

from __future__ import annotations

import time
from pathlib import Path

from flgames.core.callbacks import Callback, GameInfo
from flgames.core.records import GameResult, RoundRecord
from flgames.runs.effort import rough_seconds, usual_rounds
from flgames.runs.folder import RunFolder
from flgames.waiting.forecast import Forecast, duration


class Turns(Callback):
    """Which game of how many is played now, or which client is held out, and the time left for the whole run.

    How long a method takes is guessed until it has been played with one client; then that is what it takes with others.
    """

    def __init__(self, run: RunFolder) -> None:
        games = run.games()
        self._matches = {folder.path: match for match, folder in games}
        self._clients = run.plan.holdouts if run.settings.holds_out_each else ()
        self._rounds = {match.entry.slug: usual_rounds(match.entry) for match in self._matches.values()}
        self._forecast = Forecast({str(path): rough_seconds(match.entry) for path, match in self._matches.items()})
        self._spent = 0.0
        self._is_measured = False
        for _, folder in games:
            if folder.has_ended:
                self._learn(folder.path, folder.result())
                self._forecast.found(str(folder.path), 1.0)
        self._began = time.monotonic()

    def on_start(self, game: GameInfo) -> None:
        assert game.folder is not None
        self._is_phi = game.folder not in self._matches  # it is trained in a folder inside that of its game
        self._path: Path = game.folder.parent if self._is_phi else game.folder

    def on_round(self, record: RoundRecord) -> None:
        if not self._is_phi:
            usual = self._rounds[self._matches[self._path].entry.slug]
            self._forecast.reached(str(self._path), min((record.round + 1) / usual, 0.99))
            self._is_measured = True

    def on_end(self, result: GameResult) -> None:
        self._spent += result.seconds
        if not self._is_phi:
            self._learn(self._path, result)
            self._forecast.reached(str(self._path), 1.0)

    @property
    def client(self) -> str | None:
        """Who is held out now, where each is in turn."""
        return self._matches[self._path].holdout if self._clients else None

    @property
    def fraction(self) -> float:
        """Which share of the run is done, in seconds."""
        return self._forecast.done / self._forecast.total

    def __str__(self) -> str:
        left = (
            f"about {duration(self._forecast.left(time.monotonic() - self._began))} left" if self._is_measured else ""
        )
        if not self._clients:
            games = list(self._matches)
            said = f"game {games.index(self._path) + 1} of {len(games)}" if len(games) > 1 else ""
            return ", ".join(filter(None, (said, left)))
        said = f"client {self._clients.index(self.client) + 1} of {len(self._clients)} held out"
        return f"{', '.join(filter(None, (said, left)))}: {self.client}"

    def _learn(self, path: Path, result: GameResult) -> None:
        slug = self._matches[path].entry.slug
        alike = [str(path) for path, match in self._matches.items() if match.entry.slug == slug]
        self._forecast.learnt(alike, self._spent or result.seconds)
        self._rounds[slug] = result.rounds
        self._spent = 0.0
        self._is_measured = True

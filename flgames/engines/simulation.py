"""A run in an engine's simulator: a process of its own, which writes the run folder while this one looks on.

``python -m flgames.engines.simulation RUN`` is that process.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from flgames.contest import Interrupted, OnRound, game_of
from flgames.engines.serving import ERROR, STOP, raise_error_of
from flgames.errors import UserError
from flgames.lineup import entries, matches
from flgames.match import Match
from flgames.runs import GameFolder, RunFolder
from flgames.settings import Settings

ENGINES = {
    "nvflare": ("nvflare", "flgames.engines.nvflare_job"),
    "flower": ("flwr", "flgames.engines.flower_simulation"),
}
"""The package that an engine needs, and the module that simulates it."""

LOG = "engine.log"

QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
}
"""Nothing that we start calls home, or installs what is there already."""

LOOK = 0.2
PATIENCE = 20.0
"""Seconds that an engine has to end by itself once the run has."""


def check_engine(settings: Settings) -> None:
    """Refuse an engine that is not installed, and what can't be played over one."""
    engine = settings.engine
    package, _ = ENGINES[engine]
    if importlib.util.find_spec(package) is None:
        raise UserError(f"--engine {engine} needs more packages: pip install -c constraints.txt '.[{engine}]'.")
    for entry in entries(settings):
        if not entry.is_federated:
            raise UserError(
                f"{entry.title} has all data in one place; --engine {engine} is for clients that are apart."
            )


def simulate(run: RunFolder, on_round: OnRound, interrupted: Callable[[], bool]) -> None:
    """Play a run in its engine's simulator, and tell of every round."""
    look = Onlooker(run, on_round)
    for name in (STOP, ERROR):
        (run.path / name).unlink(missing_ok=True)
    with _started(run) as process:
        while process.poll() is None and not look.has_ended and not (run.path / ERROR).exists():
            look.around()
            if interrupted():
                (run.path / STOP).touch()
            time.sleep(LOOK)
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
        look.around()
    if look.has_ended:
        return
    raise_error_of(run)
    if (run.path / STOP).exists():
        raise Interrupted
    log = run.path / LOG
    last = "\n".join(log.read_text(errors="replace").splitlines()[-5:])
    raise UserError(f"{run.settings.engine} ended before the run did; the end of {log}:\n{last}")


class Onlooker:
    """Reads what a run writes."""

    def __init__(self, run: RunFolder, on_round: OnRound) -> None:
        self.on_round = on_round
        self._run = run
        self._seen = {game.path: len(game.measures()) for _, game in self._games}

    @property
    def _games(self) -> list[tuple[Match, GameFolder]]:
        """None on own data before their survey."""
        surveys = self._run.surveys
        if self._run.settings.data and surveys is None:
            return []
        return [(match, game_of(self._run, match)) for match in matches(self._run.settings, surveys)]

    @property
    def has_ended(self) -> bool:
        games = self._games
        return bool(games) and all(game.result for _, game in games)

    def around(self) -> None:
        """Tell of the rounds that have been played since."""
        for match, game in self._games:
            lines: list[dict[str, Any]] = game.measures()
            for line in lines[self._seen.get(game.path, 0) :]:
                self.on_round(match.entry, match.seed, line)
            self._seen[game.path] = len(lines)


@contextmanager
def _started(run: RunFolder) -> Iterator[subprocess.Popen[bytes]]:
    """The engine's process; when this one leaves, it and its children are gone."""
    from flgames.engines import processes  # what it needs comes with the engines

    command = [sys.executable, "-m", __name__, str(run.path)]
    environment = os.environ | QUIET | {processes.MARK: run.id}
    with open(run.path / LOG, "ab") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
    try:
        yield process
    finally:
        processes.kill(run.id)
        process.wait()


def main(path: str) -> None:
    run = RunFolder.open(Path(path))
    _, module = ENGINES[run.settings.engine]
    importlib.import_module(module).simulate(run)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A run in an engine's simulator: a process of its own, which writes the run folder while this one looks on.

``python -m flgames.engines.launch RUN`` is that process.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import flgames
from flgames.core.callbacks import Callback
from flgames.engines.serve import ERROR, LOCKED, STOP, raise_error_of
from flgames.errors import UserError, unknown
from flgames.policy.rules import SIMULATED_VARIABLE
from flgames.runs.folder import GameFolder, RunFolder
from flgames.runs.match import Match
from flgames.runs.plan import likely_entries
from flgames.runs.runner import Interrupted, info_of, phi_game
from flgames.runs.settings import Settings

ENGINES = tuple(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]) if module.ispkg)
"""Every package of this folder. What it needs is its NEEDS; its module ``simulation`` plays a run on this machine."""

LOG = "engine.log"

QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
}
"""Nothing that we start calls home, or installs what is there already."""

FRUGAL = {"NVFLARE_STREAMING_RETRY_TIMEOUT": "5", "MALLOC_ARENA_MAX": "2"}
"""NVFlare keeps every answer, with a thread of its own, while its sender might send it again: a minute, unless it is
told otherwise. Between processes of one machine little is lost. Its many threads make glibc spread memory, too."""

LOOK = 0.2
PATIENCE = 20.0
"""Seconds that an engine has to end by itself once the run has."""


def check_engine(settings: Settings) -> None:
    """Refuse an engine that is not installed, and what can't be played over one."""
    engine = settings.engine
    if engine not in ENGINES:
        raise unknown("engine", engine, ("local", *ENGINES))
    check_installed(engine)
    if settings.game.batched:
        raise UserError(f"`batched` is for clients in one process; `engine` {engine} has each in its own.")
    for entry in likely_entries(settings):
        if not entry.is_federated:
            raise UserError(
                f"{entry.title} has all data in one place; `engine` {engine} is for clients that are apart."
            )


def check_installed(engine: str) -> None:
    """Refuse an engine whose packages are not there."""
    needed = importlib.import_module(f"flgames.engines.{engine}").NEEDS
    if importlib.util.find_spec(needed) is None:
        raise UserError(f"`engine` {engine} needs more packages: pip install -c constraints.txt '.[{engine}]'.")


def simulate(run: RunFolder, callbacks: Sequence[Callback], interrupted: Callable[[], bool]) -> None:
    """Play a run in its engine's simulator, and tell of every round. Whoever calls this has locked the run folder."""
    look = Onlooker(run, callbacks)
    look.drop_damaged()  # what the engine's own process says goes into a log that nobody watches
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
    """Reads what another process writes of a run, and tells callbacks of it."""

    def __init__(self, run: RunFolder, callbacks: Sequence[Callback]) -> None:
        self.callbacks = callbacks
        self._run = run
        self._planned = self._games()
        self._seen = {folder.path: len(folder.measures()) for _, folder in self._planned}
        self._ended = {folder.path for _, folder in self._planned if folder.has_ended}
        self._started: set[Path] = set()

    def _games(self) -> list[tuple[Match, GameFolder]]:
        """None on own data before their survey. What trains a game's phi comes before it."""
        planned = self._run.games() if self._run.has_plan else []
        return [each for match, folder in planned for each in (*phi_game(match, folder), (match, folder))]

    def drop_damaged(self) -> None:
        """Checkpoints of games that have not ended."""
        for _, folder in self._planned:
            if not folder.has_ended:
                folder.drop_damaged()

    @property
    def has_ended(self) -> bool:
        self._planned = self._planned or self._games()
        return bool(self._planned) and all(folder.has_ended for _, folder in self._planned)

    def around(self) -> None:
        """Tell of what has been played since."""
        self._planned = self._planned or self._games()
        for match, folder in self._planned:
            has_ended = folder.has_ended  # asked before the rounds are read, so that none of them is missed
            records = folder.measures()
            new = records[self._seen.get(folder.path, 0) :]
            self._seen[folder.path] = len(records)
            ends_now = has_ended and folder.path not in self._ended
            if (new or ends_now) and folder.path not in self._started:
                self._started.add(folder.path)
                for each in self.callbacks:
                    each.on_start(info_of(match, folder))
            for each in self.callbacks:
                for record in new:
                    each.on_round(record)
                if ends_now:
                    each.on_end(folder.result())
            if ends_now:
                self._ended.add(folder.path)


@contextmanager
def _started(run: RunFolder) -> Iterator[subprocess.Popen[bytes]]:
    """The engine's process; when this one leaves, or is killed, it and its children are gone."""
    from flgames.engines import processes  # what it needs comes with the engines

    command = [sys.executable, "-m", __name__, str(run.path)]
    # NVFlare's workspace has a folder of our name, which would hide an editable install from its processes.
    package = str(Path(flgames.__file__).parents[1])
    path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    unmarked = os.environ | QUIET | FRUGAL | {"PYTHONPATH": path, SIMULATED_VARIABLE: "1"}
    environment = unmarked | {processes.MARK: run.id, LOCKED: run.id}
    processes.kill(run.id)  # what a process that was killed has left behind
    with open(run.path / LOG, "ab") as log, processes.watched(run.id, unmarked):
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
    importlib.import_module(f"flgames.engines.{run.settings.engine}.simulation").simulate(run)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Processes that belong together, found by a mark in their environment: engines detach children from their parents.

``python -m flgames.engines.processes PID MARK`` ends those with a mark when another process has ended.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import psutil

MARK = "FLGAMES_PROCESSES"

LOOK = 0.5
"""Seconds between two looks."""


def marked(mark: str) -> list[psutil.Process]:
    """All that were started with this mark, and theirs."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK) == mark:
                found.append(process)
    return found


def kill(mark: str) -> None:
    """End them at once; those that are being started meanwhile, too."""
    while there := marked(mark):
        for process in there:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(there, timeout=5)


@contextmanager
def watched(mark: str, environment: Mapping[str, str]) -> Iterator[None]:
    """If this process is killed in between, those with this mark are ended by another one."""
    command = [sys.executable, "-m", __name__, str(os.getpid()), mark]
    nothing = subprocess.DEVNULL
    watching = subprocess.Popen(
        command, start_new_session=True, env=environment, stdin=nothing, stdout=nothing, stderr=nothing
    )
    try:
        yield
    finally:
        watching.kill()
        watching.wait()


def watch(pid: int, mark: str) -> None:
    """Wait until a process has ended, and end those with a mark."""
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            time.sleep(LOOK)
    kill(mark)


if __name__ == "__main__":
    watch(int(sys.argv[1]), sys.argv[2])

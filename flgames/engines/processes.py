"""Processes that belong together, found by a mark in their environment: engines detach children from their parents."""

from __future__ import annotations

from contextlib import suppress

import psutil

MARK = "FLGAMES_PROCESSES"


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

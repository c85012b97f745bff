"""How much memory the processes of a federation have, round by round."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field

import psutil

from flgames.engines import processes
from tests.nvflare_sites import Sites

JOBS = ("worker_process", "runner_process")
"""In the command line of the processes in which NVFlare plays a job, at a site and at the server."""

SERVER = "localhost"

MB = 1e6


@dataclass(frozen=True)
class Look:
    """Megabytes of one process, when so many rounds had been played."""

    rounds: int
    where: str
    kind: str
    """What it is: the site's own process, which stays, or the one of a job."""
    pid: int
    began: float
    resident: float


def look(sites: Sites, rounds: int) -> list[Look]:
    """At every process of a federation."""
    looks = []
    for name in (SERVER, *sites.clients):
        for process in processes.marked(sites.mark(name)):
            with suppress(psutil.Error):
                kind = "job" if any(each in " ".join(process.cmdline()) for each in JOBS) else "site"
                resident = process.memory_info().rss / MB
                looks.append(Look(rounds, name, kind, process.pid, process.create_time(), resident))
    return looks


@dataclass(frozen=True)
class Life:
    """A process from its first round on."""

    where: str
    kind: str
    rounds: int
    """That were played while it was there."""
    settled: float
    """Megabytes after its first rounds."""
    last: float

    @property
    def growth(self) -> float:
        return self.last / self.settled - 1


@dataclass
class Memory:
    """What was seen of all processes."""

    looks: list[Look] = field(default_factory=list)

    def lives(self, first: int) -> list[Life]:
        """Of all that were there for longer than their first rounds."""
        seen: dict[tuple[int, float], list[Look]] = defaultdict(list)
        for each in self.looks:
            seen[each.pid, each.began].append(each)
        lives = []
        for looks in seen.values():
            begun = looks[0].rounds
            settled = [each for each in looks if each.rounds >= begun + first]
            if settled and settled[-1].rounds > settled[0].rounds:
                end = settled[-1]
                lived = end.rounds - begun
                lives.append(Life(end.where, end.kind, lived, settled[0].resident, end.resident))
        return lives

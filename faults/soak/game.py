"""The game itself: rounds over real sites, one of which is killed every so many of them."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from faults.soak.memory import SERVER, Memory, look
from flgames.engines.serve import STOP
from tests.nvflare_sites import Sites, write_job

RUN = "soak"
TIMEOUT = 5
"""Seconds after which a call to a site that is gone fails."""
CHECKPOINT = 50
LOOKS = 20
"""Rounds between two looks at the memory."""
PATIENCE = 300.0
"""Seconds for the next round."""


def settings(rounds: int, clients: int) -> dict[str, str]:
    """What is played."""
    return {
        "benchmark": "colored-digits", "clients": str(clients), "predictor": "linear", "variant": "f-fl-games-smooth",
        "schedule": "simultaneous", "rounds": str(rounds), "stop_below": "never", "against": "none", "threads": "1",
    }  # fmt: skip


@dataclass(frozen=True)
class Kill:
    """What was done to whom, and what it cost."""

    round: int
    client: str
    what: str
    alone: int
    """Rounds that the others played without it."""
    again: int
    """Rounds that were played a second time."""
    seconds: float
    """Until the next round of the game that went on."""


@dataclass
class Soak:
    """A game under way on sites that are up."""

    sites: Sites
    rounds: int
    progress: Callable[[int], None]
    memory: Memory = field(default_factory=Memory)
    kills: list[Kill] = field(default_factory=list)
    again: int = 0

    def play(self, folder: Path, kill_every: int) -> None:
        """To its end. A site that is killed last stays out: the others end the game without it."""
        chosen = settings(self.rounds, len(self.sites.clients)) | {"timeout": str(TIMEOUT), "min_clients": "1"}
        options = [text for name, value in chosen.items() for text in (f"--{name.replace('_', '-')}", value)]
        job = write_job(folder / "job", RUN, *options, "--checkpoint-every", str(CHECKPOINT))
        number = self.sites.submit(job)
        rounds = range(kill_every, self.rounds, kill_every) if kill_every else range(0)
        for round_, client, whole in zip(
            rounds, itertools.cycle(self.sites.clients), itertools.cycle((True, False)), strict=False
        ):
            self.wait_for(round_)
            last = round_ + kill_every >= self.rounds
            number = self.disturb(number, job, client, whole or last, last)
        self.wait_for(self.rounds)
        self.sites.wait_for_file(RUN, "summary.txt")
        if rounds:
            # NVFlare waits long for a site that it has lost. With the same job once more that site, too, forgets.
            self.sites.nvflare("job", "abort", number, "--force")
            self.sites.wait_for_end(number)
            number = self.sites.submit(job)
        self.sites.wait_for_end(number)

    def disturb(self, number: str, job: Path, client: str, whole: bool, last: bool) -> str:
        """Kill a site, or only the process in which it plays, start it again, and submit the job again."""
        at, began = self.played, time.monotonic()
        if not whole:
            self.sites.kill_job_process(client)
        else:
            self.sites.kill(client)
            self.wait_for(at + LOOKS)  # the others play on
            if last:
                self.sites.start(client)
                self.kills.append(Kill(at, client, "site, for good", self.rounds - at, 0, time.monotonic() - began))
                return number
            (self.sites.run_folder(RUN) / STOP).touch()
            self.sites.nvflare("job", "abort", number, "--force")
            self.sites.start(client)
        self.sites.wait_for_end(number)
        before = self.sites.lines(RUN)
        self.sites.wait_for_clients()
        number = self.sites.submit(job)
        self.wait_until(lambda: self.sites.lines(RUN) != before)
        seconds = time.monotonic() - began
        # Every line says how long the game took until then: no round has the same line when it is played again.
        pairs = zip(before, self.sites.lines(RUN), strict=False)
        kept = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
        self.again += len(before) - kept
        alone = len(before) - at if whole else 0
        self.kills.append(Kill(at, client, "site" if whole else "process", alone, len(before) - kept, seconds))
        return number

    @property
    def played(self) -> int:
        return len(self.sites.lines(RUN))

    def wait_for(self, round_: int) -> None:
        """Until so many rounds are in the record, with a look at the memory now and then."""
        seen = self.played
        while self.played < round_:
            step = min(round_, seen + LOOKS)
            seen = self.wait_until(lambda step=step: self.played >= step)  # type: ignore[misc]
            self.progress(seen)
            if seen < self.rounds:  # then figures are drawn
                # Rounds that were played again are rounds of the processes that played them.
                self.memory.looks += look(self.sites, seen + self.again)

    def wait_until(self, happened: Callable[[], bool]) -> int:
        deadline = time.monotonic() + PATIENCE
        while not happened():
            assert time.monotonic() < deadline, self.sites.logs()
            time.sleep(0.05)
        return self.played

    def left_behind(self) -> list[str]:
        """States of the game that are still on a site's disk, and processes of jobs."""
        states = [path for name in self.sites.clients for path in (self.sites.kits / name).rglob("*.pt")]
        states += list((self.sites.kits / SERVER).rglob("*.pt"))
        there = [each for each in look(self.sites, 0) if each.kind == "job"]
        return [str(each.relative_to(self.sites.kits)) for each in states] + [
            f"{each.where} {each.pid}" for each in there
        ]

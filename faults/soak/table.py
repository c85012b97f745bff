"""What a soak found, as a page and as a table of memory."""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from faults.soak.game import CHECKPOINT, LOOKS, Kill
from faults.soak.memory import Life, Memory
from flgames.engines.launch import FRUGAL

MAY_GROW = 0.05
"""By so much of itself, after a process' first rounds."""


@dataclass(frozen=True)
class Outcome:
    """What became of one game."""

    name: str
    rounds: int
    again: int
    """Rounds that were played a second time."""
    seconds: float
    """From the first process to the end of the last job."""
    round_seconds: float
    absences: int
    """Moves that were not made, because their player was away."""
    as_local: bool
    """Whether the weights are those of the local engine with the same players away in the same rounds, bit for bit."""
    left: list[str]
    """States and processes that are still there when the game has ended."""
    kills: list[Kill]
    memory: Memory

    def lives(self, first: int) -> list[Life]:
        """Of the processes that were there for at least as long again as their first rounds."""
        return [each for each in self.memory.lives(first) if each.rounds >= 2 * first]


def markdown(outcomes: list[Outcome], own: Life, first: int, command: str, machine: str) -> str:
    """The page."""
    lines = [
        "# A soak over NVFlare",
        "",
        f"`{command}` on {machine}. Linear players on colored-digits, simultaneous, memory 5, mutual TLS on loopback, "
        f"a checkpoint every {CHECKPOINT} rounds. One game is undisturbed. In the other one a site is killed (SIGKILL) "
        f"every {first} rounds and started again: in turn with all of its processes, after which the others play "
        f"on for {LOOKS} rounds or more, and only the process in which it plays, after which NVFlare ends the job. The "
        "job is submitted again, and goes on from the last round that all sites have on their disks. The site that is "
        "killed last is started again too, but the job is not submitted again: the game ends without it. When "
        "it has ended, the job is submitted once more, so that this site, too, drops what it kept.",
        "",
        "| game | rounds | played again | seconds a round | in all | moves not made | weights | left behind |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for each in outcomes:
        as_local = "as the local engine's, bit for bit" if each.as_local else "**other than the local engine's**"
        lines.append(
            f"| {each.name} | {each.rounds:,} | {each.again} | {each.round_seconds:.3f} | {each.seconds / 60:.1f} min "
            f"| {each.absences} | {as_local} | {'; '.join(each.left) or 'nothing'} |"
        )
    lines += [
        "",
        "The local engine plays with the same players away in the same rounds. Nothing left behind means no process of "
        "a job when the game has ended, none at all when the sites have been stopped, and no state on any disk. "
        "NVFlare keeps the logs of every job.",
        "",
        "## Memory",
        "",
        f"Resident megabytes of every process that was there for {2 * first} rounds or longer, after its first {first} "
        f"and at its end. At most {MAY_GROW:.0%} more is flat. The sites were started with "
        f"`{' '.join(f'{name}={value}' for name, value in FRUGAL.items())}`. What grows is NVFlare's: flgames runs in "
        "the processes of jobs only, and with all of its sites in one process and nothing between them, which is the "
        "first line, it stays where it was.",
        "",
        "| game | process | how many | rounds | MB then | MB at the end | the one that grew most |",
        "|---|---|---|---|---|---|---|",
        f"| without NVFlare | server and sites | 1 | {own.rounds:,} | {own.settled:.1f} | {own.last:.1f} "
        f"| {own.growth:+.1%} |",
    ]
    for outcome in outcomes:
        kinds: dict[tuple[str, str], list[Life]] = defaultdict(list)
        for life in outcome.lives(first):
            kinds["server" if life.where == "localhost" else "a site", life.kind].append(life)
        for (where, kind), lives in sorted(kinds.items()):
            rounds = sorted({each.rounds for each in lives})
            lasted = f"{rounds[0]:,}" + (f" to {rounds[-1]:,}" if len(rounds) > 1 else "")
            lines.append(
                f"| {outcome.name} | {where}, {'its job' if kind == 'job' else 'itself'} | {len(lives)} | {lasted} "
                f"| {median(each.settled for each in lives):.1f} | {median(each.last for each in lives):.1f} "
                f"| {max(each.growth for each in lives):+.1%} |"
            )
    lines += [
        "",
        "## Kills",
        "",
        "| round | whom | what | played without it | played again | seconds until the game went on |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {kill.round} | {kill.client} | {kill.what} | {kill.alone} | {kill.again} | {kill.seconds:.0f} |"
        for outcome in outcomes
        for kill in outcome.kills
    ]
    return "\n".join([*lines, ""])


def write_memory(path: Path, outcomes: list[Outcome]) -> None:
    """Every look at every process."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("game", "rounds", "where", "kind", "process", "resident_mb"))
        for outcome in outcomes:
            numbers: dict[tuple[int, float], int] = {}
            for look in outcome.memory.looks:
                number = numbers.setdefault((look.pid, look.began), len(numbers) + 1)
                writer.writerow((outcome.name, look.rounds, look.where, look.kind, number, f"{look.resident:.2f}"))

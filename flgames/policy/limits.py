"""How often a site lets itself be asked, and how much it keeps for it. Counted in a file of the journal's folder."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from flgames.files import write_json
from flgames.policy.codes import Refused
from flgames.policy.rules import LimitRules

COUNTS = "asked.json"
"""How often each was asked for, today and in all."""

MB = 2**20

What = Literal["games", "surveys"]


class Limits:
    """What is left of a site's patience. ``home`` is the client's folder, with everything that is kept for servers."""

    def __init__(self, rules: LimitRules, home: Path, journal: Path) -> None:
        self.rules = rules
        self.home = home
        self.journal = journal

    def take(self, what: What) -> None:
        """One more of these, or a refusal; what is refused does not count."""
        by_day, in_all = getattr(self.rules, f"{what}_a_day"), getattr(self.rules, f"{what}_in_all")
        if by_day is None and in_all is None:
            return
        self.journal.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self.journal / COUNTS
        with _locked(self.journal):
            counts, today = _read(path), datetime.now(UTC).date().isoformat()
            last, times, total = counts.get(what, (today, 0, 0))
            times = times if last == today else 0
            if by_day is not None and times >= by_day:
                raise Refused(f"no more than {by_day} {what} a day (`{what}_a_day`)")
            if in_all is not None and total >= in_all:
                raise Refused(f"no more than {in_all} {what} in all (`{what}_in_all`)")
            write_json(path, counts | {what: (today, times + 1, total + 1)})

    def check_plans(self, kept: Path) -> None:
        """Refuse a plan that would be one too many to keep."""
        most = self.rules.plans_in_all
        if most is not None and kept.exists() and sum(1 for _ in kept.iterdir()) >= most:
            raise Refused(f"no more than {most} plans are kept (`plans_in_all`)")

    def check_disk(self) -> None:
        """Refuse another game where states of others fill the disk."""
        most = self.rules.max_disk_mb
        if most is None:
            return
        size = sum(path.stat().st_size for path in self.home.rglob("*") if path.is_file())
        if size > most * MB:
            raise Refused(f"more than {most} MB are kept here already (`max_disk_mb`)")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Every message may have a process of its own."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _read(path: Path) -> dict[str, tuple[str, int, int]]:
    """What was counted. A file that was damaged counts as the end of patience, not as its beginning."""
    try:
        counts = json.loads(path.read_bytes()) if path.exists() else {}
        return {name: (str(day), int(times), int(total)) for name, (day, times, total) in counts.items()}
    except (ValueError, TypeError, AttributeError):
        raise Refused(f"{COUNTS} of this site is damaged: people at the site have to look at it") from None

"""The same game with both of its sides in this process and nothing between them: what grows here is our own."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import psutil
import torch

from faults.soak.game import CHECKPOINT, LOOKS, RUN, settings
from faults.soak.memory import MB, SERVER, Life, Look, Memory
from flgames.engines.remote import Replies
from flgames.engines.serve import serve
from flgames.policy.rules import Rules
from flgames.runs.folder import RunFolder
from flgames.runs.resolve import resolve
from tests.by_hand import ByHand

QUESTIONS = 2
"""Of a round."""


class Watched(ByHand):
    """Payloads are made, carried, read, answered and written down as over an engine."""

    def __init__(self, disk: Path, clients: tuple[str, ...]) -> None:
        super().__init__(disk, clients, rules=Rules())
        self.memory = Memory()
        self._asked = 0

    def __call__(self, payloads: Mapping[str, bytes], timeout: float | None) -> Replies:
        self._asked += 1
        self.carried.clear()
        if self._asked % (LOOKS * QUESTIONS) == 0:
            process = psutil.Process()
            resident = process.memory_info().rss / MB
            now = Look(self._asked // QUESTIONS, SERVER, "job", process.pid, process.create_time(), resident)
            self.memory.looks.append(now)
        return super().__call__(payloads, timeout)


def without_nvflare(rounds: int, clients: tuple[str, ...], first: int) -> Life:
    """How this process' memory grows in a game whose sites are in it."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix=f"flgames-{RUN}-") as folder:
        chosen = settings(rounds, len(clients)) | {"checkpoint_every": str(CHECKPOINT), "engine": "nvflare"}
        run = RunFolder.create(Path(folder) / RUN, resolve(chosen))
        exchange = Watched(Path(folder) / "disk", clients)
        serve(run, lambda: exchange)
        (life,) = exchange.memory.lives(first)
        return life

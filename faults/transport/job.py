"""A job of NVFlare that only carries bytes: as many, as often and to as many sites as those of a game."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from nvflare.collab import collab

PATIENCE = 60.0


class EchoServer:
    """Asks all sites at once, a thread each, and writes when every round had ended.

    ``sizes`` are bytes down and up, of every question of a round.
    """

    def __init__(self, out: str, rounds: int, sizes: list[list[int]]) -> None:
        self.out = out
        self.rounds = rounds
        self.sizes = sizes

    @collab.main  # type: ignore[untyped-decorator]
    def ask(self) -> None:
        sites = list(collab.clients)
        began = time.perf_counter()
        with ThreadPoolExecutor(len(sites)) as pool, open(self.out, "w") as file:
            for _ in range(self.rounds):
                for down, up in self.sizes:
                    question = bytes(down)
                    calls = [pool.submit(_asked, site, question, up) for site in sites]
                    assert all(len(call.result()) == up for call in calls)
                file.write(json.dumps({"seconds": time.perf_counter() - began}) + "\n")
                file.flush()
        Path(f"{self.out}.ended").touch()


def _asked(site: Any, question: bytes, up: int) -> bytes:
    answer: bytes = site(timeout=PATIENCE).echo(question, up)
    return answer


class EchoClient:
    """Answers with so many bytes, and does nothing else."""

    @collab.publish  # type: ignore[untyped-decorator]
    def echo(self, question: bytes, up: int) -> bytes:
        return bytes(up)

"""Runs that are killed at random moments end bit for bit as one that is not.

``FLGAMES_KILLS`` is how many.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from torch import Tensor

from tests.games import local_weights, same, weights

KILLS = int(os.environ.get("FLGAMES_KILLS", "2"))
GAME = (
    "--variant", "f-fl-games-smooth", "--rounds", "60", "--stop-below", "never", "--against", "none",
    "--threads", "1", "--checkpoint-every", "7",
)  # fmt: skip


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tensor]:
    return dict(local_weights(tmp_path_factory.mktemp("here") / "run", *GAME))


def started(*options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "flgames.cli", "play", *options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def rounds(out: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in out.glob("*/seed-0/measures.jsonl"))


@pytest.mark.parametrize("number", range(KILLS))
def test_a_run_that_is_killed_at_any_moment_ends_bit_for_bit_the_same(
    number: int, undisturbed: dict[str, Tensor], tmp_path: Path
) -> None:
    out, draw = tmp_path / "run", random.Random(number)
    playing = started(*GAME, "--out", str(out))
    last = draw.randrange(1, 50)
    while rounds(out) < last:
        assert playing.poll() is None
        time.sleep(0.005)
    time.sleep(draw.uniform(0, 0.03))
    playing.kill()
    assert playing.wait() == -signal.SIGKILL
    assert not list(out.glob("*/seed-0/result.json")), "it had not ended"
    assert started("--resume", str(out)).wait() == 0
    assert same(weights(out), undisturbed)

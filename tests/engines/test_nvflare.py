"""The game over a real NVFlare federation on loopback, with mutual TLS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from flgames.engines.nvflare.app import STATES
from tests.games import local_weights, same, weights
from tests.nvflare_sites import Sites, sites, write_job

ROUNDS = 6
GAME = ("--variant", "v-fl-games-smooth", "--rounds", str(ROUNDS), "--against", "none", "--threads", "1")


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    with sites(tmp_path_factory.mktemp("nvflare")) as up:
        yield up


def test_a_job_ends_with_the_weights_of_the_local_engine(federation: Sites, tmp_path: Path) -> None:
    job = write_job(tmp_path / "a-job", "first", *GAME)
    number = federation.submit(job)
    assert federation.wait_for_end(number) == "FINISHED:COMPLETED", federation.logs()
    fetched = Path(federation.nvflare("job", "download", number, "-o", str(tmp_path))["download_path"])
    assert same(weights(fetched / "workspace" / STATES), local_weights(tmp_path / "here", *GAME))
    lines = federation.rounds("first")
    assert [line["round"] for line in lines] == list(range(ROUNDS))
    assert not any(line["failures"] for line in lines)
    assert (fetched / "workspace" / STATES / "table.md").exists()
    states = [path for name in federation.clients for path in (federation.kits / name / STATES).rglob("*.pt")]
    assert not states, "nothing is kept of a match that has ended"

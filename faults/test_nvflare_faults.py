"""What happens to a game when parts of an NVFlare federation are killed."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from tests.games import local_weights, same, weights
from tests.nvflare_sites import Sites, write_job

pytestmark = pytest.mark.xdist_group("nvflare")

ROUNDS = 120
GAME = (
    "--variant", "f-fl-games-smooth", "--rounds", str(ROUNDS), "--stop-below", "never", "--against", "none",
    "--threads", "1",
)  # fmt: skip


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tensor]:
    return dict(local_weights(tmp_path_factory.mktemp("here") / "run", *GAME))


def begin(federation: Sites, folder: Path, run: str, *more: str) -> tuple[Path, str]:
    job = write_job(folder / f"job-{run}", run, *GAME, "--checkpoint-every", "10", *more)
    number = federation.submit(job)
    federation.wait_for_round(run, 25)
    return job, number


def assert_went_on(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> None:
    """From a checkpoint, not from the beginning: the rounds before it were not played again."""
    assert len(after) == ROUNDS
    assert [line["seconds"] for line in before[:20]] == [line["seconds"] for line in after[:20]]


def test_a_killed_client_process_ends_the_job_and_the_same_job_goes_on(
    federation: Sites, tmp_path: Path, undisturbed: dict[str, Tensor]
) -> None:
    job, number = begin(federation, tmp_path, "killed-process")
    federation.kill_job_process("client-2")
    assert federation.wait_for_end(number) != "FINISHED:COMPLETED"
    assert len(federation.rounds("killed-process")) < ROUNDS
    before = federation.rounds("killed-process")
    assert federation.wait_for_end(federation.submit(job)) == "FINISHED:COMPLETED", federation.logs()
    assert same(weights(federation.run_folder("killed-process")), undisturbed)
    assert_went_on(before, federation.rounds("killed-process"))


def test_a_killed_server_is_restarted_and_the_same_job_goes_on(
    federation: Sites, tmp_path: Path, undisturbed: dict[str, Tensor]
) -> None:
    job, _ = begin(federation, tmp_path, "killed-server")
    federation.kill("localhost")
    before = federation.rounds("killed-server")
    assert 25 <= len(before) < ROUNDS
    time.sleep(2)
    federation.start("localhost")
    federation.wait_for_clients()
    assert federation.wait_for_end(federation.submit(job)) == "FINISHED:COMPLETED", federation.logs()
    assert same(weights(federation.run_folder("killed-server")), undisturbed)
    assert_went_on(before, federation.rounds("killed-server"))


def test_a_foreign_certificate_is_refused(federation: Sites, tmp_path: Path) -> None:
    """A client with a kit of another CA, which knows where the server is."""
    (tmp_path / "other").mkdir()
    foreign = Sites(tmp_path / "other", 3)
    place = "startup/fed_client.json"
    ours = json.loads((federation.kits / "client-1" / place).read_text())
    theirs = json.loads((foreign.kits / "client-3" / place).read_text())
    theirs["servers"] = ours["servers"]
    (foreign.kits / "client-3" / place).write_text(json.dumps(theirs))
    try:
        foreign.start("client-3")
        time.sleep(15)
        log = (foreign.folder / "client-3.log").read_text()
        assert "certificate" in log.lower(), log
        there = federation.nvflare("system", "status")["clients"]
        assert sorted(client["client_name"] for client in there) == ["client-1", "client-2"]
    finally:
        foreign.stop()


def test_a_lost_site_stays_out_and_its_last_action_in(federation: Sites, tmp_path: Path) -> None:
    """The last one: NVFlare holds on to this job for a long time."""
    begin(federation, tmp_path, "lost-site", "--min-clients", "1", "--timeout", "4")
    federation.kill("client-2")
    # NVFlare itself waits much longer for the lost site before it calls the job finished.
    federation.wait_for_file("lost-site", "summary.txt")
    lines = federation.rounds("lost-site")
    assert len(lines) == ROUNDS
    assert lines[-1]["moved"] == ["client-1"]
    assert "client-2" in lines[-1]["failures"]
    assert any("player/client-2/" in name for name in weights(federation.run_folder("lost-site")))

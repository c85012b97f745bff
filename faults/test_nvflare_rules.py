"""Sites of a real NVFlare federation that play on tables of their own, by rules of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from flgames.engines.nvflare.app import SITE_FILE, STATES
from flgames.policy.games import plan_hash
from flgames.policy.journal import broken_line, lines_of
from flgames.policy.plans import games_in
from flgames.runs.folder import RunFolder
from tests.nvflare_sites import Sites, sites, write_job
from tests.own_data import table

pytestmark = pytest.mark.xdist_group("rules")  # beside the other federations of NVFlare: theirs take longest


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    with sites(tmp_path_factory.mktemp("nvflare")) as up:
        yield up


def test_sites_play_on_tables_of_their_own_by_their_own_rules(federation: Sites, tmp_path: Path) -> None:
    """One of them does not name the target: it refuses, and the run ends before a game."""
    for seed, name in enumerate(federation.clients):
        table(tmp_path / name / "ward.csv", seed=seed)
        rules = tmp_path / name / "site.toml"
        rules.write_text('[data]\npath = "ward.csv"\n' + ('target = "sick"\n' if seed else ""))
        (federation.kits / name / "local" / SITE_FILE).write_text(json.dumps({"site": str(rules)}))
    game = ("--data", "/data/wards", "--target", "sick", "--clients", "2", "--rounds", "2", "--against", "none")
    job = write_job(tmp_path / "a-job", "wards", *game)
    assert federation.wait_for_end(federation.submit(job)) != "FINISHED:COMPLETED"
    reason = json.loads((federation.run_folder("wards") / "error.json").read_text())["reason"]
    assert "client-1: refused-by-policy: 'sick' can't be asked for here: site.toml names no `target`" in reason

    with open(tmp_path / "client-1" / "site.toml", "a") as file:
        file.write('target = "sick"\n')
    assert federation.wait_for_end(federation.submit(job)) == "FINISHED:COMPLETED", federation.logs()
    assert len(federation.rounds("wards")) == 2
    (planned,) = games_in(federation.run_folder("wards"))
    run = RunFolder.open(federation.run_folder("wards")).id
    for name in federation.clients:
        audit = federation.kits / name / STATES / name / ".site" / "audit.jsonl"
        assert broken_line(audit) is None
        lines = lines_of(audit)
        told = [line["ended"].partition(":")[0] for line in lines if line["kind"] == "survey"]
        assert told == (["refused-by-policy", "answered"] if name == "client-1" else ["answered", "answered"])
        asked = {(line["caller"], line["plan"], line["ended"]) for line in lines if line.get("run") == run}
        assert ("server", plan_hash(planned), "answered") in asked
        assert {(caller, ended) for caller, _, ended in asked} == {("server", "answered")}

"""A hostile server and hostile sites in a real Flower deployment, whose sites have data and rules of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from faults.hostile.flower_server import ASKED, write_app
from faults.hostile.liar import Liar
from faults.test_flower_faults import rounds, wait_for_round
from flgames.policy.games import plan_hash
from flgames.policy.journal import broken_line, lines_of
from flgames.policy.plans import games_in
from tests.flower_sites import Deployment

pytestmark = pytest.mark.xdist_group("flower")

SECRETS = ("Doe", "ward-7")
"""A name in a cell, and a part of a path."""


def audit_of(flower: Deployment, node: int) -> Path:
    return flower.folder / f"state-{node}" / f"client-{node + 1}" / ".site" / "audit.jsonl"


def said_to_the_server(flower: Deployment) -> str:
    """All that the SuperLink and the ServerApps wrote."""
    files = [flower.folder / "link.log", *(each for each in (flower.folder / "home").rglob("*") if each.is_file())]
    return "\n".join(each.read_bytes().decode(errors="replace") for each in files)


def test_a_hostile_server_hears_codes(flower: Deployment, tmp_path: Path) -> None:
    heard = tmp_path / "heard.json"
    flower.wait_for(heard, flower.run(write_app(tmp_path / "app"), out=str(heard)))
    told = json.loads(heard.read_text())
    codes = {what: each.partition(":")[0] for what, each in told.items()}
    expected = dict.fromkeys(ASKED, "refused-by-policy") | {"noise": "bad-question", "a folder by its path": "bad-data"}
    assert codes == expected, told
    lines = lines_of(audit_of(flower, 0))
    assert broken_line(audit_of(flower, 0)) is None
    assert [line["ended"].partition(":")[0] for line in lines[-len(ASKED) :]] == [expected[what] for what in ASKED]
    for secret in SECRETS:
        assert secret not in heard.read_text()
        assert secret not in said_to_the_server(flower)


def test_own_data_are_played_by_each_sites_rules_and_liars_are_left_out(
    flower: Deployment, liar: Liar, tmp_path: Path
) -> None:
    """After the hostile server: the sites go on. A third node calls itself what nobody can be called; the second one
    is honest for a round, and then sends NaN."""
    liar.is_honest()
    flower.make_key("node-9")
    flower.register("node-9")
    flower.configurations[9] = 'client="../../etc"'
    flower.start_node(9)
    out = tmp_path / "run"
    run = flower.run(
        data="/data/wards", target="sick", clients=2, rounds=30, validation=0, settle="never", early="never", threads=1,
        timeout=60, min_clients=1, out=str(out),
    )  # fmt: skip
    wait_for_round(out, 1, timeout=600)
    liar.lies("nan")
    flower.wait_for(out / "summary.txt", run, timeout=900)
    liar.is_honest()
    flower.kill("node-9")
    lines = rounds(out)
    assert lines[0]["moved"] == ["client-1", "client-2"]
    assert lines[0]["failures"] == {}
    assert all(set(line["failures"]) <= {"client-2"} for line in lines)
    assert all("client-1" in line["moved"] for line in lines)
    assert "NaN" in "".join(line["failures"].get("client-2", "") for line in lines)
    assert lines[-1]["failures"]["client-2"].startswith("excluded after 3 refused answers in a row")
    assert "No client can be called '../../etc'" in flower.log_of(run)
    (planned,) = games_in(out)
    assert plan_hash(planned) in {line["plan"] for line in lines_of(audit_of(flower, 0))}
    assert [line.get("kind") for line in lines_of(audit_of(flower, 0))].count("survey") == 3
    for secret in SECRETS:
        assert secret not in said_to_the_server(flower) + flower.log_of(run)
        assert secret not in "".join(each.read_text() for each in out.rglob("*.json*"))

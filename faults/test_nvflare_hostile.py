"""A hostile server, a hostile peer and a hostile site in a real NVFlare federation."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from nvflare.collab import CollabRecipe

from faults.hostile.liar import Liar
from faults.hostile.nvflare_job import HostileClient, HostileServer
from faults.hostile.questions import GAME, honest_match, questions
from flgames.engines.nvflare.app import SITE_FILE, STATES
from flgames.policy.games import plan_hash
from flgames.policy.journal import broken_line, lines_of
from tests.games import local_weights, same, weights
from tests.nvflare_sites import Sites, write_job

PLAYED = tuple(text for name, value in GAME.items() for text in (f"--{name.replace('_', '-')}", str(value)))
SECRETS = ("Doe", "ward-7")
"""A name in a cell, and a part of a path."""


@pytest.fixture
def ruled(federation: Sites, tmp_path: Path) -> Iterator[Sites]:
    """Both sites have data and rules of their own; the second one plays one plan only."""
    plans = f'[game]\nplans = ["{plan_hash(honest_match())}"]'
    rules = {"client-1": 'target = "sick"', "client-2": f'target = "name"\n{plans}'}
    for name, rest in rules.items():
        ward = tmp_path / name / "ward-7"
        ward.mkdir(parents=True)
        cells = "".join(f"{age},{age % 2},{'Jane Doe' if age % 3 else 'JANE DOE'}\n" for age in range(60))
        (ward / "patients.csv").write_text("age,sick,name\n" + cells)
        (ward / "site.toml").write_text(f'[data]\npath = "patients.csv"\n{rest}\n')
        (federation.kits / name / "local" / SITE_FILE).write_text(json.dumps({"site": str(ward / "site.toml")}))
    yield federation
    for name in rules:
        (federation.kits / name / "local" / SITE_FILE).unlink()


def hostile_job(out: Path, heard: Path) -> Path:
    recipe = CollabRecipe("hostile", server=HostileServer(str(heard)), client=HostileClient(), min_clients=2)
    recipe.export(str(out))
    shutil.rmtree(out / "hostile" / "app" / "custom" / "flgames", ignore_errors=True)
    return out / "hostile"


def audit_of(federation: Sites, name: str) -> Path:
    return federation.kits / name / STATES / name / ".site" / "audit.jsonl"


def said_to_the_server(federation: Sites) -> str:
    """All that the server has in its logs and folders."""
    places = [federation.folder / "localhost.log", federation.kits / "localhost", federation.folder / "storage"]
    files = [each for place in places for each in (place.rglob("*") if place.is_dir() else [place]) if each.is_file()]
    return "\n".join(each.read_bytes().decode(errors="replace") for each in files)


def test_a_hostile_server_hears_codes_and_the_sites_go_on(ruled: Sites, tmp_path: Path) -> None:
    heard = tmp_path / "heard.json"
    assert ruled.wait_for_end(ruled.submit(hostile_job(tmp_path / "job", heard))) == "FINISHED:COMPLETED", ruled.logs()
    told = json.loads(heard.read_text())
    refused = {name: {what: each.partition(":")[0] for what, each in told[name].items()} for name in ruled.clients}
    usual = dict.fromkeys(questions(), "refused-by-policy") | dict.fromkeys(
        ("a path as a run", "noise", "nothing that there is"), "bad-question"
    )
    any_plan = refused["client-1"].pop("another plan")
    assert any_plan.startswith("answered ['classes', 'held_back', 'samples']"), "it plays any plan"
    assert refused["client-1"] | {"another plan": "refused-by-policy"} == usual | {"a folder by its path": "bad-data"}
    assert refused["client-2"] == usual | {"names as targets": "bad-data", "a folder by its path": "bad-data"}
    assert set(told["peers"]) == {"client-1"}
    assert told["peers"]["client-1"] == "refused-by-policy: only the server may ask, and client-2 did"
    for name in ruled.clients:
        assert broken_line(audit_of(ruled, name)) is None
        lines = [line for line in lines_of(audit_of(ruled, name)) if line.get("run") == "hostile" or "run" not in line]
        assert len(lines) >= len(questions()) - 1
    assert [line["caller"] for line in lines_of(audit_of(ruled, "client-1"))].count("client-2") == 1
    for secret in SECRETS:
        assert secret not in heard.read_text()
        assert secret not in said_to_the_server(ruled)

    job = write_job(tmp_path / "honest", "after-hostile", *PLAYED)
    assert ruled.wait_for_end(ruled.submit(job)) == "FINISHED:COMPLETED", ruled.logs()
    assert same(weights(ruled.run_folder("after-hostile")), local_weights(tmp_path / "here", *PLAYED))


@pytest.mark.parametrize(("lie", "why"), [("1e30", "has the norm"), ("counts", "were to be counted")])
def test_a_hostile_site_costs_itself_and_nobody_else(
    federation: Sites, liar: Liar, tmp_path: Path, lie: str, why: str
) -> None:
    liar.lies(lie)
    longer = ("--variant", "f-fl-games-smooth", "--rounds", "6", "--stop-below", "never", "--against", "none")
    job = write_job(tmp_path / "job", f"lie-{lie}", *longer, "--threads", "1", "--min-clients", "1")
    assert federation.wait_for_end(federation.submit(job)) == "FINISHED:COMPLETED", federation.logs()
    lines = federation.rounds(f"lie-{lie}")
    assert len(lines) == 6
    assert all(set(line["failures"]) <= {"client-2"} for line in lines)
    assert all("client-1" in line["moved"] for line in lines)
    assert why in lines[0]["failures"]["client-2"]
    assert lines[-1]["failures"]["client-2"].startswith("excluded after 3 refused answers in a row")
    tensors = weights(federation.run_folder(f"lie-{lie}")).values()
    assert all(each.isfinite().all() and each.abs().max() < 100 for each in tensors)

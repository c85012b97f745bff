"""What happens to a game when parts of a Flower deployment are killed, or are not who they say."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import pytest
import torch
import trustme

from flgames.engines.serve import STOP
from tests.flower_sites import Deployment, deployment
from tests.games import local_weights, same, weights

pytestmark = pytest.mark.xdist_group("flower")

ROUNDS = 2000
"""More than are played: a round takes a second, and Flower a minute to see that a node is gone."""
BEFORE = 5
"""Rounds before the kill: a client that began anew would have made fewer moves."""


def rounds(out: Path) -> list[dict[str, Any]]:
    paths = list(out.glob("*/seed-0/measures.jsonl"))
    return [json.loads(line) for line in paths[0].read_text().splitlines()] if paths else []


def wait_for_round(out: Path, number: int, timeout: float = 150) -> None:
    deadline = time.monotonic() + timeout
    while len(rounds(out)) < number:
        assert time.monotonic() < deadline
        time.sleep(0.3)


def wait_until_it_moves_again(out: Path, timeout: float = 200) -> int:
    """How many moves client-2 has made when it is back."""
    deadline = time.monotonic() + timeout
    while True:
        movers = ["client-2" in line["moved"] for line in rounds(out)]
        if False in movers and movers[-1]:
            return sum(movers)
        assert time.monotonic() < deadline
        time.sleep(0.3)


def test_strangers_are_refused(flower: Deployment) -> None:
    """An unknown key; and a SuperLink whose certificate the node does not trust."""
    trustme.CA().cert_pem.write_to_path(str(flower.folder / "foreign.crt"))
    flower.start_node(7, key="node-unknown")
    assert flower.exit_code("node-7") != 0
    assert "Exit Code: 305" in (flower.folder / "node-7.log").read_text()
    flower.start_node(8, key="node-0", authority="foreign.crt")
    log = flower.folder / "node-8.log"
    deadline = time.monotonic() + 30
    while not any(word in log.read_text().lower() for word in ("certificate", "ssl")):
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.5)
    flower.kill("node-7")
    flower.kill("node-8")


def test_a_killed_node_is_skipped_and_rejoins_from_its_own_disk(flower: Deployment, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run = flower.run(rounds=ROUNDS, threads=1, timeout=20, min_clients=1, stop_below="never", out=str(out))
    wait_for_round(out, BEFORE)
    flower.kill("node-1")
    wait_for_round(out, len(rounds(out)) + 2)
    flower.start_node_again(1)
    moved = wait_until_it_moves_again(out)
    (now,) = flower.folder.rglob("client-2/*/*/now.pt")
    state = torch.load(io.BytesIO(now.read_bytes().partition(b"\n")[2]), weights_only=True)
    moves = state["client"]["moves"]
    # One answer may have been lost with it, and one may be on its way.
    assert moved <= moves <= moved + 2, "it goes on where its own disk says that it was"
    (out / STOP).touch()
    assert flower.wait_for_end(run, timeout=60) == "finished:completed"
    lines = rounds(out)
    missed = [line["round"] for line in lines if "client-2" in line["failures"]]
    assert missed, "the run noticed"
    assert lines[-1]["failures"] == {}
    assert lines[-1]["moved"] == ["client-1", "client-2"], "it is back"
    assert len(lines) < ROUNDS


def test_flowers_own_supernode_plays_beside_ours(tmp_path: Path) -> None:
    """It starts a process for every message, and its client goes on from its disk."""
    (tmp_path / "sites").mkdir()
    out = tmp_path / "run"
    with deployment(tmp_path / "sites", set_up=lambda made: made.by_flower.add(1)) as up:
        up.wait_for(out / "summary.txt", up.run(rounds=2, threads=1, stop_below="never", out=str(out)))
    game = ("--variant", "f-fl-games-smooth", "--against", "none", "--rounds", "2", "--stop-below", "never")
    here = local_weights(tmp_path / "here", *game, "--threads", "1")
    assert same(weights(out), here)

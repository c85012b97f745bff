"""The game over a real Flower deployment on loopback, with TLS and node authentication."""

from __future__ import annotations

import json
from pathlib import Path

from flgames.engines import processes
from tests.flower_sites import deployment
from tests.games import local_weights, same, weights


def test_a_run_ends_with_the_weights_of_the_local_engine(tmp_path: Path) -> None:
    (tmp_path / "sites").mkdir()
    out = tmp_path / "there"
    with deployment(tmp_path / "sites") as up:
        before = {node: [each.pid for each in processes.marked(up.mark(f"node-{node}"))] for node in up.nodes}
        run = up.run(
            variant="f-fl-games-smooth", rounds=6, threads=1, against="none", checkpoint_seconds=600, out=str(out)
        )
        up.wait_for(out / "summary.txt", run)
        assert up.wait_for_end(run) == "finished:completed", up.logs()
        assert all(len(each) == 1 for each in before.values())
        after = {node: [each.pid for each in processes.marked(up.mark(f"node-{node}"))] for node in up.nodes}
        assert after == before, "one process a node, before the run and after it"
    settings = ("--variant", "f-fl-games-smooth", "--rounds", "6", "--threads", "1", "--against", "none")
    assert same(weights(out), local_weights(tmp_path / "here", *settings))
    (path,) = out.glob("*/seed-0/measures.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) == 6
    assert not any(line["failures"] for line in lines)

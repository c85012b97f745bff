"""`flgames flower node`: what it refuses, and what it tells a server of what went wrong."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from flwr.app import Context, Message, Metadata, RecordDict
from flwr.app.message import make_message
from flwr.supercore.inflatable.inflatable_utils import pull_objects
from flwr.supercore.task_identity import TaskIdentity
from typer.testing import CliRunner

from flgames.cli import app
from flgames.engines.flower import node
from flgames.engines.flower.client import packed
from flgames.engines.flower.server import SOONEST, _wait_for_what_is_announced


@pytest.fixture(autouse=True)
def unidentified() -> Iterator[None]:
    """Flower keeps in its class which task a process runs."""
    before = vars(TaskIdentity).copy()
    yield
    for name in ("_run_id", "_node_id", "_task_id"):
        setattr(TaskIdentity, name, before[name])


def key(folder: Path, kind: str) -> Path:
    path = folder / kind
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", str(path)], check=True)
    return path


def refused(*options: str) -> str:
    result = CliRunner().invoke(app, ["flower", "node", "--superlink", "127.0.0.1:1", *options])
    assert result.exit_code == 2, result.output
    return " ".join(result.output.split())


def test_a_node_that_can_not_be_is_refused(tmp_path: Path) -> None:
    authority = key(tmp_path, "ed25519")  # it is not read before the rest is right
    trusting = ("--root-certificates", str(authority))
    assert "--root-certificates" in refused("--node-config", "partition-id=0")
    assert "not both" in refused("--node-config", "partition-id=0", "--insecure", *trusting)
    keyed = ("--auth-supernode-private-key", str(authority))
    assert "no proof" in refused("--node-config", "partition-id=0", "--insecure", *keyed)
    assert "ecdsa" in refused("--node-config", "partition-id=0", *trusting, *keyed)
    assert "This node has no name" in refused("--node-config", "data='/data'", "--insecure")
    assert "can't be read" in refused("--node-config", "client=ward-7", "--insecure")


def a_message(content: RecordDict, kind: str) -> Message:
    return make_message(
        Metadata(
            run_id=1, message_id="m", src_node_id=1, dst_node_id=7, reply_to_message_id="", group_id="",
            created_at=1.0, ttl=60.0, message_type=kind,
        ),
        content,
    )  # fmt: skip


def test_what_goes_wrong_is_told_by_its_kind(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """No other app's question is answered, whatever code came with it."""
    context = Context(1, 7, {"client": "ward-7", "state": str(tmp_path)}, RecordDict(), {})
    reply = node._reply(a_message(packed(b""), "train"), context)
    assert reply.has_error()
    assert (reply.error.reason or "").isidentifier()
    assert reply.metadata.message_id == reply.object_id
    assert "Traceback" in caplog.text


def test_flowers_own_pause_can_still_be_shortened() -> None:
    _wait_for_what_is_announced(7.0)
    usual = pull_objects.__kwdefaults__ or {}
    assert (usual["initial_backoff"], usual["max_time"]) == (SOONEST, 7.0)

"""What a server hears of errors, and who is answered at all."""

from __future__ import annotations

import json
import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from nvflare.collab.api.context import set_call_context
from pydantic import BaseModel

from flgames.data.own.roles import Roles
from flgames.data.own.survey import Survey
from flgames.engines.flower.client import caller_of, host_of
from flgames.engines.host import Host
from flgames.engines.nvflare.app import GameClient
from flgames.engines.sites import SiteData
from flgames.engines.wire import pack, read_answer
from flgames.errors import UserError
from flgames.policy.codes import OutOfStep, told_of
from flgames.policy.rules import OPEN, Rules
from tests.engines.matches import a_match
from tests.own_data import table

SECRET = "Mrs. Robinson"


def survey_of(data: Path | str, **roles: Any) -> bytes:
    return pack({"kind": "survey", "data": str(data), "roles": Roles(**roles).model_dump(), "threads": 1})


def asked(host: Host, payload: bytes, caller: str = "server") -> str:
    header, tensors = read_answer(host.handle(payload, caller))
    assert not tensors
    return header.error or ""


def own_table(path: Path, **data: Any) -> SiteData:
    return SiteData("a", path, Rules.model_validate({"data": data}))


def test_a_cell_of_a_table_leaves_in_no_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Labels that differ in case are quoted to people at the site, and to nobody else."""
    rows = "".join(f"{age},{SECRET if age % 2 else SECRET.upper()}\n" for age in range(40))
    (tmp_path / "a.csv").write_text("age,name\n" + rows)
    host = Host("a", own_table(tmp_path / "a.csv", target="name"), tmp_path / "disk")
    reply = host.handle(survey_of("/data", target="name"))
    assert asked(host, survey_of("/data", target="name")) == "bad-data: the log of the site says why"
    assert SECRET.encode() not in reply
    # NVFlare sends the logs of its processes to its server.
    assert SECRET not in caplog.text
    assert SECRET in (tmp_path / "disk" / "a" / ".site" / "errors.log").read_text()


def test_paths_of_a_site_leave_in_no_error(tmp_path: Path) -> None:
    host = Host("a", own_table(tmp_path / "ward-7.csv", target="sick"), tmp_path)
    assert asked(host, survey_of("/data", target="sick")) == "bad-data: the log of the site says why"


class _Number(BaseModel):
    number: int


def _invalid() -> Exception:
    try:
        _Number.model_validate({"number": SECRET})
    except ValueError as error:
        return error
    raise AssertionError


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (UserError(SECRET), "bad-data"),
        (ValueError(SECRET), "bad-data"),
        (_invalid(), "bad-question"),
        (KeyError(SECRET), "bad-question"),
        (OSError(SECRET), "no-access"),
        (MemoryError(SECRET), "out-of-memory"),
        (torch.OutOfMemoryError(SECRET), "out-of-memory"),
        (RuntimeError(f"DefaultCPUAllocator: can't allocate memory: {SECRET}"), "out-of-memory"),
        (RuntimeError(SECRET), "failed"),
        (OutOfStep("5, and 4 was asked"), "out-of-step: 5, and 4 was asked"),
    ],
)
def test_every_error_has_a_code(error: Exception, told: str) -> None:
    assert told_of(error).startswith(told)
    assert SECRET not in told_of(error)


def test_a_full_disk_is_no_reason_to_say_more(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("here should be a folder")
    quiet = Rules(journal=False)
    host = Host("a", own_table(tmp_path / "x.csv", target="sick"), tmp_path, rules=quiet)
    assert asked(host, survey_of("/data", target="sick")) == "no-access: the log of the site says why"


def test_a_node_whose_rules_are_wrong_says_no_more_than_that(tmp_path: Path) -> None:
    (tmp_path / "ward-7.toml").write_text("[data]\npassword = 1\n")
    context: Any = SimpleNamespace(node_config={"client": "a", "site": str(tmp_path / "ward-7.toml")})
    with pytest.raises(UserError, match=r"^This site is not set up: its own log says why\.$") as said:
        host_of(context)
    assert "ward-7" not in "".join(traceback.format_exception(said.value))


def test_a_site_of_nvflare_whose_rules_are_wrong_says_no_more_than_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "local").mkdir()
    (tmp_path / "local" / "flgames.json").write_text(json.dumps({"client": "a", "site": str(tmp_path / "ward-7.toml")}))
    workspace = SimpleNamespace(get_root_dir=lambda: str(tmp_path))
    monkeypatch.setattr("flgames.engines.nvflare.app.collab", SimpleNamespace(workspace=workspace, site_name="a"))
    with pytest.raises(UserError, match=r"^This site is not set up: flgames-runs/errors.log in its workspace") as said:
        GameClient().set_up()
    assert "ward-7" not in "".join(traceback.format_exception(said.value))
    assert "ward-7" in (tmp_path / "flgames-runs" / "errors.log").read_text()


# Who may ask.


class Watched(SiteData):
    """Says when it was looked at."""

    def survey(self, data: str, roles: Roles) -> Survey:
        raise AssertionError("nobody but the server may come as far as this")


def test_nobody_but_the_server_is_answered(tmp_path: Path) -> None:
    host = Host("a", Watched("a", rules=OPEN), tmp_path, rules=Rules())
    assert asked(host, survey_of("/"), "b") == "refused-by-policy: only the server may ask, and b did"


def test_another_site_of_an_nvflare_job_is_refused(tmp_path: Path) -> None:
    """It could list folders, and end a session."""
    client = GameClient()
    table(tmp_path / "data" / "client-1.csv")
    client.host = Host("client-1", SiteData("client-1", rules=OPEN), tmp_path / "disk")
    match = {"run": "run", "match": a_match().model_dump(mode="json"), "threads": 1, "device": "cpu"}
    begin, leave = pack(match | {"kind": "ask", "task": "introduce", "arguments": {}, "number": 1, "after": None,
                                 "news": []}), pack(match | {"kind": "leave"})  # fmt: skip

    def call(caller: str, payload: bytes) -> str:
        set_call_context(SimpleNamespace(caller=caller))
        try:
            return read_answer(client.handle(payload))[0].error or ""
        finally:
            set_call_context(None)

    assert call("server", begin) == ""
    session = client.host._session
    for payload in (survey_of(tmp_path / "data", target="sick"), leave, b"noise"):
        assert "only the server may ask, and client-2 did" in call("client-2", payload)
    assert client.host._session is session is not None
    assert call("server", leave) == ""
    assert client.host._session is None


def test_a_node_that_is_not_the_superlink_is_no_server() -> None:
    def message(source: int) -> Any:
        return SimpleNamespace(metadata=SimpleNamespace(src_node_id=source))

    assert caller_of(message(1)) == "server"
    assert caller_of(message(77)) == "node 77"

"""How often a site lets itself be asked, and how much it keeps."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from flgames.engines.host import Host
from flgames.engines.sites import SiteData
from flgames.engines.wire import pack, read_answer
from flgames.policy import limits
from flgames.policy.rules import Rules
from tests.engines.matches import a_match
from tests.own_data import three_hospitals
from tests.policy.test_games import introduced


def host_with(disk: Path, name: str = "client-1", path: Path | None = None, **limit: Any) -> Host:
    rules = Rules.model_validate({"limits": limit})
    return Host(name, SiteData(name, path, rules), disk, rules=rules)


def surveyed(host: Host) -> str:
    order = {"kind": "survey", "data": "elsewhere", "roles": {}, "threads": 1}
    return read_answer(host.handle(pack(order)))[0].error or ""


def asked(host: Host, match: Any, **header: Any) -> str:
    game = {"run": "run", "match": match.model_dump(mode="json"), "threads": 1, "device": "cpu"}
    return read_answer(host.handle(pack(game | header)))[0].error or ""


def test_games_are_counted_by_the_day_and_in_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit: dict[str, Any] = {"games_a_day": 2, "games_in_all": 3}
    said = [introduced(host_with(tmp_path, **limit), a_match()) for _ in range(3)]
    assert said == ["", "", "refused-by-policy: no more than 2 games a day (`games_a_day`)"]

    class Tomorrow(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return super().now(tz) + timedelta(days=1)

    monkeypatch.setattr(limits, "datetime", Tomorrow)
    said = [introduced(host_with(tmp_path, **limit), a_match()) for _ in range(2)]
    assert said == ["", "refused-by-policy: no more than 3 games in all (`games_in_all`)"]


def test_a_game_that_skips_its_beginning_counts_too(tmp_path: Path) -> None:
    host = host_with(tmp_path, games_a_day=2)
    for number in range(3):
        said = asked(host, a_match(rounds=number + 1), kind="rounds")
    assert said.startswith("refused-by-policy: no more than 2 games")


def test_one_that_goes_on_after_a_restart_does_not_count_again(tmp_path: Path) -> None:
    assert introduced(host_with(tmp_path, games_a_day=1), a_match()) == ""
    assert asked(host := host_with(tmp_path, games_a_day=2), a_match(), kind="save", round=1, keep=[]) == ""
    assert asked(host_with(tmp_path, games_a_day=2), a_match(), kind="restore", round=1) == ""
    assert introduced(host, a_match()).startswith("refused-by-policy: no more than 2 games")


def test_surveys_are_counted(tmp_path: Path) -> None:
    data = three_hospitals(tmp_path / "scans")
    host = host_with(tmp_path / "disk", "a", data / "a", surveys_a_day=2)
    assert [surveyed(host) for _ in range(3)] == [
        "",
        "",
        "refused-by-policy: no more than 2 surveys a day (`surveys_a_day`)",
    ]


def test_so_many_plans_are_kept_and_no_game_is_played_that_is_not(tmp_path: Path) -> None:
    host = host_with(tmp_path, plans_in_all=2)
    said = [introduced(host, a_match(rounds=rounds)) for rounds in (1, 2, 3)]
    assert said == ["", "", "refused-by-policy: no more than 2 plans are kept (`plans_in_all`)"]
    assert len(list((tmp_path / "client-1" / ".site" / "plans").iterdir())) == 2
    assert introduced(host, a_match(rounds=1)) == "", "one that is kept already"


def test_a_full_disk_begins_no_game(tmp_path: Path) -> None:
    host = host_with(tmp_path, max_disk_mb=1)
    assert introduced(host, a_match()) == ""
    (tmp_path / "client-1" / "states.pt").write_bytes(bytes(2**20 + 1))
    assert introduced(host, a_match()) == "refused-by-policy: more than 1 MB are kept here already (`max_disk_mb`)"


@pytest.mark.parametrize("content", ["", "[]", '{"games": 3}', '{"games": ["today", "x", 1]}'])
def test_damaged_counts_end_patience(content: str, tmp_path: Path) -> None:
    host = host_with(tmp_path)
    (tmp_path / "client-1" / ".site").mkdir(parents=True)
    (tmp_path / "client-1" / ".site" / limits.COUNTS).write_text(content)
    assert "asked.json of this site is damaged" in introduced(host, a_match())


def test_what_was_counted_can_be_read(tmp_path: Path) -> None:
    introduced(host_with(tmp_path), a_match())
    (day, today, total) = json.loads((tmp_path / "client-1" / ".site" / "asked.json").read_text())["games"]
    assert (len(day), today, total) == (10, 1, 1)

"""Which games a site plays, by its rules, and what it writes down of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from flgames.data.own.roles import Roles
from flgames.data.own.source import OwnOptions, surveys_of
from flgames.engines.host import Host
from flgames.engines.sites import SiteData
from flgames.engines.wire import pack, read_answer
from flgames.models.networks import CNN, MLP
from flgames.policy.codes import Refused
from flgames.policy.games import check_match, check_payload, check_samples, plan_hash
from flgames.policy.journal import broken_line, sha256
from flgames.policy.rules import OPEN, GameRules, Rules
from flgames.runs.match import Match
from tests.by_hand import ByHand
from tests.engines.matches import a_match, here, over, played
from tests.own_data import three_hospitals
from tests.toys import flat


def changed(match: Match, **changes: Any) -> Match:
    return match.model_copy(update={"entry": match.entry.model_copy(update=changes)})


def introduced(host: Host, match: Match, threads: Any = 1) -> str:
    """What a host says when a game begins."""
    game = {"run": "run", "match": match.model_dump(mode="json"), "threads": threads, "device": "cpu"}
    ask = {"kind": "ask", "task": "introduce", "arguments": {}, "number": 1, "after": None, "news": []}
    return read_answer(host.handle(pack(game | ask)))[0].error or ""


def host_with(disk: Path, **game: Any) -> Host:
    return Host("client-1", SiteData("client-1"), disk, rules=Rules.model_validate({"game": game}))


def test_a_batch_of_one_sample_is_refused(tmp_path: Path) -> None:
    """Its gradient is the sample."""
    host = host_with(tmp_path)
    assert introduced(host, a_match(batch_size=1, optimiser="sgd")) == (
        "refused-by-policy: batch_size 1 is too small: 8 at least (`min_batch_size`)"
    )
    assert introduced(host, a_match("fedsgd", batch_size=7)).startswith("refused-by-policy")
    assert introduced(host, a_match(batch_size=8)) == ""
    with pytest.raises(Refused, match="batch_size 2"):
        check_match(Rules(), changed(a_match(), phi_config={"batch_size": 2}))


def test_few_samples_are_not_trained_on(tmp_path: Path) -> None:
    """Whoever sets up a run says how many are held back."""
    host = host_with(tmp_path)
    assert "fewer than 20 samples would be trained on" in introduced(host, changed(a_match(), validation=0.99))
    assert "fewer than 5 samples would be held back" in introduced(host, changed(a_match(), validation=0.005))
    assert introduced(host, changed(a_match(), validation=0.25)) == ""
    check_samples(GameRules(), 20, None)


def test_methods_and_settings_can_be_limited() -> None:
    rules = Rules.model_validate(
        {"game": {"methods": ["fl-games"], "settings": {"optimiser": ["adam"], "local_steps": [1, 10]}}}
    )
    check_match(rules, a_match())
    with pytest.raises(Refused, match="the method fedavg is not allowed here, only fl-games"):
        check_match(rules, a_match("fedavg"))
    with pytest.raises(Refused, match="optimiser sgd is not allowed here, only adam"):
        check_match(rules, a_match(optimiser="sgd"))
    with pytest.raises(Refused, match="local_steps 2 is not allowed here, only 1, 10"):
        check_match(rules, a_match(local_steps=2))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"network": MLP(width=10**6)}, "width 1000000 is too large: 4096 at most"),
        ({"network": CNN(channels=(16, 10**6))}, "width 1000000"),
        ({"network": CNN(channels=(1,) * 99)}, "layers 99 is too large: 16 at most"),
        ({"players": MLP(width=5000)}, "width 5000"),
        ({"side": 20_000}, "side 20000 is too large: 512 at most"),
    ],
)
def test_what_would_fill_the_memory_is_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(Refused, match=why):
        check_match(Rules(), changed(a_match(), **changes))
    check_match(OPEN, changed(a_match(), **changes))


def test_a_site_does_not_enlarge_its_images_because_another_claims_huge_ones(tmp_path: Path) -> None:
    data = three_hospitals(tmp_path / "scans")
    told = surveys_of(str(data), Roles())
    told["b"] = told["b"].model_copy(update={"shape": (3, 20_000, 20_000)})
    match = a_match().model_copy(update={"options": OwnOptions.of(str(data), Roles(), None, (), told)})
    host = Host("a", SiteData("a", data / "a"), tmp_path / "disk")
    assert introduced(host, match) == "refused-by-policy: side 20000 is too large: 512 at most (`max_side`)"


def test_large_questions_are_not_read() -> None:
    check_payload(GameRules(), 256 * 2**20)
    with pytest.raises(Refused, match="a question of 300 MB is too large: 256 are allowed"):
        check_payload(GameRules(), 300 * 2**20)


def test_no_more_threads_than_the_site_allows(tmp_path: Path) -> None:
    before = torch.get_num_threads()
    try:
        assert introduced(host_with(tmp_path, max_threads=2), a_match(), threads=512) == ""
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert introduced(host_with(tmp_path), a_match(), threads="all").startswith("bad-question")


def test_the_plan_is_seen_and_can_be_refused(tmp_path: Path) -> None:
    host = host_with(tmp_path, plans=["0" * 64])
    match = a_match()
    assert introduced(host, match) == (
        f"refused-by-policy: the plan {plan_hash(match)} is not among those that site.toml allows"
    )
    written = json.loads((tmp_path / "client-1" / ".site" / "plans" / f"{plan_hash(match)}.json").read_text())
    assert Match.model_validate(written) == match, "people can read what they refuse"
    host = host_with(tmp_path, plans=[plan_hash(match)])
    assert introduced(host, match) == ""
    assert introduced(host, changed(match, rounds=match.entry.rounds + 1)).startswith("refused-by-policy")


def test_a_game_that_is_allowed_ends_as_it_does_without_rules(tmp_path: Path) -> None:
    match = a_match(rounds=4)
    there = played(over(ByHand(tmp_path, rules=Rules()), match))
    assert torch.equal(flat(there.server), flat(played(here(match)).server))


# The audit log.


def audit_of(disk: Path) -> tuple[Path, list[dict[str, Any]]]:
    path = disk / "client-1" / ".site" / "audit.jsonl"
    return path, [json.loads(line) for line in path.read_text().splitlines()]


def test_every_question_is_written_down(tmp_path: Path) -> None:
    host, match = host_with(tmp_path), a_match()
    assert introduced(host, match) == ""
    assert introduced(host, a_match(batch_size=1)) != ""
    noise = host.handle(b"noise", "client-2")
    _, (first, second, third) = audit_of(tmp_path)
    assert (first["caller"], first["kind"], first["task"], first["run"]) == ("server", "ask", "introduce", "run")
    assert (first["plan"], first["ended"]) == (plan_hash(match), "answered")
    assert second["ended"].startswith("refused-by-policy: batch_size 1")
    assert (third["caller"], third["received"], third["sent"]) == ("client-2", 5, len(noise))
    assert third["sha256"] == sha256(noise)
    assert oct((tmp_path / "client-1" / ".site" / "audit.jsonl").stat().st_mode)[-3:] == "600"


def test_a_line_that_was_changed_or_taken_out_shows(tmp_path: Path) -> None:
    for _ in range(2):  # a site that starts again goes on in the same file
        host = host_with(tmp_path)
        for _ in range(2):
            host.handle(b"noise")
    path, lines = audit_of(tmp_path)
    assert len(lines) == 4
    assert broken_line(path) is None
    written = path.read_text().splitlines()
    for bad, place in (
        ([written[0].replace("noise", "x").replace("server", "nobody"), *written[1:]], 2),
        ([written[0], *written[2:]], 2),
        ([*written[:2], "{}", *written[2:]], 3),
    ):
        path.write_text("\n".join(bad) + "\n")
        assert broken_line(path) == place


def test_nothing_leaves_that_can_not_be_written_down(tmp_path: Path) -> None:
    (tmp_path / "client-1" / ".site" / "audit.jsonl").mkdir(parents=True)
    said = introduced(host_with(tmp_path), a_match())
    assert said == "refused-by-policy: nothing leaves that can't be written down"


def test_simulations_write_nothing_down(tmp_path: Path) -> None:
    played(over(ByHand(tmp_path), a_match(rounds=1)))
    assert not list(tmp_path.rglob(".site"))

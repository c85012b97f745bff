"""What a site claims of its data is checked against what else it claims; names from elsewhere are plain text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
import torch

from flgames.core.gradients import shares_by_size
from flgames.core.loop import Play
from flgames.core.messages import Answer, Form, MomentForm
from flgames.data.names import LONGEST, printable, unfit
from flgames.data.own.roles import Roles
from flgames.data.own.survey import Survey
from flgames.engines.remote import RemoteFederation, Replies, surveys
from flgames.engines.wire import pack
from flgames.errors import ClientFailure
from flgames.models.architecture import Weights
from tests.by_hand import CLIENTS, ByHand, Spoil
from tests.engines.matches import a_match, here, over
from tests.engines.test_linear_players import linear
from tests.games import Following

HONEST: dict[str, Any] = {
    "kind": "table",
    "shape": [2],
    "columns": ["age", "smokes"],
    "samples": {"ill": 4, "well": 6},
    "count": 10,
    "sums": [500.0, 3.0],
    "squares": [26000.0, 3.0],
    "indicators": [False, True],
}

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "count": ({"count": 10**18}, "classes have 10 samples, and sums are over 1000000000000000000 values"),
    "few": ({"count": 9}, "classes have 10 samples, and sums are over 9"),
    "squares": ({"squares": [24000.0, 3.0]}, "feature 1 has squares that add up to less"),
    "below zero": ({"squares": [-1.0, 3.0]}, "feature 1 has squares that add up to less"),
    "indicator": ({"sums": [500.0, 12.0], "squares": [26000.0, 16.0]}, "feature 2 is 0 or 1"),
    "lengths": ({"squares": [26000.0]}, "there are 2 sums, 1 of squares"),
    "columns": ({"columns": ["age"]}, "there are 1 columns and 2 sums"),
    "missing": ({"details": {"age": {"missing": 11}}}, "'age' has 11 cells, and there are 10 samples"),
    "words": ({"details": {"age": {"kind": "category", "words": {"a": 99}}}}, "'age' has 99 cells"),
    "stranger": ({"details": {"height": {"missing": 1}}}, "'height' is told of, and is no column"),
}


class Telling:
    """Sites that tell what they are given to tell."""

    def __init__(self, told: Mapping[str, dict[str, Any]]) -> None:
        self.told = told
        self.clients = tuple(told)

    def __call__(self, payloads: Mapping[str, bytes], timeout: float | None) -> Replies:
        return Replies({name: pack({"client": name, "number": 0} | self.told[name]) for name in payloads})


def asked(**told: dict[str, Any]) -> dict[str, Survey]:
    return surveys(Telling({name.replace("_", "-"): each for name, each in told.items()}), "data", Roles(), 1, None)


def test_an_honest_survey_is_taken() -> None:
    assert asked(north={"survey": HONEST})["north"].size == 10


@pytest.mark.parametrize("what", WRONG)
def test_claims_that_do_not_fit_together_are_refused_by_name(what: str) -> None:
    change, why = WRONG[what]
    with pytest.raises(ClientFailure, match=f"south: its answer.*{why}"):
        asked(north={"survey": HONEST}, south={"survey": HONEST | change})


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "~/x", "a\\..\\b", "red\x1b[31m", "a\nb", "a\u202eb", " "])
@pytest.mark.parametrize("where", ["class", "column"])
def test_names_from_elsewhere_are_plain_text(name: str, where: str) -> None:
    lie = {"samples": {"ill": 4, name: 6}} if where == "class" else {"columns": ["age", name]}
    with pytest.raises(ClientFailure, match=r"south tells of .*: nothing can be called so") as caught:
        asked(north={"survey": HONEST}, south={"survey": HONEST | lie})
    assert str(caught.value).isprintable()


def test_names_are_not_endless_and_common_ones_are_fine() -> None:
    assert unfit("a" * (LONGEST + 1)) == f"has {LONGEST + 1} characters, and {LONGEST} are allowed"
    assert [unfit(name) for name in ("mg/dl", "<=50K", "größe", "N/A", "1.5", "a b")] == [None] * 6


@pytest.mark.parametrize("name", ["phi", "model", "contested", "pooled", "..", "a/b", "x\x1b[2J", "a" * 65])
def test_clients_have_names_of_their_own(name: str) -> None:
    with pytest.raises(ClientFailure, match="No client can be called"):
        surveys(Telling({name: {"survey": HONEST}}), "data", Roles(), 1, None)
    with pytest.raises(ClientFailure, match="No client can be called"):
        RemoteFederation(Telling({name: {}}), "run", a_match(), threads=1)


def test_what_a_site_says_went_wrong_can_be_printed() -> None:
    with pytest.raises(ClientFailure, match=r"north: disk\?\[31m full") as caught:
        asked(north={"error": "disk\x1b[31m full" + "!" * 9999})
    assert len(str(caught.value)) < 1000
    assert printable("a\r\nb") == "a??b"


def test_n_k_is_what_the_survey_told(tmp_path: Any) -> None:
    match = a_match(rounds=1)
    exchange = ByHand(tmp_path)
    true = {name: len(each) for name, each in match.data().training_clients().items()}

    def seated() -> Play:
        play = over(exchange, match)
        play.server.federation = RemoteFederation(exchange, "run", match, threads=1, sizes=true)
        return play

    seated().start()
    exchange.spoils = {
        "client-2": lambda header, tensors: pack(header | {"numbers": header["numbers"] | {"samples": 10**18}}, tensors)
    }
    with pytest.raises(ClientFailure, match=r"client-2: refused, because its answer says that it has 1e\+18 samples"):
        seated().start()


def test_squares_of_features_are_those_of_numbers() -> None:
    form = MomentForm.over(2, samples=4)
    sums = torch.tensor([4.0, 8.0], dtype=torch.float64)
    honest = Answer({"sums": sums, "squares": torch.tensor([4.0, 20.0], dtype=torch.float64)})
    assert not list(form.implausible(honest))
    lie = Answer({"sums": sums, "squares": torch.tensor([4.0, 15.0], dtype=torch.float64)})
    assert "add up to less" in next(form.implausible(lie))


def test_no_share_is_above_the_cap() -> None:
    sizes = {"a": 100, "b": 300, "c": 10**18}
    assert shares_by_size(sizes, sizes)["c"] == pytest.approx(1)
    capped = shares_by_size(sizes, sizes, cap=0.4)
    assert capped == pytest.approx({"a": 0.2, "b": 0.4, "c": 0.4})
    assert shares_by_size(sizes, sizes, cap=0.1) == pytest.approx(dict.fromkeys(sizes, 1 / 3))
    assert shares_by_size(sizes, ("a", "b"), cap=0.75) == {"a": 0.25, "b": 0.75}


@pytest.mark.parametrize("name", ["fedavg", "fedsgd", "parallel-v-fl-games-fast"])
def test_with_a_cap_a_count_of_1e18_does_not_take_everything(name: str) -> None:
    play = here(a_match(name, rounds=2))
    play.server.share_cap = 0.4
    play.measure_samples = 30
    play.start()
    play.server.samples["client-2"] = 10**18
    assert play.server.shares(CLIENTS)["client-2"] == 0.4
    play.run()
    assert play.server.measure(30).shares is not None


def test_a_cap_is_part_of_a_key_and_its_default_is_not() -> None:
    match = a_match()
    capped = match.model_copy(update={"entry": match.entry.model_copy(update={"share_cap": 0.5})})
    assert "share_cap" not in match.entry.decides()
    assert capped.key != match.key


TABLE = {"confusion": (torch.int64, torch.Size((2, 2)))}


@pytest.mark.parametrize(
    "table",
    [[[2**62, 2**62], [2**62, 2**62 + 10]], [[-5, 5], [5, 5]], [[10**18, 0], [0, 0]], [[1, 1], [1, 1]]],
)
def test_counts_are_those_of_samples(table: list[list[int]]) -> None:
    """The first ones add up to ten in 64 bits."""
    form = Form(TABLE, counts={"confusion": (10, 10)})
    assert not list(form.implausible(Answer({"confusion": torch.tensor([[4, 1], [2, 3]])})))
    assert "10 to 10 were to be counted" in next(form.implausible(Answer({"confusion": torch.tensor(table)})))


def told_otherwise(task_has: str, value: float) -> Spoil:
    """The same answer, with a tensor or a number that can't be true."""

    def spoil(header: dict[str, Any], tensors: Weights) -> bytes | None:
        if task_has in tensors:
            return pack(header, tensors | {task_has: torch.full_like(tensors[task_has], value)})
        if task_has in header.get("numbers", {}):
            return pack(header | {"numbers": header["numbers"] | {task_has: value}}, tensors)
        return None

    return spoil


@pytest.mark.parametrize(
    ("what", "value", "why"),
    [
        ("effects", 1e9, "has 1e+09 to 1e+09 in effects"),
        ("variances", 0.0, "has 0 to 0 in variances"),
        ("spread", -1.0, "has -1 to -1 in spread"),
        ("reliance", 7.0, "in reliance"),
    ],
)
def test_what_a_client_tells_of_its_head_is_plausible(what: str, value: float, why: str, tmp_path: Any) -> None:
    exchange = ByHand(tmp_path)
    exchange.spoils = {"client-2": told_otherwise(what, value)}
    with pytest.raises(ClientFailure, match=f"client-2: refused, because its answer.*{re.escape(why)}"):
        over(exchange, linear(a_match(settle="auto"))).start()


@pytest.mark.parametrize(("what", "why"), [("train", "counts"), ("judged", "has"), ("effective", "has")])
def test_what_a_client_tabulates_is_what_it_has(what: str, why: str, tmp_path: Any) -> None:
    exchange = ByHand(tmp_path)
    exchange.spoils = {"client-2": told_otherwise(what, 1e9)}
    play = over(exchange, a_match("settled", rounds=4, settle_after=2, settle="always"))
    lines = Following()
    play.start()
    play.run([lines])
    failures = [record.failures for record in lines.records if record.failures]
    assert {name for each in failures for name in each} == {"client-2"}
    assert any(f"its answer {why}" in each["client-2"] for each in failures)
    assert play.method.finding() is not None

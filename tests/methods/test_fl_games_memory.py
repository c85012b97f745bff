from __future__ import annotations

import pytest
import torch

from flgames.core.information import Buffer, InformationSet
from flgames.core.messages import Action
from flgames.methods.fl_games.config import MemoryMode
from flgames.methods.fl_games.memory import response_terms
from flgames.models.ensemble import PHI


def action(version: int, author: str = "a") -> Action:
    return Action(author, version, {"w": torch.tensor(float(version))})


def versions(buffer: Buffer) -> list[int]:
    return [played.version for played in buffer.played]


def test_first_in_first_out() -> None:
    buffer = Buffer(action(0), capacity=3)
    assert versions(buffer) == [], "an initial action has not been played"
    for version in (1, 2, 3, 4, 5):
        buffer.play(action(version))
    assert versions(buffer) == [3, 4, 5]
    assert buffer.current.version == 5


def test_history_is_the_initial_action_until_something_is_played() -> None:
    buffer = Buffer(action(0), capacity=3)
    assert [(w, a.version) for w, a in buffer.history()] == [(1.0, 0)]
    buffer.play(action(4))
    assert [(w, a.version) for w, a in buffer.history()] == [(1.0, 4)]


def test_news_may_arrive_twice() -> None:
    buffer = Buffer(action(0), capacity=3)
    for version in (1, 2, 1, 2, 3):
        buffer.play(action(version))
    assert versions(buffer) == [1, 2, 3]


def known(memory: int = 2) -> InformationSet:
    everything = InformationSet(memory)
    everything.receive([action(0, PHI), action(0, "a"), action(0, "b"), action(0, "c")])
    everything.receive([action(1, "b"), action(2, "b"), action(3, "b")])
    return everything


def terms(mode: MemoryMode, memory: int = 2) -> tuple[float, list[tuple[float, str, int]]]:
    own, opponents = response_terms("a", known(memory), memory, mode)
    return own, [(weight, a.author, a.version) for weight, a in opponents]


@pytest.mark.parametrize(
    ("mode", "memory", "own", "expected"),
    [
        ("history", 0, 1 / 3, {("b", 3): 1 / 3, ("c", 0): 1 / 3}),
        ("history", 2, 1 / 3, {("b", 2): 1 / 6, ("b", 3): 1 / 6, ("c", 0): 1 / 3}),
        ("paper", 2, 1 / 3, {("b", 2): 1 / 6, ("b", 3): 1 / 2, ("c", 0): 2 / 3}),
        ("normalised", 2, 1 / 5, {("b", 2): 0.1, ("b", 3): 0.3, ("c", 0): 0.4}),
    ],
)
def test_terms_of_each_mode(mode: MemoryMode, memory: int, own: float, expected: dict[tuple[str, int], float]) -> None:
    own_weight, opponents = terms(mode, memory)
    assert own_weight == pytest.approx(own)
    assert {(author, version): weight for weight, author, version in opponents} == pytest.approx(expected)
    assert len(opponents) == len(expected), "no action is evaluated twice"


@pytest.mark.parametrize(("mode", "total"), [("history", 1), ("paper", 5 / 3), ("normalised", 1)])
def test_weights_sum_as_decided(mode: MemoryMode, total: float) -> None:
    own, opponents = terms(mode)
    assert own + sum(weight for weight, *_ in opponents) == pytest.approx(total)


def test_news_is_what_is_newer() -> None:
    news = known().newer_than({PHI: 0, "a": 0, "b": 2})
    assert [a.key for a in news] == [("b", 3), ("c", 0)]
    assert [a.key for a in known().newer_than({})] == [(PHI, 0), ("a", 0), ("b", 2), ("b", 3), ("c", 0)]


def test_state_round_trip() -> None:
    copy = InformationSet(2)
    copy.load_state_dict(known().state_dict())
    assert [a.key for a in copy.newer_than({})] == [a.key for a in known().newer_than({})]

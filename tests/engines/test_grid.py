"""Nodes of Flower that hang, without Flower's processes: nobody waits for one of them twice."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

import pytest
from flwr.app import ConfigRecord, RecordDict
from flwr.serverapp import Grid

from flgames.engines.flower.client import NAME, packed
from flgames.engines.flower.server import HELLO, GridExchange

TIMEOUT = 0.5
NODES = {1: "north", 2: "south"}


@dataclass
class SomeNodes:
    """Nodes that answer at once, but for those that hang: what they are sent waits until they go on."""

    nodes: dict[int, str]
    hung: set[int] = field(default_factory=set)
    sent: dict[str, tuple[int, str]] = field(default_factory=dict)

    def get_node_ids(self) -> list[int]:
        return list(self.nodes)

    def push_messages(self, messages: Iterable[tuple[int, str]]) -> list[str]:
        numbers = []
        for message in messages:
            numbers.append(f"message-{len(self.sent)}")
            self.sent[numbers[-1]] = message
        return numbers

    def pull_messages(self, numbers: Iterable[str]) -> list[SimpleNamespace]:
        return [self._reply(number) for number in numbers if self.sent[number][0] not in self.hung]

    def _reply(self, number: str) -> SimpleNamespace:
        node, kind = self.sent[number]
        name = RecordDict({NAME: ConfigRecord({NAME: self.nodes[node]})})
        content = name if kind == HELLO else packed(self.nodes[node].encode())
        metadata = SimpleNamespace(reply_to_message_id=number)
        return SimpleNamespace(metadata=metadata, has_error=lambda: False, content=content)


@pytest.fixture(autouse=True)
def _bare_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flower's own know of the run that they are in, and there is none."""
    monkeypatch.setattr("flgames.engines.flower.server.Message", lambda content, node, kind, ttl: (node, kind))


def asked(exchange: GridExchange) -> tuple[set[str], float]:
    """Who answered, and after how many seconds."""
    began = time.monotonic()
    replies = exchange(dict.fromkeys(NODES.values(), b"?"), None)
    assert set(replies.arrived) | set(replies.failed) == set(NODES.values())
    return set(replies.arrived), time.monotonic() - began


def test_a_hung_node_costs_one_timeout_and_is_asked_again_when_it_is_back() -> None:
    nodes = SomeNodes(dict(NODES))
    exchange = GridExchange(cast(Grid, nodes), NODES.values(), 2, TIMEOUT)
    assert asked(exchange)[0] == {"north", "south"}
    nodes.hung = {2}
    answered, seconds = asked(exchange)
    assert answered == {"north"}
    assert seconds >= TIMEOUT
    for _ in range(5):
        answered, seconds = asked(exchange)
        assert answered == {"north"}
        assert seconds < TIMEOUT / 2
    nodes.hung = set()
    assert asked(exchange)[0] == {"north", "south"}


def test_a_node_that_hangs_when_it_comes_costs_one_timeout() -> None:
    nodes = SomeNodes(dict(NODES))
    exchange = GridExchange(cast(Grid, nodes), NODES.values(), 2, TIMEOUT)
    nodes.nodes[3] = "west"
    nodes.hung = {3}
    assert [asked(exchange)[1] > TIMEOUT / 2 for _ in range(4)] == [True, False, False, False]

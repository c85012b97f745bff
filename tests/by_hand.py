"""An engine without an engine: payloads are carried by hand, from object to object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from flgames.engines.host import Host
from flgames.engines.remote import Replies
from flgames.engines.sites import SiteData
from flgames.engines.wire import unpack
from flgames.models.architecture import Weights
from flgames.policy.rules import OPEN, Rules

CLIENTS = ("client-1", "client-2", "client-3")

Spoil = Callable[[dict[str, Any], Weights], bytes | None]


class ByHand:
    """Carries payloads to hosts in this process, which may be more than one a client, as if each had its own."""

    def __init__(
        self,
        disk: Path,
        clients: tuple[str, ...] = CLIENTS,
        processes: int = 1,
        forgets: bool = False,
        rules: Rules = OPEN,
    ) -> None:
        self.clients = clients
        self.hosts = [
            {name: Host(name, SiteData(name, rules=rules), disk, forgets, rules) for name in clients}
            for _ in range(processes)
        ]
        self.calls = 0
        self.carried: list[tuple[int, int]] = []
        self.away: set[str] = set()
        self.loses: set[str] = set()
        self.spoils: dict[str, Spoil] = {}
        self.strangers: dict[str, bytes] = {}

    def __call__(self, payloads: Mapping[str, bytes], timeout: float | None) -> Replies:
        arrived, failed = dict(self.strangers), {}
        for name, payload in payloads.items():
            if name in self.away:
                failed[name] = "no answer within 5 s"
                continue
            self.calls += 1
            reply = self.hosts[self.calls % len(self.hosts)][name].handle(payload)
            self.carried.append((len(payload), len(reply)))
            if name in self.loses:
                failed[name] = "lost on its way"
                continue
            header, tensors = unpack(reply)
            if name in self.spoils and header["number"]:
                reply = self.spoils[name](header, tensors) or reply
            arrived[name] = reply
        return Replies(arrived, failed)

"""A run that is submitted again: how long sites have to read their data, and what they forget."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from flgames.core.server import BEGINNING
from flgames.engines.remote import RemoteFederation, Replies
from flgames.engines.serve import serve
from flgames.runs.folder import RunFolder
from flgames.runs.resolve import resolve
from tests.by_hand import ByHand
from tests.engines.matches import a_match

CALLS = 12
"""After so many the third client is away."""


class Leaving(ByHand):
    def __call__(self, payloads: Mapping[str, bytes], timeout: float | None) -> Replies:
        if self.calls > CALLS:
            self.away = {"client-3"}
        return super().__call__(payloads, timeout)


class Timed:
    """Nobody answers; how long they had is noted."""

    clients = ("client-1", "client-2", "client-3")

    def __init__(self) -> None:
        self.timeouts: list[float | None] = []

    def __call__(self, payloads: Mapping[str, bytes], timeout: float | None) -> Replies:
        self.timeouts.append(timeout)
        return Replies({}, dict.fromkeys(payloads, "no answer"))


def test_sites_have_time_to_read_their_data_when_a_game_goes_on() -> None:
    exchange = Timed()
    federation = RemoteFederation(exchange, "run", a_match(), threads=1, timeout=5)
    federation.rounds()
    federation.save(3)
    assert exchange.timeouts == [BEGINNING, 5]


def test_who_was_away_when_a_match_ended_forgets_it_when_the_run_is_submitted_again(tmp_path: Path) -> None:
    settings = resolve(
        {"clients": 3, "rounds": 6, "stop_below": "never", "against": "none", "engine": "nvflare", "min_clients": 1}
        | {"checkpoint_every": 1, "threads": 1}
    )
    run = RunFolder.create(tmp_path / "run", settings)
    disk = tmp_path / "disk"

    def kept(client: str) -> bool:
        return (disk / client / run.id).exists()

    assert serve(run, lambda: Leaving(disk))
    assert [kept(client) for client in Timed.clients] == [False, False, True]
    assert list((disk / "client-3" / run.id).rglob("round-*.pt"))

    again = ByHand(disk)
    assert serve(run, lambda: again)
    assert not kept("client-3")
    assert again.calls == 3, "one order each"
    assert again.hosts[0]["client-3"]._session is None, "it has read no data for that"

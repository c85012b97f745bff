"""What a site has for a match, and who sits where."""

from __future__ import annotations

import re
from collections.abc import Iterable

from flgames.data.clients import Samples
from flgames.engines.host import Samplers
from flgames.errors import UserError, unknown
from flgames.match import Match


def benchmark_part(client: str) -> Samplers:
    """The samples that a benchmark deals to the client of this name."""

    def samples(match: Match) -> Samples:
        clients = match.source.training_clients(match.seed)
        if client not in clients:
            raise unknown("client of this benchmark", client, clients)
        return clients[client]

    return samples


def in_playing_order(clients: Iterable[str]) -> tuple[str, ...]:
    """client-2 before client-10, on every machine."""
    return tuple(sorted(clients, key=lambda name: [int(p) if p.isdecimal() else p for p in re.split(r"(\d+)", name)]))


def check_seats(match: Match, clients: Iterable[str]) -> None:
    """Every client of a benchmark must be played by somebody, or the figures are those of another benchmark."""
    wanted, there = set(match.source.flips), set(clients)
    if wanted != there:
        raise UserError(
            f"{match.source.title} is played by {', '.join(in_playing_order(wanted))}; "
            f"here are {', '.join(in_playing_order(there)) or 'none'}."
        )

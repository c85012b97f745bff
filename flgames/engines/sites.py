"""What a site has for a match, and who sits where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from flgames.data.catalogue import benchmark
from flgames.data.clients import Samples
from flgames.data.own.files import clients_in, read
from flgames.data.own.layout import Survey
from flgames.data.own.source import OwnData, path_of
from flgames.errors import UserError, unknown
from flgames.lineup import EACH
from flgames.match import Match
from flgames.names import natural
from flgames.settings import Settings


@dataclass(frozen=True)
class SiteData:
    """The samples of one client, at its site: its part of a benchmark, or data of its own.

    ``path`` is where its own data are, by its site's configuration; without it they are in the folder that the run
    names, under the client's name.
    """

    client: str
    path: Path | None = None

    def survey(self, data: str, target: str | None) -> Survey:
        """What others may know of its own data."""
        return read(self.client, self.path or path_of(data, self.client), target).survey()

    def samples(self, match: Match) -> Samples:
        source = match.source
        if isinstance(source, OwnData):
            return source.samples(self.client, self.path)
        clients = source.training_clients(match.seed)
        if self.client not in clients:
            raise unknown("client of this benchmark", self.client, clients)
        return clients[self.client]


def known_players(settings: Settings) -> tuple[str, ...] | None:
    """Who will play, where that is known before they are there: None for own data that lie elsewhere."""
    if settings.data is None:
        return tuple(benchmark(settings).flips)
    folder = Path(settings.data)
    if settings.clients is not None or not folder.is_dir():
        return None
    found = tuple(clients_in(folder))
    if settings.holdout not in (None, EACH, *found):
        raise unknown("client to hold out:", str(settings.holdout), found)
    return tuple(name for name in found if name != settings.holdout)


def number_of_players(settings: Settings) -> int:
    """How many clients a game begins with."""
    players = known_players(settings)
    if players is None and settings.clients is None:
        raise UserError(f"{settings.data} is not on this machine: say how many sites play, with --clients.")
    return len(players) if players is not None else int(settings.clients or 0)


def check_seats(match: Match, clients: Iterable[str]) -> None:
    """Every client of a match must be played by somebody, or the figures are those of another one."""
    wanted, there = set(match.players), set(clients)
    if not wanted <= there:
        raise UserError(
            f"{match.source.title} is played by {', '.join(natural(wanted))}; "
            f"here are {', '.join(natural(there)) or 'none'}."
        )

"""What a site has for a match, and who sits where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from flgames.data.benchmarks.registry import benchmark
from flgames.data.names import natural
from flgames.data.own.files import clients_in, read
from flgames.data.own.roles import Roles
from flgames.data.own.source import OwnData, path_of
from flgames.data.own.survey import Survey
from flgames.data.samples import Samples
from flgames.errors import UserError, unknown
from flgames.policy import surveys
from flgames.policy.codes import Refused
from flgames.policy.rules import Rules, rules_of_site
from flgames.runs.match import Match
from flgames.runs.own_settings import EACH, REST
from flgames.runs.settings import Settings


@dataclass(frozen=True)
class SiteData:
    """The samples of one client, at its site: its part of a benchmark, or data of its own.

    ``path`` is where its own data are, by its site's configuration. Without it, and if its rules allow that, they are
    in the folder that the run names, under the client's name.
    """

    client: str
    path: Path | None = None
    rules: Rules = field(default_factory=rules_of_site)

    def survey(self, data: str, roles: Roles) -> Survey:
        """What others may know of its own data."""
        here = surveys.allowed(self.rules.data, roles)
        records = read(self.client, self._where(data, here), here, self.rules.data.keep_images)
        return surveys.told(self.rules.survey, records.survey())

    def samples(self, match: Match) -> Samples:
        data = match.data()
        if isinstance(data, OwnData):
            here = surveys.allowed(self.rules.data, data.options.roles)
            own = replace(data, options=data.options.model_copy(update={"columns": here.columns}))
            return own.samples(self.client, self._where(data.options.data, here), self.rules.data.keep_images)
        clients = data.training_clients()
        if self.client not in clients:
            raise unknown("client of this benchmark", self.client, clients)
        return clients[self.client]

    def _where(self, data: str, roles: Roles) -> Path:
        path = self.path or self.rules.data.path
        if path is None and not self.rules.data.from_server:
            raise Refused("this site does not say where its data are, and looks into no folder that a server names")
        return path or path_of(data, self.client, roles)


def known_players(settings: Settings) -> tuple[str, ...] | None:
    """Who will be there, where that is known before: None for own data that lie elsewhere. Who is held out tells of its
    data too, and does not play."""
    if settings.data is None:
        return benchmark(settings.source).players
    data = Path(settings.data)
    if settings.source.clients is not None or not data.exists():
        return None
    found = tuple(clients_in(data, settings.roles))
    for what, names in (("hold out", settings.holdout), ("train on", settings.source.train or ())):
        for name in names:
            if name not in (EACH, REST, *found):
                raise unknown(f"client to {what}:", name, found)
    if settings.source.train is None or REST in settings.holdout:
        return found
    return tuple(name for name in found if name in (*settings.source.train, *settings.holdout))


def number_of_players(settings: Settings) -> int:
    """How many clients a game begins with."""
    players = known_players(settings)
    if players is None and settings.source.clients is None:
        raise UserError(f"{settings.data} is not on this machine: say how many sites play, with `clients`.")
    return len(players) if players is not None else int(settings.source.clients or 0)


def check_players(match: Match, clients: Iterable[str]) -> None:
    """Every client of a match must be played by somebody, or the figures are those of another one."""
    wanted, there = set(match.players), set(clients)
    if not wanted <= there:
        raise UserError(
            f"{match.title} is played by {', '.join(natural(wanted))}; here are {', '.join(natural(there)) or 'none'}."
        )

"""The mean of what clients learn alone: a game in which nobody answers anybody.

Every client trains its own predictor on its own samples. What is used is the mean of their logits, as in FL Games; for
linear predictors that is one predictor with the mean of their weights. It tells what the players' answers add.
"""

from __future__ import annotations

from flgames.core.client import Site
from flgames.core.information import Term
from flgames.methods.fl_games.client import FLGamesClient
from flgames.methods.fl_games.server import Game


class LocalMeanClient(FLGamesClient):
    """A player who is alone."""

    def _ensemble(self, t: int, players: int) -> tuple[float, list[Term]]:
        return 1.0, []


class LocalMean(Game):
    """An ensemble of local models; its knobs are those of a game, of which schedule and memory change nothing."""

    def client(self, site: Site) -> LocalMeanClient:
        return LocalMeanClient(site, self.architecture, self.config)

"""A client of a settled game: first a player, then one that trains a network on weighted samples."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor

from flgames.core.cache import LogitCache
from flgames.core.client import Client
from flgames.core.messages import CONTESTED, MODEL, Answer, Ask
from flgames.core.state import State, taken
from flgames.data.samples import effective_share
from flgames.methods.fl_games.client import FLGamesClient
from flgames.methods.settled.disagreement import along, apart, centred, classes_of
from flgames.methods.weighting import Weighting, cells_of, counted, quantile_edges
from flgames.models.architecture import Weights


class SettledClient(Client):
    """Two clients at one site. While no model is shared it plays; from then on it trains.

    In between it tells how far players are apart on its samples, and weights its samples. Weights are a pure function
    of what it was told and of its samples: a client that has lost them makes them again. They never leave it.
    """

    own_tasks: ClassVar[frozenset[str]] = frozenset({"disagree", "place", "tabulate", "weigh"})

    def __init__(self, player: FLGamesClient, trainer: Client) -> None:
        self.site = player.site
        self.player = player
        self.trainer = trainer
        self.weighed: int | None = None
        """The version of what was contested when its samples were weighted, or were left as they are."""
        self.weights_of: tuple[Tensor, Tensor] | None = None
        """The samples' weights: of those that it trains on, and of those that it is judged by."""

    @property
    def trains(self) -> bool:
        """Whether the game is over."""
        return MODEL in self.trainer.known.buffers

    def answer(self, ask: Ask) -> Answer:
        self.trainer.hear(action for action in ask.news if action.author == MODEL)
        self.player.hear(action for action in ask.news if action.author != MODEL)
        if ask.task in self.own_tasks:
            answer: Answer = getattr(self, ask.task)(**ask.arguments)
            return answer
        if self.trains:
            self._be_weighted()
        stage: Client = self.trainer if self.trains else self.player
        return stage.answer(replace(ask, news=()))

    def forget(self) -> None:
        self.player.forget()
        self.trainer.forget()

    def disagree(self) -> Answer:
        """How far players are apart: N x N numbers. Their history has served."""
        self.player.known.drop_history()
        return Answer({"apart": apart(self._logits(self.player.cache)[0])})

    def place(self, bins: int) -> Answer:
        """Where u lies on the samples that it trains on: so many quantiles."""
        return Answer({"edges": quantile_edges(self._u(self.player.cache)[0], bins)})

    def tabulate(self, sign: int) -> Answer:
        """How often every label comes with every bin of u, on the samples that it trains on and on those that models
        are judged by."""
        return Answer({"train": self._table(self.player.cache, sign), "judged": self._table(self.player.judged, sign)})

    def _table(self, cache: LogitCache, sign: int) -> Tensor:
        u, targets = self._u(cache)
        edges, classes = self._told.get("edges"), classes_of(u)
        bins = classes if edges is None else len(edges) + 1
        return counted(cells_of(sign * u, edges), targets, bins, classes)

    def weigh(self) -> Answer:
        """What u tells of the labels, on the samples that models are judged by, and what weights would leave of it."""
        weighting, own = self._weighting()
        u, targets = self._u(self.player.judged)
        right, weights = (weighting.guesses(u) == targets).double(), weighting(u, targets)
        return Answer(
            numbers={
                "told": float(right.mean()),
                "left": float((weights * right).sum() / weights.sum()),
                "effective": effective_share(own),
                "judged": effective_share(weights),
            }
        )

    @property
    def _told(self) -> Weights:
        told = self.player.known.buffers[CONTESTED].current.weights
        return {name: tensor.cpu() for name, tensor in told.items()}

    def _be_weighted(self) -> None:
        """Train and count by weights from now on, if that was decided."""
        version = self.player.known.buffers[CONTESTED].current.version
        if version == self.weighed:
            return
        if self._told["weighted"]:
            weighting, own = self._weighting()
            self._take(version, (own, weighting(*self._u(self.player.judged))))
        else:
            self._take(version, None)
        self.player.forget_features()  # what players say of its samples has served

    def _take(self, version: int | None, weights: tuple[Tensor, Tensor] | None) -> None:
        self.weighed, self.weights_of = version, weights
        if weights is not None:
            self.trainer.weigh_samples(*weights)

    def _weighting(self) -> tuple[Weighting, Tensor]:
        """The weighting by what is contested, and the weights of the samples that it trains on."""
        u, targets = self._u(self.player.cache)
        weighting = Weighting.of(u, targets, classes_of(u), self._told.get("edges"))
        return weighting, weighting(u, targets)

    def _u(self, cache: LogitCache) -> tuple[Tensor, Tensor]:
        """u and the labels of a cache's samples, in the samples' own order."""
        logits, targets = self._logits(cache)
        return along(logits, self._told["direction"]), targets

    def _logits(self, cache: LogitCache) -> tuple[Tensor, Tensor]:
        """Centred logits of every player, and the labels."""
        actions = [buffer.current for buffer in self.player.known.players.values()]
        chunks = cache.chunks()
        found = torch.stack(cache.logits(actions, chunks, {action.key for action in actions}), 1).double().cpu()
        order = torch.cat(cache.features.chunks).argsort()
        return centred(found)[order], cache.targets(chunks).cpu()[order]

    def state_dict(self) -> State:
        return {
            "player": self.player.state_dict(),
            "trainer": self.trainer.state_dict(),
            "weighed": self.weighed,
            "weights": self.weights_of,
        }

    def load_state_dict(self, state: State) -> None:
        self.player.load_state_dict(taken(state, "player", dict))
        self.trainer.load_state_dict(taken(state, "trainer", dict))
        weighed = taken(state, "weighed", int) if state["weighed"] is not None else None
        own, judged = taken(state, "weights", tuple) if state["weights"] is not None else (None, None)
        self._take(weighed, None if own is None else (own, judged))

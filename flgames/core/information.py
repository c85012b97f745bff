"""What a participant knows of the others: FIFO buffers of played actions, and phi.

The paper calls it the information set P_k. The server has one too. An action that arrives is kept by reference; in
process, N participants share one copy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable

from flgames.core.messages import MODEL, NO_PLAYERS, Action
from flgames.core.state import State, taken
from flgames.models.architecture import Architecture, Weights
from flgames.models.ensemble import BALANCE, PHI, Ensemble

Term = tuple[float, Action]
"""A weight and the action that it multiplies in an ensemble."""


class Buffer:
    """The newest actions of one player, first in first out.

    ``current`` is what the player plays now. ``played`` holds at most ``capacity`` actions, the newest last, and is
    empty until the player moves for the first time: an initial action is current without having been played.
    """

    def __init__(self, initial: Action, capacity: int) -> None:
        self.current = initial
        self.played: deque[Action] = deque(maxlen=max(capacity, 1))
        if initial.version > 0:
            self.played.append(initial)

    def play(self, action: Action) -> None:
        """Make an action the current one. News may arrive twice, and what was played may have been bounded since: of
        the same version the last one counts. What is older is known already."""
        if action.version < self.current.version:
            return
        if action.version == self.current.version and self.played:
            self.played.pop()
        self.current = action
        if action.version > 0:
            self.played.append(action)

    def history(self) -> list[Term]:
        """The uniform mean of the buffer; of the initial action while nothing has been played."""
        entries = list(self.played) or [self.current]
        return [(1 / len(entries), action) for action in entries]


class InformationSet:
    """The buffers of all players, in the order in which they were first heard of, and phi."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.buffers: dict[str, Buffer] = {}
        self.phi: Action | None = None

    def receive(self, news: Iterable[Action]) -> None:
        for action in news:
            if action.author == PHI:
                self.phi = action
            elif action.author in self.buffers:
                self.buffers[action.author].play(action)
            else:
                self.buffers[action.author] = Buffer(action, self.capacity)

    @property
    def players(self) -> dict[str, Buffer]:
        """The buffers of those who play."""
        return {name: buffer for name, buffer in self.buffers.items() if name not in NO_PLAYERS}

    @property
    def current(self) -> list[Action]:
        """What w_av is made of: the one model that all share, if there is one, or else an action a player."""
        shared = [self.buffers[MODEL]] if MODEL in self.buffers else self.players.values()
        return [buffer.current for buffer in shared]

    @property
    def balance(self) -> Weights | None:
        """What each player counts for, where it is not the same for all."""
        return self.buffers[BALANCE].current.weights if BALANCE in self.buffers else None

    def drop_history(self) -> None:
        """Keep of everybody what is played now: nobody will be answered any more."""
        for buffer in self.buffers.values():
            while len(buffer.played) > 1:
                buffer.played.popleft()

    def ensemble(self, architecture: Architecture) -> Ensemble:
        """w_av o phi of what is played now, as one module."""
        players = {action.author: action.weights for action in self.current}
        return Ensemble(architecture, players, self.phi.weights if self.phi else None, self.balance)

    def newer_than(self, known: dict[str, int], authors: Collection[str] | None = None) -> tuple[Action, ...]:
        """What a participant that knows these versions has not seen, oldest first, as far as memory reaches; of these
        authors, if not of all."""
        news = [self.phi] if self.phi is not None and self.phi.version > known.get(PHI, -1) else []
        # Those who hear of few are not made to look at all: with N clients that would be N x N looks a round.
        for player in self.buffers if authors is None else filter(self.buffers.__contains__, authors):
            buffer = self.buffers[player]
            entries = list(buffer.played) if buffer.current.version > 0 else [buffer.current]
            news += [action for action in entries if action.version > known.get(player, -1)]
        return tuple(news)

    def state_dict(self) -> State:
        return {
            "phi": _pack(self.phi) if self.phi else None,
            "buffers": [
                {"current": _pack(buffer.current), "played": [_pack(action) for action in buffer.played]}
                for buffer in self.buffers.values()
            ],
        }

    def load_state_dict(self, state: State) -> None:
        self.phi = _unpack(taken(state, "phi", dict)) if state["phi"] else None
        self.buffers = {}
        for saved in taken(state, "buffers", list):
            buffer = Buffer(_unpack(saved["current"]), self.capacity)
            buffer.played.clear()
            buffer.played.extend(map(_unpack, saved["played"]))
            self.buffers[buffer.current.author] = buffer


def _pack(action: Action) -> State:
    return {"author": action.author, "version": action.version, "weights": action.weights}


def _unpack(saved: State) -> Action:
    return Action(taken(saved, "author", str), taken(saved, "version", int), taken(saved, "weights", dict))

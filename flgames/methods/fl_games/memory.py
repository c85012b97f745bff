"""The ensemble that a player answers to, with the opponents' memory in it: eq. (1) and the readings of eq. (3)."""

from __future__ import annotations

from flgames.core.information import InformationSet, Term
from flgames.methods.fl_games.config import MemoryMode


def response_terms(player: str, known: InformationSet, memory: int, mode: MemoryMode) -> tuple[float, list[Term]]:
    """The ensemble that a player answers to: its own weight, and the opponents as (weight, action).

    Without memory, eq. (1): (w_k + sum of w_q) / N. With memory the three readings of the paper's memory objective:

    ``history``
        (w_k + sum over opponents of their buffer's mean) / N: the response to the opponents' windowed history.
    ``paper``
        as printed: the current action *and* the buffer's mean, both over N, so that the weights sum to (2N-1)/N.
    ``normalised``
        as printed, but divided by the 2N-1 weights that are there.

    The newest buffer entry is the current action, so its weights are added and it is evaluated once.
    """
    players = len(known.buffers)
    total = 2 * players - 1 if memory and mode == "normalised" else players
    terms: list[Term] = []
    for opponent, buffer in known.buffers.items():
        if opponent == player:
            continue
        if not memory:
            terms.append((1.0, buffer.current))
            continue
        history = buffer.history()
        if mode != "history":
            weight, newest = history[-1]
            history[-1] = (weight + 1, newest)
        terms += history
    return 1 / total, [(weight / total, action) for weight, action in terms]

"""The ensemble that a player answers to, with the opponents' memory in it: eq. (1) and the readings of eq. (3).

Linear players are answered as one: what opponents say together is a linear predictor too, with the sum of their
weights. A client is told the mean of all players, w_av, and takes its own part off.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from flgames.core.information import Buffer, InformationSet, Term
from flgames.core.messages import HISTORY, MODEL, Action
from flgames.methods.fl_games.config import MemoryMode
from flgames.models.architecture import Weights


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
    players = len(known.players)
    total = 2 * players - 1 if memory and mode == "normalised" else players
    terms: list[Term] = []
    for opponent, buffer in known.players.items():
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


def drawn(terms: list[Term], count: int, draw: np.random.Generator) -> list[Term]:
    """The terms of so many opponents, with larger weights: on average the same sum as that of all."""
    opponents = list(dict.fromkeys(action.author for _, action in terms))
    if count >= len(opponents):
        return terms
    chosen = {opponents[place] for place in draw.permutation(len(opponents))[:count]}
    return [(weight * len(opponents) / count, action) for weight, action in terms if action.author in chosen]


def sum_of(terms: Iterable[Term]) -> Weights:
    """The weights of a sum of linear predictors, each times its weight, in the order given."""
    total: Weights = {}
    for weight, action in terms:
        for name, tensor in action.weights.items():
            total[name] = tensor * weight if name not in total else total[name].add_(tensor, alpha=weight)
    return total


def mean_action(players: Iterable[Buffer], version: int) -> Action:
    """w_av of linear players: one predictor."""
    current = [buffer.current for buffer in players]
    return Action(MODEL, version, sum_of((1 / len(current), action) for action in current))


def mean_history(players: Iterable[Buffer], version: int) -> Action:
    """The mean over linear players of what each has played lately."""
    buffers = list(players)
    terms = [(weight / len(buffers), action) for buffer in buffers for weight, action in buffer.history()]
    return Action(HISTORY, version, sum_of(terms))


def moved_together(players: Iterable[Buffer], model: Buffer) -> bool:
    """Whether all players have moved in just the rounds that the model has: then its history is theirs."""
    rounds = [action.version for action in model.played]
    return all([action.version for action in buffer.played] == rounds for buffer in players)


def linear_response(
    player: str, known: InformationSet, players: int, memory: int, mode: MemoryMode
) -> tuple[float, Weights]:
    """As :func:`response_terms`, for linear players: the player's own weight, and its opponents as one predictor.

    The three readings differ in what is added over opponents: what they play now, the mean of their buffers, or both.
    """
    own, model = known.buffers[player], known.buffers[MODEL]
    total = 2 * players - 1 if memory and mode == "normalised" else players
    share = players / total
    parts: list[Term] = []
    if not memory or mode != "history":
        parts += [(share, model.current), (-1 / total, own.current)]
    if memory:
        told = known.buffers.get(HISTORY)
        if told and told.current.version == model.current.version:
            parts.append((share, told.current))
        else:
            parts += [(share * weight, action) for weight, action in model.history()]
        parts += [(-weight / total, action) for weight, action in own.history()]
    return 1 / total, sum_of(parts)

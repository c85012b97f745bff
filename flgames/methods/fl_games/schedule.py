"""Who moves when: the paper's playing sequences seq(t), as pure functions of the round.

Rounds are numbered from 0. With a variable representation every ``phi_every + 1``-th round, from round 0 on, moves
phi and the others move predictors; with the paper's value of 1 these are the even and the odd rounds. With a fixed
representation every round moves predictors. t counts predictor rounds only, from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flgames.methods.fl_games.config import FLGamesConfig
from flgames.seeds import generator


@dataclass(frozen=True)
class Turn:
    """What happens in a round: phi moves (``t`` is None), or these players do, in predictor round ``t``."""

    t: int | None
    movers: tuple[str, ...]

    @property
    def moves_phi(self) -> bool:
        return self.t is None


def turn(config: FLGamesConfig, round_: int, players: Sequence[str], seed: int) -> Turn:
    """The turn of a round. Moving phi involves every client."""
    t = predictor_round(config, round_, len(players))
    return Turn(None, tuple(players)) if t is None else Turn(t, movers(config, t, players, seed))


def predictor_round(config: FLGamesConfig, round_: int, players: int) -> int | None:
    """The number t of a predictor round, None for a round that moves phi."""
    if config.representation == "fixed":
        return round_ + 1
    between = config.phi_every
    if between == "sweep":
        between = 1 if config.schedule == "simultaneous" else players
    cycle, place = divmod(round_, between + 1)
    return cycle * between + place if place else None


def movers(config: FLGamesConfig, t: int, players: Sequence[str], seed: int) -> tuple[str, ...]:
    """seq(t): one player in turn, one drawn, or all that participate, always in the players' order."""
    if config.schedule == "clockwise":
        return (players[(t - 1) % len(players)],)
    draw = generator(seed, "schedule", t)
    if config.schedule == "random":
        return (players[int(draw.integers(len(players)))],)
    count = max(1, round(config.participation * len(players)))
    if count == len(players):
        return tuple(players)
    return tuple(players[i] for i in sorted(draw.choice(len(players), size=count, replace=False)))

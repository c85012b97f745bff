"""A client that is away or excluded, and the rounds that a rule can still choose."""

from __future__ import annotations

from pathlib import Path

import torch

from flgames.core.counts import Counts, TrainingMeasure
from flgames.core.loop import Kept, Play
from flgames.core.stopping.best_round import BestRound
from tests.by_hand import ByHand
from tests.engines.matches import a_match, over
from tests.games import Following

LEAVES = 3
"""The round after which one of three clients is not there any more."""


def chosen(rule: BestRound, folder: Path) -> Play:
    exchange = ByHand(folder)
    play = over(exchange, a_match(rounds=30, learning_rate=0.002))
    play.rule, play.warm_start = rule, 1

    class Leaving(Following):
        def on_round(self, record: object) -> None:
            if play.next_round == LEAVES:
                exchange.away = {"client-3"}

    play.start()
    play.run([Leaving()])
    return play


def test_who_is_away_does_not_keep_the_median_from_choosing(tmp_path: Path) -> None:
    play = chosen(BestRound(patience=50, spread_penalty=0, bias_penalty=0, score_by="median"), tmp_path)
    assert play.kept is not None
    assert play.kept.round > LEAVES
    assert set(play.kept.measure.clients) == {"client-1", "client-2"}


def test_a_pooled_score_needs_everybody(tmp_path: Path) -> None:
    play = chosen(BestRound(patience=50, spread_penalty=0, bias_penalty=0), tmp_path)
    assert play.kept is not None
    assert play.kept.round < LEAVES


def counted(**right: int) -> TrainingMeasure:
    """Of ten samples each, evenly of both labels."""
    tables = {name: torch.tensor([[5, 0], [10 - each, each - 5]]) for name, each in right.items()}
    return TrainingMeasure({name: Counts(table, 0.0) for name, table in tables.items()}, dict.fromkeys(right, 10))


def test_rounds_are_compared_by_the_clients_that_counted_in_both(tmp_path: Path) -> None:
    """The first round looks worse than the second only because the worst client is gone."""
    rule = BestRound(patience=5, score_by="median", spread_penalty=0, bias_penalty=0)
    play = over(ByHand(tmp_path), a_match())
    first = counted(a=9, b=9, c=5, d=5, e=5)
    play.rule, play.standing = rule, {"round": 0, "score": rule.score(first)}
    play.kept = Kept(0, {}, first)
    here, then = play._comparable(counted(a=8, b=8, c=5))
    assert rule.score(here) == 0.8
    assert then == {"round": 0, "score": 0.9}
    assert not rule.judge(1, here, then).keep
    assert rule.can_choose(3, 5)
    assert not rule.can_choose(2, 5)
    assert not BestRound(patience=5).can_choose(4, 5)

"""The rule that returns an early model: its choice by hand, and games that end by it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from flgames.core.counts import Counts, TrainingMeasure
from flgames.core.local import LocalFederation
from flgames.core.loop import Play
from flgames.core.records import RoundRecord
from flgames.core.stopping.early_round import EarlyRound
from flgames.core.stopping.rule import Standing, rule_from
from flgames.data.samples import ArraySamples
from flgames.errors import UserError
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.server import Game
from flgames.models.architecture import Architecture
from tests.toys import Records, flat


def measure(correct: int, samples: int = 100, of: int | None = None) -> TrainingMeasure:
    confusion = torch.tensor([[correct, samples - correct], [0, 0]])
    return TrainingMeasure({"a": Counts(confusion, 0.0)}, {"a": of or samples})


def judged(rule: EarlyRound, *correct: int) -> tuple[list[int], list[int]]:
    """The rounds that are kept, and those after which it would stop, where so many of 100 are right."""
    standing: Standing = None
    kept, stopped = [], []
    for round_, number in enumerate(correct):
        verdict = rule.judge(round_, measure(number), standing)
        standing = verdict.standing
        kept += [round_] * verdict.keep
        stopped += [round_] * verdict.stop
    return kept, stopped


def test_a_round_is_kept_that_is_better_by_more_than_half_a_standard_error() -> None:
    """Half a standard error of 70 in 100 is 2.29 points: 72 is not clearly better, 73 is. Of 73 it is 2.22."""
    rule = EarlyRound(early=3)
    assert judged(rule, 70, 72, 73) == ([0, 2], [])
    assert judged(rule, 70, 72, 72, 72) == ([0], [3]), "three rounds after the one that is kept"
    assert judged(rule, 70, 71, 73, 75, 75, 75) == ([0, 2], [5])
    assert judged(rule, 70, 71, 73, 75, 76, 60, 60, 60) == ([0, 2, 4], [7])


def test_it_is_compared_with_what_is_kept_and_not_with_the_round_before() -> None:
    assert judged(EarlyRound(early=9), 70, 71, 72, 71, 72) == ([0], [])
    assert judged(EarlyRound(early=9), 70, 60, 72, 74) == ([0, 3], [])


def test_nothing_is_kept_and_nothing_stops_in_the_warm_start() -> None:
    rule = EarlyRound(early=2, warm_start=3)
    assert judged(rule, 99, 99, 99, 70, 72, 72) == ([3], [5])
    assert not rule.is_unsure(2, measure(60, 100, of=1000), None)
    assert rule.is_unsure(3, measure(60, 100, of=1000), None)


def test_how_much_is_more_than_chance_can_be_said() -> None:
    assert judged(EarlyRound(early=9, early_errors=0), 70, 71, 71, 72) == ([0, 1, 3], [])
    assert judged(EarlyRound(early=9, early_errors=2), 70, 79, 80) == ([0, 2], []), "2 of them are 9.2 points"


def test_nothing_is_better_than_no_mistake() -> None:
    assert judged(EarlyRound(early=2), 100, 100, 100) == ([0], [2])
    assert judged(EarlyRound(early=2), 0, 1) == ([0, 1], [])


def test_more_samples_tell_smaller_differences_apart() -> None:
    rule, standing = EarlyRound(early=5), {"round": 0.0, "accuracy": 0.7, "margin": 0.0}
    assert rule.judge(1, measure(7100, 10_000), standing).keep
    first = rule.judge(0, measure(7000, 10_000), None).standing
    assert isinstance(first, dict)
    assert first["margin"] == pytest.approx(0.5 * (0.7 * 0.3 / 10_000) ** 0.5)
    assert rule.judge(1, measure(7024, 10_000), first).keep
    assert not rule.judge(1, measure(7022, 10_000), first).keep


def test_an_estimate_is_never_kept() -> None:
    rule = EarlyRound(early=5)
    estimate = measure(90, 100, of=1000)
    assert rule.is_unsure(0, estimate, None), "so all samples are counted"
    assert not rule.is_unsure(0, measure(90), None)
    assert not rule.judge(0, estimate, None).keep


def test_the_knob_chooses_the_rule() -> None:
    assert rule_from({"early": "30"}) == EarlyRound(early=30)
    assert rule_from({"early": 30, "early_errors": "1"}) == EarlyRound(early=30, early_errors=1)
    assert rule_from({"early": "never"}) is None
    with pytest.raises(UserError, match="`early_errors` is for `early`"):
        rule_from({"early_errors": 1})
    with pytest.raises(UserError, match="`early` and `patience` are two rules"):
        rule_from({"early": 30, "patience": 30})
    rule = EarlyRound(early=30)
    assert "the one kept before by more than 0.5 standard errors, stops 30 rounds later" in str(rule)
    assert rule.reason == "none was clearly better in the next 30"


# Games that end by it.

COLUMNS = 4


def clients(samples: int = 120) -> dict[str, ArraySamples]:
    """Two clients whose first column tells the label, with 5% of mistakes at the one and 35% at the other."""
    found = {}
    for number, (name, mistakes) in enumerate({"a": 0.05, "b": 0.35}.items()):
        draw = torch.Generator().manual_seed(number)
        inputs = torch.randn(samples, COLUMNS, generator=draw)
        wrong = torch.rand(samples, generator=draw) < mistakes
        found[name] = ArraySamples(inputs, ((inputs[:, 0] > 0) ^ wrong).long())
    return found


def new_play(settle: bool = False, rounds: int = 60, early: int = 15, share: float = 0.25) -> Play:
    architecture = Architecture(lambda: nn.Linear(COLUMNS, 2))
    config = FLGamesConfig(memory=3, batch_size=16, learning_rate=0.02, settle="always" if settle else "never")
    method = Game(architecture, config)
    federation = LocalFederation.of(method, clients(), 0, validation=share)
    return Play(method, federation, seed=0, rounds=rounds, rule=EarlyRound(early=early), measure_samples=16)


def test_a_game_returns_the_model_that_the_rule_chose() -> None:
    play, records, models = new_play(), Records(), []
    play.start()
    assert play.run([records], lambda: models.append(play.ensemble().tensors())) == "rule"
    right = [round(60 * record.decided_by.accuracy) for record in records.heard]
    assert {record.decided_by.samples for record in records.heard[2:]} == {60}, "all that were held back"
    best = None
    for round_, correct in enumerate(right):
        share = correct / 60
        if round_ >= 2 and (best is None or share > best[1] + 0.5 * (best[1] * (1 - best[1]) / 60) ** 0.5):
            best = (round_, share)
    assert best is not None
    result = play.result(records.heard)
    assert result.chosen_round == best[0] > 2
    assert result.rounds == best[0] + 15 + 1
    assert result.stopped_by == "none was clearly better in the next 15"
    chosen = play.chosen().tensors()
    assert all(torch.equal(tensor, models[best[0]][name]) for name, tensor in chosen.items())
    held_back = result.held_back.values()
    assert sum(each.n * each.accuracy for each in held_back) == pytest.approx(60 * result.train)
    assert result.train == pytest.approx(best[1]), "figures are of the model that is returned"


def ended(play: Play, records: Records) -> tuple[object, ...]:
    """All that a game ends with."""
    assert play.kept is not None
    kept = torch.cat([tensor.flatten() for tensor in play.kept.tensors.values()])
    weights = flat(play.server)
    result = play.result(records.heard).model_copy(update={"seconds": 0.0})
    lines = [record.model_copy(update={"seconds": 0.0}) for record in records.heard]
    return kept.tolist(), weights.tolist(), play.standing, result, lines


def until(play: Play, records: Records, round_: int) -> None:
    play.start()
    play.run([records], interrupted=lambda: play.next_round == round_)


@pytest.mark.parametrize("stop", [0, 1, 7, 20])
@pytest.mark.parametrize("settle", [False, True], ids=["plain", "settled"])
def test_a_game_goes_on_bit_for_bit(settle: bool, stop: int) -> None:
    whole, heard = new_play(settle), Records()
    whole.start()
    whole.run([heard])
    finding = whole.method.finding()
    assert (finding is not None and finding.settled) == settle
    first, second, records = new_play(settle), new_play(settle), Records()
    until(first, records, stop)
    assert first.end is None
    state = first.state_dict()
    second.load_state_dict(state)
    again: list[RoundRecord] = list(records.heard)
    second.run([records])
    assert len(again) == stop
    assert ended(second, records) == ended(whole, heard)


def test_a_state_is_loaded_over_whatever_was_played() -> None:
    """A game that has ended goes back to its beginning, and ends as it did."""
    play, records = new_play(), Records()
    play.start()
    start = play.state_dict()
    play.run([records])
    end = ended(play, records)
    play.load_state_dict(start)
    again = Records()
    play.run([again])
    assert ended(play, again) == end

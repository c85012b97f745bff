from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest
import torch

from flgames.core.counts import Counts, TrainingMeasure
from flgames.core.loop import Play
from flgames.core.records import RoundRecord
from flgames.core.stopping.best_round import BestRound
from flgames.core.stopping.stop_below import StopBelow
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.server import Game
from flgames.models.architecture import Weights
from tests.toys import Records, perceptrons, random_clients, set_up


def measure(correct: int, samples: int, population: int | None = None) -> TrainingMeasure:
    confusion = torch.tensor([[correct, samples - correct], [0, 0]])
    return TrainingMeasure({"a": Counts(confusion, 0.0)}, {"a": population or samples})


class Scripted(Play):
    """A game whose training accuracies are given."""

    def script(self, accuracies: list[float]) -> int:
        for round_, accuracy in enumerate(accuracies):
            self._decide(round_, measure(round(1000 * accuracy), 1000))
            if self.end:
                return round_
        return -1


def stop_round(accuracies: list[float], threshold: float = 0.6, warm_start: int = 0) -> int:
    method = Game(perceptrons(), FLGamesConfig())
    play = set_up(method, random_clients(4, 4), 1)
    rule = StopBelow(stop_below=threshold, warm_start=warm_start)
    return Scripted(method, play.federation, seed=0, rounds=1, rule=rule).script(accuracies)


def test_stops_in_the_first_round_below() -> None:
    assert stop_round([0.8, 0.85, 0.7, 0.59, 0.5]) == 3


def test_a_model_that_was_never_above_the_threshold_goes_on() -> None:
    assert stop_round([0.5, 0.5, 0.59, 0.55, 0.4]) == -1


def test_is_armed_by_an_earlier_round_only() -> None:
    assert stop_round([0.5, 0.61, 0.59]) == 2
    assert stop_round([0.60, 0.599]) == 1, "at the threshold is not below it"


def test_does_not_stop_during_the_warm_start_but_arms_in_it() -> None:
    assert stop_round([0.8, 0.5, 0.5, 0.5], warm_start=3) == 3


def test_warm_start_of_the_paper() -> None:
    samples = {"a": 30_000, "b": 30_000}
    assert Game(perceptrons(), FLGamesConfig()).warm_start(samples) == 2
    assert Game(perceptrons(variable=True), FLGamesConfig(representation="variable")).warm_start(samples) == 118


@pytest.mark.parametrize(
    ("correct", "armed", "unsure"),
    [(850, True, False), (620, True, True), (300, True, True), (300, False, False), (590, False, True)],
)
def test_estimates_decide_only_where_they_can(correct: int, armed: bool, unsure: bool) -> None:
    rule = StopBelow(stop_below=0.6)
    assert rule.is_unsure(5, measure(correct, 1000, 60_000), armed) is unsure
    assert not rule.is_unsure(5, measure(correct, 1000, 1000), armed), "an exact count always decides"


def test_estimates_need_not_decide_during_the_warm_start() -> None:
    assert not StopBelow(stop_below=0.6, warm_start=10).is_unsure(5, measure(600, 1000, 60_000), True)


def test_standard_error_vanishes_when_all_are_counted() -> None:
    assert measure(600, 1000).standard_error == 0
    assert measure(600, 1000, 10**9).standard_error == pytest.approx((0.6 * 0.4 / 1000) ** 0.5, rel=1e-3)
    assert measure(1000, 1000, 10**9).standard_error > 0


@pytest.mark.parametrize("schedule", ["clockwise", "simultaneous"])
def test_stops_where_exact_counting_stops(schedule: str) -> None:
    """A game on random labels: thresholds between its first falls, decided from 512 of 2,700 samples at first."""
    config = FLGamesConfig(schedule=schedule, batch_size=32, learning_rate=0.02)  # type: ignore[arg-type]
    clients = random_clients(1500, 1200)

    def play(measure_samples: int, rule: StopBelow | None) -> list[RoundRecord]:
        game = set_up(Game(perceptrons(), config), clients, 25, rule, warm_start=2, measure_samples=measure_samples)
        game.start()
        records = Records()
        game.run([records])
        return records.heard

    accuracies = [record.accuracy for record in play(0, None)]
    falls = [(before + after) / 2 for before, after in itertools.pairwise(accuracies[5:]) if after < before][:3]
    assert len(falls) == 3
    for threshold in falls:
        rule = StopBelow(stop_below=threshold)
        exact, estimated = play(0, rule), play(512, rule)
        assert len(estimated) == len(exact) < 25
        assert estimated[0].samples == 512
        assert estimated[-1].decided_by.samples == 2700, "a fall is believed only when all samples were counted"


def test_uneven_clients_stop_where_exact_counting_stops() -> None:
    """Small clients run out of samples first; the large one must still be counted to the end."""
    clients = random_clients(1500, 10, 10, 10, 10)
    ends = []
    for measure_samples in (0, 64):
        game = Game(perceptrons(), FLGamesConfig(batch_size=32, learning_rate=0.02))
        rule = StopBelow(stop_below=0.499)
        play = set_up(game, clients, 12, rule, warm_start=2, measure_samples=measure_samples)
        play.start()
        ends.append((play.run(), play.next_round))
    assert ends[0] == ends[1]


def test_the_measure_grows_to_every_sample() -> None:
    method, clients = Game(perceptrons(), FLGamesConfig()), random_clients(3000, 5, 5, 5, 5)
    play = set_up(method, clients, 1, StopBelow(stop_below=0.5), warm_start=0, measure_samples=64)
    play.start()
    play.method.round(play.server, 0, 0)
    play.standing = True
    measure = play.server.measure(64)
    assert measure.samples == 256 + 20
    play.rule = StopBelow(stop_below=measure.accuracy)
    assert play._decide(0, measure).exact


def two_clients(first: list[list[int]], second: list[list[int]]) -> TrainingMeasure:
    counts = {"a": Counts(torch.tensor(first), 0.0), "b": Counts(torch.tensor(second), 0.0)}
    return TrainingMeasure(counts, {name: each.samples for name, each in counts.items()})


def test_guards_tell_why_accuracy_is_low() -> None:
    invariant = two_clients([[35, 15], [15, 35]], [[36, 14], [15, 35]])
    shortcut = two_clients([[35, 15], [15, 35]], [[45, 5], [15, 35]])
    biased = two_clients([[10, 40], [5, 45]], [[10, 40], [5, 45]])
    assert invariant.spread == pytest.approx(0.01)
    assert biased.bias == pytest.approx(0.35), "85% are called 1, 50% are"
    rule = StopBelow(stop_below=0.9, stop_spread=0.02, stop_bias=0.1)
    assert [rule.stops(5, each, True) for each in (invariant, shortcut, biased)] == [True, False, False]
    assert all(StopBelow(stop_below=0.9).stops(5, each, True) for each in (invariant, shortcut, biased))
    assert "spread at most 0.02 and bias at most 0.1" in str(rule)


def test_what_is_surely_guarded_is_not_counted_further() -> None:
    few = [Counts(torch.tensor(confusion), 0.0) for confusion in ([[100, 400], [50, 450]], [[100, 400], [50, 450]])]
    estimate = TrainingMeasure(dict(zip("ab", few, strict=True)), {"a": 30_000, "b": 30_000})
    assert StopBelow(stop_below=0.6).is_unsure(5, estimate, True)
    assert not StopBelow(stop_below=0.6, stop_bias=0.1).is_unsure(5, estimate, True)
    assert StopBelow(stop_below=0.6, stop_bias=0.3).is_unsure(5, estimate, True), "0.35 may be 0.3"


def clients(*confusions: list[list[int]], population: int | None = None) -> TrainingMeasure:
    counts = {name: Counts(torch.tensor(each), 0.0) for name, each in zip("abc", confusions, strict=False)}
    return TrainingMeasure(counts, {name: population or each.samples for name, each in counts.items()})


SHORTCUT = clients([[40, 10], [10, 40]], [[45, 5], [5, 45]])
INVARIANT = clients([[36, 14], [14, 36]], [[36, 14], [14, 36]])
CONSTANT = clients([[50, 0], [50, 0]], [[50, 0], [50, 0]])
BIASED = clients([[50, 0], [26, 24]], [[50, 0], [26, 24]])


def test_the_best_round_is_accurate_alike_and_unbiased() -> None:
    rule = BestRound(patience=100)
    scores = {name: rule.score(each) for name, each in (("shortcut", SHORTCUT), ("invariant", INVARIANT))}
    assert scores == {"shortcut": pytest.approx(0.85 - 6 * 0.1), "invariant": pytest.approx(0.72)}
    assert rule.score(CONSTANT) == pytest.approx(0.5 - 0.5 * 0.5)
    assert rule.score(BIASED) == pytest.approx(0.74 - 0.5 * 0.26), "alike everywhere, because it says one label"


def test_the_best_round_is_kept_and_the_game_stops_later() -> None:
    rule, standing = BestRound(warm_start=1, patience=2), None
    kept, stopped = [], []
    for round_, measured in enumerate([INVARIANT, SHORTCUT, INVARIANT, SHORTCUT, CONSTANT, INVARIANT]):
        verdict = rule.judge(round_, measured, standing)
        standing = verdict.standing
        kept += [round_] * verdict.keep
        stopped += [round_] * verdict.stop
    assert kept == [1, 2], "nothing in the warm start; of equals the first"
    assert stopped == [4, 5]


def test_a_round_that_can_be_the_best_is_counted_to_the_end() -> None:
    rule = BestRound(patience=100)
    estimate = clients([[36, 14], [14, 36]], [[36, 14], [14, 36]], population=10_000)
    assert rule.is_unsure(3, estimate, None)
    assert rule.is_unsure(3, estimate, {"round": 0, "score": 0.75})
    assert not rule.is_unsure(3, estimate, {"round": 0, "score": 0.99})
    assert not rule.is_unsure(3, INVARIANT, None), "an exact count always decides"
    assert not rule.judge(3, estimate, {"round": 0, "score": 0.1}).keep, "an estimate never does"


def test_a_game_returns_the_model_of_its_best_round() -> None:
    method, rule = Game(perceptrons(), FLGamesConfig(batch_size=8)), BestRound(patience=50)
    play = set_up(method, random_clients(40, 40), 12, rule, warm_start=2)
    play.start()
    records, models, measures = Records(), list[Weights](), list[TrainingMeasure]()

    def look() -> None:
        models.append(play.ensemble().tensors())
        measures.append(play.server.measure(play.population))

    play.run([records], look)
    assert len(measures) == 12
    assert play.kept is not None
    assert isinstance(play.rule, BestRound)
    assert play.rule.warm_start == 2
    best = max(range(2, 12), key=lambda round_: rule.score(measures[round_]))
    assert play.kept.round == best
    chosen = play.chosen().tensors()
    assert chosen.keys() == models[best].keys()
    assert all(torch.equal(tensor, chosen[name]) for name, tensor in models[best].items())
    assert play.exact_measure().accuracy == records.heard[best].decided_by.accuracy == measures[best].accuracy


def test_a_round_without_all_clients_is_not_the_best() -> None:
    rule = BestRound(patience=100)
    method = Game(perceptrons(), FLGamesConfig(batch_size=8))
    play = set_up(method, random_clients(40, 40), 12, rule, warm_start=0)
    play.start()
    one = {name: counts for name, counts in play.server.measure(1000).clients.items() if name == "a"}
    alone = TrainingMeasure(one, {"a": 40})
    assert rule.judge(0, alone, None).keep, "alone it is alike everywhere"
    play._decide(0, alone)
    assert play.kept is None
    assert play.standing is None


class Patient(Game):
    """A method with a warm start of its own."""

    def warm_start(self, samples: Mapping[str, int]) -> int:
        return 7


@pytest.mark.parametrize(
    ("own", "given", "least", "expected"),
    [(0, None, 0, 7), (0, None, 9, 9), (0, None, 3, 7), (5, None, 9, 5), (5, 0, 9, 0), (0, 4, 9, 4)],
)
def test_the_warm_start_is_the_methods_unless_one_is_given(
    own: int, given: int | None, least: int, expected: int
) -> None:
    rule = StopBelow(stop_below=0.6, warm_start=own)
    method = Patient(perceptrons(), FLGamesConfig())
    play = set_up(method, random_clients(4, 4), 1, rule, warm_start=given, least_warm_start=least)
    play.start()
    assert play.rule == rule.after(expected)
    resumed = set_up(method, random_clients(4, 4), 1, rule, warm_start=given, least_warm_start=least)
    resumed.load_state_dict(play.state_dict())
    assert resumed.rule == rule.after(expected)

"""What clients disagree about: found by hand, weighted away, and what that does where nobody trained."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import chi2
from torch import Tensor, nn

from flgames.core.local import LocalFederation
from flgames.core.loop import Play
from flgames.core.messages import CONTESTED, HISTORY, MODEL, Answer, Answers, Ask
from flgames.core.records import Finding
from flgames.core.stopping.early_round import EarlyRound
from flgames.data.samples import ArraySamples, Samples, WeightedStream, effective_share
from flgames.methods.fl_games.client import FLGamesClient
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.server import Game
from flgames.methods.fl_games.settling import Told, disagreement, edges_along, reliance
from flgames.methods.weighting import LARGEST_WEIGHT, Weighting, cells_of
from flgames.models.architecture import Architecture
from flgames.models.linear import linear_predictor
from tests.toys import Records, flat, perceptrons

# Cochran's Q.


def head(effects: list[float], variances: list[float], spread: list[float] | None = None, samples: int = 100) -> Told:
    one = torch.tensor([effects], dtype=torch.float64)
    vary = torch.ones(len(effects)) if spread is None else torch.tensor(spread)
    return Told(one, torch.tensor([variances], dtype=torch.float64), vary.double(), samples)


def test_cochrans_q_of_two_clients_by_hand() -> None:
    """Effects of 2 and 4 with a variance of 0.1 each are both 1 from their mean: Q = 1 / 0.1 + 1 / 0.1."""
    found = disagreement([head([1.0, 2.0], [0.1, 0.1]), head([1.0, 4.0], [0.1, 0.1])])
    (contested,) = found.contested
    assert contested.column == 1
    assert contested.heterogeneity == pytest.approx(20)
    assert contested.p == pytest.approx(2 * chi2.sf(20, df=1)), "times two, for two columns"
    assert found.mean.tolist() == [[1.0, 3.0]]


def test_cochrans_q_of_three_clients_by_hand() -> None:
    """The common effect is the mean by precision: (1 + 2 x 3 + 4 x 5) / 7. With two degrees p is exp(-Q / 2)."""
    told = [head([effect], [variance]) for effect, variance in ((1.0, 1.0), (3.0, 0.5), (5.0, 0.25))]
    q = ((27 / 7 - 1) ** 2) + 2 * (27 / 7 - 3) ** 2 + 4 * (27 / 7 - 5) ** 2
    found = disagreement(told)
    assert found.contested[0].heterogeneity == pytest.approx(q / 2)
    assert found.contested[0].p == pytest.approx(math.exp(-q / 2))
    assert found.mean.tolist() == [[3.0]], "and the mean of the heads is a plain one"


def test_differences_that_chance_explains_are_not_contested() -> None:
    found = disagreement([head([2.0, 0.0], [0.5, 0.1]), head([4.0, 0.1], [0.5, 0.1])])
    assert found.contested == (), "Q = 4 on one degree: p = 0.0455, and twice that for two columns"
    assert found.direction.abs().max() == 0, "and within twice its standard error nothing is believed"


def test_an_uncertain_client_contests_nothing() -> None:
    """What one client holds at zero, because its column never changes, is no disagreement."""
    sure, constant = head([5.0], [0.01]), head([0.0], [1 / (2 * 1e-3 * 100)])
    assert disagreement([sure, constant]).contested == ()
    assert disagreement([sure, head([0.0], [0.01])]).contested != ()


def test_the_most_contested_comes_first_and_every_column_once() -> None:
    one, other = torch.zeros(3, 2, dtype=torch.float64), torch.tensor([[3.0, 0.0], [-1.0, 2.0], [-2.0, -2.0]])
    variances, spread = torch.full((3, 2), 0.05, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    found = disagreement([Told(effects.double(), variances, spread, 100) for effects in (one, other)])
    assert [each.column for each in found.contested] == [0, 1]
    assert found.contested[0].heterogeneity == pytest.approx(3**2 / (2 * 0.05)), "by the class they differ most about"
    assert found.contested[0].p == pytest.approx(6 * chi2.sf(90, df=1)), "of three classes and two columns"


# The direction in which clients differ most.


def test_the_direction_has_what_is_contested_and_nothing_else() -> None:
    """Effects +-1 from the middle with Q = 20: 1 - 4 / 20 of it is believed, and (1, -1) / sqrt(2) is the contrast."""
    found = disagreement([head([1.0, 2.0], [0.1, 0.1]), head([1.1, 4.0], [0.1, 0.1])])
    assert found.direction.abs().tolist() == [[0.0, pytest.approx(2 * 0.8 / math.sqrt(2))]]


def test_the_direction_is_where_what_they_say_differs_most() -> None:
    """The first client differs in one column, the second in another, and what varies more decides: the contrast of the
    first client, (2, -1, -1), times the effects (3, 0, 0) and (0, 3, 0) less their means gives 2 to -1."""
    effects = [[3.0, 0.0], [0.0, 3.0], [0.0, 0.0]]
    for spread, column in (([1e4, 1.0], 0), ([1.0, 1e4], 1)):
        found = disagreement([head(each, [0.01, 0.01], spread) for each in effects])
        direction = found.direction[0]
        assert float(direction[column] / direction[1 - column]) == pytest.approx(-2, rel=1e-3)


def test_clients_that_differ_together_have_one_direction() -> None:
    found = disagreement([head([2.0, -1.0], [0.01, 0.01]), head([-2.0, 1.0], [0.01, 0.01])])
    first, second = found.direction[0].tolist()
    assert first / second == pytest.approx(-2, rel=0.05)


# How much is relied on it.

CORNERS = torch.tensor([[x, y] for x in (-1.0, 1.0) for y in (-1.0, 1.0)])
"""Two columns that have nothing to do with each other."""


@pytest.mark.parametrize(("mean", "expected"), [
    ((0.0, 5.0), 1.0),
    ((0.0, -0.1), 1.0),
    ((3.0, 0.0), 0.0),
    ((1.0, 1.0), 0.5),
    ((3.0, 4.0), 16 / 25),
    ((0.0, 0.0), 0.0),
])  # fmt: skip
def test_reliance_is_the_share_of_what_is_said_that_u_explains(mean: tuple[float, float], expected: float) -> None:
    u = torch.tensor([[0.0, 2.0]], dtype=torch.float64)
    assert reliance(CORNERS, u, torch.tensor([mean], dtype=torch.float64)) == pytest.approx(expected)
    assert reliance(CORNERS + 7, u, torch.tensor([mean], dtype=torch.float64)) == pytest.approx(expected)


def test_nothing_is_relied_on_where_nothing_is_contested() -> None:
    assert reliance(CORNERS, torch.zeros(1, 2).double(), torch.ones(1, 2).double()) == 0


# Weights.


def shortcut(samples: int, flip: float, ones: float = 0.5, seed: int = 0) -> tuple[Tensor, Tensor]:
    """A column that is the label, but for a share of samples."""
    draw = torch.Generator().manual_seed(seed)
    targets = (torch.rand(samples, generator=draw) < ones).long()
    said = targets ^ (torch.rand(samples, generator=draw) < flip).long()
    return (said + 0.1 * torch.randn(samples, generator=draw))[:, None], targets


def weighted(u: Tensor, targets: Tensor) -> Weighting:
    """By the cells that linear players have."""
    return Weighting.of(u, targets, classes=2, edges=edges_along(u))


def test_weights_by_hand() -> None:
    """Of ten in a cell eight have the label 0: with one more of each (8 + 1) / 12, and half of all have it."""
    features = torch.tensor([[0.0]] * 10 + [[1.0]] * 10)
    targets = torch.tensor([0] * 8 + [1] * 2 + [0] * 2 + [1] * 8)
    found = weighted(features, targets)(features, targets)
    assert found[[0, 9, 10, 19]].tolist() == pytest.approx([0.5 / (9 / 12), 0.5 / (3 / 12), 2.0, 2 / 3])


@pytest.mark.parametrize("ones", [0.5, 0.3])
@pytest.mark.parametrize("flip", [0.1, 0.2, 0.5])
def test_so_weighted_the_label_does_not_depend_on_the_cell(flip: float, ones: float) -> None:
    features, targets = shortcut(4000, flip, ones)
    weighting = weighted(features, targets)
    weights, cells = weighting(features, targets), cells_of(features, weighting.edges)
    joint = torch.zeros(4, 2, dtype=torch.float64).index_put_((cells, targets), weights, accumulate=True)
    joint /= joint.sum()
    independent = joint.sum(1, keepdim=True) * joint.sum(0)
    assert torch.allclose(joint, independent, atol=0.003)
    assert joint.sum(0)[1] == pytest.approx(float(targets.double().mean()), abs=0.01), "labels are as frequent"
    before = torch.zeros(4, 2).index_put_((cells, targets), torch.ones(4000), accumulate=True) / 4000
    dependence = (before - before.sum(1, keepdim=True) * before.sum(0)).abs().max()
    assert dependence > 0.05 or flip == 0.5


def test_batches_are_drawn_by_weight_and_tell_as_little() -> None:
    features, targets = shortcut(2000, 0.1)
    weighting = weighted(features, targets)
    stream = WeightedStream(weighting(features, targets), 256, seed=0, client="north", purpose="moves")
    rows = torch.cat([stream.batch(number) for number in range(40)])
    agrees = ((features[rows, 0] > 0.5).long() == targets[rows]).double().mean()
    assert float(agrees) == pytest.approx(0.5, abs=0.03), "90% before"
    assert torch.equal(stream.batch(7), stream.batch(7))
    assert 0.3 < effective_share(stream.weights) < 0.42, "about 4 x 0.1 x 0.9"


def test_weights_are_capped() -> None:
    """A label that a cell never has would weigh 51 times as much."""
    features, targets = torch.tensor([[0.0]] * 100 + [[1.0]] * 100), torch.tensor([0] * 100 + [1] * 100)
    weighting = weighted(features, targets)
    assert float(weighting.table.max()) == LARGEST_WEIGHT
    assert weighting(torch.zeros(1, 1), torch.tensor([1])).item() == LARGEST_WEIGHT
    assert weighting(features, targets)[0].item() == pytest.approx(0.5 / (101 / 102))


def test_samples_that_were_held_back_are_weighted_by_the_table_of_the_others() -> None:
    features, targets = shortcut(1000, 0.1)
    others, their_targets = shortcut(500, 0.1, seed=1)
    weighting = weighted(features, targets)
    rows, wanted = cells_of(others, weighting.edges), weighting(others, their_targets)
    assert torch.equal(wanted, weighting.table[rows, their_targets])
    assert weighting(others[:3], their_targets[:3]).tolist() == wanted[:3].tolist(), "one by one as all together"


def test_few_samples_have_few_cells() -> None:
    for samples, cells in ((399, 2), (400, 4)):
        features = torch.arange(float(samples))[:, None]
        found = cells_of(features, edges_along(features))
        assert found.bincount().tolist() == pytest.approx([samples / cells] * cells, abs=1)


@pytest.mark.parametrize("samples", [200, 1000])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.45, 0.55, 0.7, 0.9])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_column_of_zeros_and_ones_has_a_cell_for_either(sign: float, share: float, samples: int) -> None:
    """However frequent ones are, and whichever way u points: in one cell alone nothing would be weighted."""
    features = (torch.arange(samples) < share * samples).float()[:, None]
    found = cells_of(sign * features, edges_along(sign * features))
    zeros, ones = set(found[features[:, 0] == 0].tolist()), set(found[features[:, 0] == 1].tolist())
    assert (len(zeros), len(ones)) == (1, 1)
    assert zeros != ones


@pytest.mark.parametrize("ones", [0.2, 0.5, 0.8])
def test_a_shortcut_of_zeros_and_ones_is_weighted_away(ones: float) -> None:
    features, targets = shortcut(1000, 0.1, ones)
    marks = (features > 0.5).float()
    for sign in (1.0, -1.0):
        weights = weighted(sign * marks, targets)(sign * marks, targets)
        given = [(weights * targets)[marks[:, 0] == mark].sum() / weights[marks[:, 0] == mark].sum() for mark in (0, 1)]
        assert float(given[0]) == pytest.approx(float(given[1]), abs=0.05), "labels are as frequent with it as without"


def test_with_more_classes_a_cell_is_what_u_speaks_for() -> None:
    u = torch.tensor([[0.1, 0.9, 0.2], [2.0, 1.0, 0.0]])
    assert edges_along(u) is None
    assert cells_of(u, None).tolist() == [1, 0]


# Games, on data as in examples/own_table.py.

Trial = Callable[[int, float, np.random.Generator], ArraySamples]


def trial(patients: int, flip: float, draw: np.random.Generator) -> ArraySamples:
    """Age and dose tell who recovers, with a quarter of mistakes; which ward it was tells more, but not everywhere."""
    age, dose = draw.normal(size=(2, patients))
    recovers = (dose - age > 0) ^ (draw.random(patients) < 0.25)
    ward = recovers ^ (draw.random(patients) < flip)
    columns = np.stack([age, dose, ward + 0.1 * draw.normal(size=patients)], axis=1)
    return ArraySamples(torch.from_numpy(columns).float(), torch.from_numpy(recovers.astype(np.int64)))


def trial_of_three(patients: int, flip: float, draw: np.random.Generator) -> ArraySamples:
    """Three outcomes in three directions, and three columns that name the outcome, or else another one."""
    outcome = draw.integers(0, 3, patients)
    angle = 2 * math.pi * outcome / 3
    core = np.stack([np.cos(angle), np.sin(angle)], axis=1) + 1.3 * draw.normal(size=(patients, 2))
    said = np.where(draw.random(patients) < flip, (outcome + draw.integers(1, 3, patients)) % 3, outcome)
    columns = np.concatenate([core, np.eye(3)[said]], axis=1)
    return ArraySamples(torch.from_numpy(columns).float(), torch.from_numpy(outcome))


WARD = 2


class Spying(LocalFederation):
    """Keeps every question and every answer."""

    def __init__(self, clients: Mapping[str, Any]) -> None:
        super().__init__(clients)
        self.heard: list[tuple[str, Ask, Answer]] = []

    def ask(self, asks: Mapping[str, Ask], timeout: float | None = None) -> Answers:
        answers = super().ask(asks, timeout)
        self.heard += [(name, ask, answers.answered[name]) for name, ask in asks.items()]
        return answers

    def site(self, name: str) -> FLGamesClient:
        client: FLGamesClient = self._clients[name]  # type: ignore[assignment]
        return client


class Table:
    """A game of linear players on such data, and a site that nobody has seen."""

    def __init__(self, settle: str, flips: tuple[float, ...], unseen: float = 0.9, seed: int = 0, **more: Any) -> None:
        make: Trial = more.pop("make", trial)
        patients = more.pop("patients", 2000)
        self.early, self.rounds = more.pop("early", 200), more.pop("rounds", 600)
        draw = np.random.default_rng(seed)
        *sites, self.unseen = (make(patients, flip, draw) for flip in (*flips, unseen))
        self.clients: dict[str, Samples] = dict(zip("abcde", sites, strict=False))
        columns, classes = self.unseen.inputs.shape[1], int(self.unseen.targets.max()) + 1
        predictor = more.pop("predictor", lambda: linear_predictor(columns, classes))
        knobs: dict[str, Any] = {"memory": 5, "learning_rate": 0.01, "settle": settle} | more
        self.architecture, self.config, self.seed = Architecture(predictor), FLGamesConfig(**knobs), seed

    def new(self) -> Play:
        method = Game(self.architecture, self.config)
        federation = Spying.of(method, self.clients, self.seed, validation=0.2)
        rule = EarlyRound(early=self.early)
        return Play(method, federation, seed=self.seed, rounds=self.rounds, rule=rule)

    def started(self) -> Play:
        play = self.new()
        play.start()
        return play

    def played(self) -> tuple[Play, Records]:
        play, records = self.started(), Records()
        play.run([records])
        return play, records

    def elsewhere(self, play: Play) -> float:
        """Accuracy of the model that is returned, at the unseen site."""
        with torch.inference_mode():
            return float((play.chosen()(self.unseen.inputs).argmax(1) == self.unseen.targets).double().mean())


def finding(play: Play) -> Finding:
    found = play.method.finding()
    assert found is not None
    return found


def spying(play: Play) -> Spying:
    assert isinstance(play.federation, Spying)
    return play.federation


def test_a_planted_shortcut_is_found_and_settled() -> None:
    table = Table("auto", (0.2, 0.1))
    play, records = table.played()
    found = finding(play)
    assert [each.column for each in found.contested] == [WARD]
    assert found.settled
    assert found.reliance is not None
    assert found.reliance > 0.6
    assert found.effective == pytest.approx({"a": 4 * 0.2 * 0.8, "b": 4 * 0.1 * 0.9}, abs=0.05), "of what they have"
    assert table.elsewhere(play) >= 0.6
    result = play.result(records.heard)
    assert result.finding == found
    assert all(each.n == 400 for each in result.held_back.values()), "people hear of what is there"


def test_the_rule_counts_where_what_is_contested_tells_nothing() -> None:
    play = Table("auto", (0.2, 0.1)).started()
    for name, before in {"a": 0.8, "b": 0.9}.items():
        for cache, expected in ((spying(play).site(name).judged, before), (spying(play).site(name).counted, 0.5)):
            inputs, targets = cache.features.samples.batch(torch.arange(400))
            agrees = ((inputs[:, WARD] > 0.5).long() == targets).double().mean()
            assert float(agrees) == pytest.approx(expected, abs=0.1)
    assert play.server.measure(10_000).samples == 800


def test_without_settling_the_game_ends_at_the_shortcut() -> None:
    table = Table("never", (0.2, 0.1))
    play, records = table.played()
    assert play.method.finding() is None
    assert play.result(records.heard).finding is None
    assert table.elsewhere(play) < 0.4


@pytest.mark.parametrize("seed", [100, 101, 102])
@pytest.mark.parametrize("flips", [(0.5, 0.5), (0.1, 0.1)], ids=["no shortcut", "equal shortcuts"])
def test_where_clients_do_not_differ_nothing_is_settled(flips: tuple[float, ...], seed: int) -> None:
    play = Table("auto", flips, seed=seed).started()
    assert finding(play).contested == ()
    assert not finding(play).settled
    assert finding(play).effective == {}
    assert "weigh" not in {ask.task for _, ask, _ in spying(play).heard}


def trial_of_marks(patients: int, flip: float, draw: np.random.Generator) -> ArraySamples:
    """The same with wards of 0 and 1."""
    plain = trial(patients, flip, draw)
    plain.inputs[:, WARD] = (plain.inputs[:, WARD] > 0.5).float()
    return plain


@pytest.mark.parametrize("patients", [300, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_a_ward_of_zeros_and_ones_is_settled_at_every_client(seed: int, patients: int) -> None:
    """With flips of 0.2 and 0.05 two thirds and a fifth of the samples are left; all of them would be no weights."""
    found = finding(Table("always", (0.2, 0.05), seed=seed, patients=patients, make=trial_of_marks).started())
    assert found.settled
    assert 0.2 < found.effective["a"] < 0.9
    assert found.effective["b"] == pytest.approx(4 * 0.05 * 0.95, abs=0.15)


@pytest.mark.parametrize("seed", [100, 101, 102])
def test_where_clients_differ_it_is_settled_whatever_the_seed(seed: int) -> None:
    found = finding(Table("auto", (0.2, 0.1), seed=seed).started())
    assert ([each.column for each in found.contested], found.settled) == ([WARD], True)


def test_a_game_that_is_not_settled_is_the_game_that_never_looked() -> None:
    """To look costs messages before the first round, and changes nothing that is learnt."""
    ends = []
    for settle in ("auto", "never"):
        play, records = Table(settle, (0.1, 0.1), rounds=20, patients=400).played()
        ends.append((flat(play.server), [record.accuracy for record in records.heard]))
        assert {ask.arguments.get("sign", 0) for _, ask, _ in spying(play).heard} == {0}
    (one, its), (other, theirs) = ends
    assert torch.equal(one, other)
    assert its == theirs


def test_what_they_differ_about_is_kept_where_little_depends_on_it() -> None:
    """Wards of 0.4 and 0.2 are told apart, but half of what heads say is age and dose; it can be asked for."""
    auto, always = (finding(Table(settle, (0.4, 0.2)).started()) for settle in ("auto", "always"))
    assert [each.column for each in auto.contested] == [WARD]
    assert auto.reliance == pytest.approx(0.5, abs=0.05)
    assert (auto.settled, always.settled) == (False, True)
    assert always.effective == pytest.approx({"a": 4 * 0.4 * 0.6, "b": 4 * 0.2 * 0.8}, abs=0.05)


def test_nothing_is_settled_where_there_is_no_direction_even_if_it_is_asked_for() -> None:
    none = finding(Table("always", (0.1, 0.1), seed=100).started())
    assert (none.contested, none.settled) == ((), False)


def test_three_classes() -> None:
    sites: dict[str, Any] = {"make": trial_of_three, "patients": 1500, "unseen": 1.0, "early": 60, "rounds": 400}
    settled, plain = (Table(settle, (0.25, 0.05), **sites) for settle in ("auto", "never"))
    play, _ = settled.played()
    assert {each.column for each in finding(play).contested} == {2, 3, 4}, "the columns that name the outcome"
    assert finding(play).settled
    assert settled.elsewhere(play) > 0.45, "by the other columns; a guess has 33%"
    assert plain.elsewhere(plain.played()[0]) < 0.3


def test_with_three_classes_u_speaks_for_the_label() -> None:
    """The sign is the one by which u names the label more often than not."""
    sites: dict[str, Any] = {"make": trial_of_three, "patients": 1500}
    play = Table("auto", (0.25, 0.05), **sites).started()
    for name in ("a", "b"):
        site = spying(play).site(name)
        direction = site.sign * site.known.buffers[CONTESTED].current.weights["direction"]
        features, targets = site.site.samples.batch(torch.arange(len(site.site.samples)))
        assert float((cells_of(features.double() @ direction.T, None) == targets).double().mean()) > 0.6


# What crosses.


def numbers_in(answer: Answer) -> int:
    return sum(tensor.numel() for tensor in answer.tensors.values()) + len(answer.numbers)


def test_weights_of_samples_never_leave_a_client() -> None:
    table = Table("auto", (0.3, 0.2, 0.05), patients=600, rounds=8)
    play, records = table.played()
    play.result(records.heard)
    assert finding(play).settled
    heard = spying(play).heard
    assert {ask.task for _, ask, _ in heard} == {
        "introduce", "head", "rely", "weigh", "respond", "count", "warm", "judge",
    }  # fmt: skip
    for name, ask, answer in heard:
        site = spying(play).site(name).site
        fewest = min(len(site.samples), len(site.held_back or site.samples))
        assert fewest == 120
        assert numbers_in(answer) < fewest, f"{ask.task} answers with less than a number a sample"
    weighed = [answer for _, ask, answer in heard if ask.task == "weigh"]
    assert all((answer.tensors, set(answer.numbers)) == ({}, {"effective", "judged"}) for answer in weighed)


@pytest.mark.parametrize("schedule", ["simultaneous", "clockwise"])
def test_no_client_is_told_another_ones_effects_or_action(schedule: str) -> None:
    table = Table(
        "auto", (0.3, 0.2, 0.05), patients=600, rounds=6, schedule=schedule, predictor=lambda: nn.Linear(3, 2)
    )
    play, records = table.played()
    play.result(records.heard)
    heard = spying(play).heard
    private: dict[str, list[Tensor]] = {name: [] for name in play.server.clients}
    for name, ask, answer in heard:
        if ask.task in ("head", "respond"):
            private[name] += [tensor.double().flatten() for tensor in answer.tensors.values()]
    assert all(len(own) > 3 for own in private.values())
    for name, ask, _ in heard:
        assert {action.author for action in ask.news} <= {name, MODEL, HISTORY, CONTESTED}
        told = [tensor.double().flatten() for action in ask.news for tensor in action.weights.values()]
        others = [tensor for other, own in private.items() if other != name for tensor in own]
        assert not any(torch.equal(one, other) for one in told for other in others if len(one) == len(other))
    contested = [action for _, ask, _ in heard for action in ask.news if action.author == CONTESTED]
    assert {frozenset(action.weights) for action in contested} == {frozenset({"direction", "mean"})}
    assert len(contested) == 3, "once to everybody"


# State.


@pytest.mark.parametrize("knobs", [{}, {"participation": 0.5}, {"schedule": "clockwise"}], ids=str)
@pytest.mark.parametrize("stop", [0, 5])
def test_a_settled_game_goes_on_bit_for_bit(stop: int, knobs: dict[str, Any]) -> None:
    table = Table("auto", (0.3, 0.2, 0.05), patients=450, rounds=12, **knobs)
    whole, lines = table.played()
    first, second, again = table.started(), table.new(), Records()
    first.run([again], interrupted=lambda: first.next_round == stop)
    second.load_state_dict(first.state_dict())
    second.run([again])
    assert finding(second) == finding(whole)
    assert finding(second).settled
    assert torch.equal(flat(second.server), flat(whole.server))
    ends = [[record.model_copy(update={"seconds": 0.0}) for record in records.heard] for records in (lines, again)]
    assert ends[0] == ends[1], "rounds, losses, weighted counts and bytes"
    results = [
        play.result(records.heard).model_copy(update={"seconds": 0.0})
        for play, records in ((whole, lines), (second, again))
    ]
    assert results[0] == results[1]


def test_a_client_that_was_replaced_settles_when_it_is_asked_to_move() -> None:
    """A new process has no state: it is told u again, and the sign with every move."""
    table = Table("auto", (0.3, 0.05), patients=450)
    play = table.started()
    federation = spying(play)
    old, method = federation.site("a"), play.method
    assert isinstance(method, Game)
    new = method.client(old.site)
    federation._clients["a"] = new
    play.server.mark_failed({"a": "started anew"})
    method.round(play.server, 0, 0)
    assert new.sign == old.sign != 0
    assert isinstance(new.batches, WeightedStream)
    assert isinstance(old.batches, WeightedStream)
    assert torch.equal(new.batches.batch(3), old.batches.batch(3))
    assert torch.equal(new.counted.targets(1), old.counted.targets(1))


def test_a_state_without_weights_takes_them_back() -> None:
    """Loaded into clients that had settled, a game that is not settled draws and counts as it always did."""
    settled, plain = (Table("auto", flips, patients=450, rounds=6) for flips in ((0.3, 0.05), (0.1, 0.1)))
    state = plain.started()
    assert not finding(state).settled
    client = spying(settled.started()).site("a")
    assert isinstance(client.batches, WeightedStream)
    client.load_state_dict(spying(state).site("a").state_dict())
    assert client.sign == 0
    assert not isinstance(client.batches, WeightedStream)
    assert client.counted is client.judged


# Who can't.


def test_settling_is_for_linear_players_on_what_stands_still() -> None:
    for config in (FLGamesConfig(settle="auto"), FLGamesConfig(settle="always")):
        with pytest.raises(ValueError, match="settling is for linear players on a fixed representation"):
            Game(perceptrons(), config)
    learnt = Architecture(lambda: nn.Linear(5, 2), lambda: nn.Linear(6, 5))
    with pytest.raises(ValueError, match="on a fixed representation"):
        Game(learnt, FLGamesConfig(settle="auto", representation="variable"))
    apart = Architecture(lambda: nn.Linear(6, 2), linear=False)
    with pytest.raises(ValueError, match="settling is for linear players"):
        Game(apart, FLGamesConfig(settle="auto"))
    assert Game(perceptrons(), FLGamesConfig()).finding() is None


def test_full_batches_have_no_weights_and_can_not_settle() -> None:
    """Every sample is in every step, so that a game would say that it is settled and not be."""
    with pytest.raises(ValueError, match="full"):
        Game(Architecture(lambda: nn.Linear(6, 2)), FLGamesConfig(settle="always", full_batch=True))


def test_linear_players_on_a_fixed_representation_settle_on_what_it_shows() -> None:
    """u lies in what phi makes of the samples: three columns that are turned and shifted."""
    turned = torch.linalg.qr(torch.randn(3, 3, generator=torch.Generator().manual_seed(0)))[0]

    def phi() -> nn.Module:
        layer = nn.Linear(3, 3)
        layer.weight.data.copy_(turned)
        return layer

    table = Table("auto", (0.2, 0.1))
    table.architecture = Architecture(lambda: linear_predictor(3, 2), phi)
    found = finding(table.started())
    assert found.settled
    assert len(found.contested) > 1, "the ward is in every column now"

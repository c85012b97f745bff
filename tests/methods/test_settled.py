"""Settled games: u by hand, clients that differ and those that don't, weights that stay at home, training that equals
FedAvg where nothing is weighted."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import chi2
from torch import Tensor

from flgames.core.local import LocalFederation
from flgames.core.loop import Play
from flgames.core.messages import CONTESTED, MODEL, Answers, Ask
from flgames.core.records import Finding
from flgames.core.stopping.early_round import EarlyRound
from flgames.data.samples import ArraySamples, BatchStream, Samples, WeightedStream, effective_share
from flgames.methods.fedavg import FedAvg, FedAvgConfig
from flgames.methods.fedsgd import FedSGD, FedSGDConfig
from flgames.methods.settled.client import SettledClient
from flgames.methods.settled.config import SettledConfig
from flgames.methods.settled.disagreement import (
    along,
    apart,
    centred,
    difference,
    difference_of_classes,
    furthest,
    interaction,
    most_telling,
    tail,
)
from flgames.methods.settled.server import Settled
from flgames.models.ensemble import PHI
from tests.toys import Records, flat, perceptrons, random_clients

# u.


def test_what_players_disagree_about_by_hand() -> None:
    """Two players that say (a + b, -a - b) and (a - b, b - a): they agree on a, and b is what drives them apart."""
    a, b = torch.tensor([1.0, 5.0, -2.0]), torch.tensor([1.0, -1.0, 3.0])
    logits = torch.stack([torch.stack([a + b, -a - b], 1), torch.stack([a - b, b - a], 1)], 1)
    matrix = apart(centred(logits))
    assert matrix.tolist() == [[22.0, -22.0], [-22.0, 22.0]], "2 (1 + 1 + 9), whatever a is"
    direction = furthest(matrix)
    u = along(logits, direction)
    assert u.shape == (3, 1)
    ratio = u[:, 0] / b
    assert torch.allclose(ratio, ratio[0].expand(3)), "u is b, and nothing of a"


def test_players_that_lean_most_lead() -> None:
    """Five players with the parts 3, 1, 0, -1, -3 of b: so is the direction, up to its length."""
    parts, b = torch.tensor([3.0, 1.0, 0.0, -1.0, -3.0]), torch.randn(50, generator=torch.Generator().manual_seed(0))
    logits = torch.einsum("k,n->nk", parts, b)[:, :, None] * torch.tensor([-1.0, 1.0])
    assert torch.allclose(furthest(apart(logits)), parts / parts.norm(), atol=1e-5)


def test_only_differences_between_classes_count() -> None:
    logits = torch.randn(9, 2, 3)
    shifted = logits + torch.randn(9, 2, 1)
    assert torch.allclose(apart(centred(logits)), apart(centred(shifted)), atol=1e-4)


def test_with_more_classes_u_has_a_number_for_each() -> None:
    assert along(torch.randn(4, 2, 5), torch.tensor([0.7, -0.7])).shape == (4, 5)


# Whether clients differ.


def counts(*flips: float, samples: float = 1000.0, ones: float = 0.5) -> Tensor:
    """A client's cells 0 and 1, which are the label but for a share of samples."""
    return torch.tensor(
        [
            [[samples * (1 - ones) * (1 - flip), samples * ones * flip],
             [samples * (1 - ones) * flip, samples * ones * (1 - flip)]]
            for flip in flips
        ],
        dtype=torch.float64,
    )  # fmt: skip


def test_clients_that_are_told_the_same_don_t_differ() -> None:
    assert interaction(counts(0.1, 0.1)) == pytest.approx(0, abs=1e-8)
    mixed = torch.cat([counts(0.1), counts(0.1, samples=300, ones=0.2)])
    assert interaction(mixed) == pytest.approx(0, abs=1e-6), "labels and sizes may differ, not what a cell tells"


def test_clients_that_differ_are_found_and_by_as_much_as_log_odds_say() -> None:
    """Woolf's test of two odds ratios is nearly the same: (log OR_1 - log OR_2)^2 / sum of 1 / counts."""
    table = counts(0.2, 0.1)
    log_odds = (table[:, 0, 0] * table[:, 1, 1] / table[:, 0, 1] / table[:, 1, 0]).log()
    woolf = float((log_odds[0] - log_odds[1]) ** 2 / (1 / table).sum())
    assert interaction(table) == pytest.approx(woolf, rel=0.1)
    assert tail(woolf, 1) == pytest.approx(chi2.sf(woolf, 1))


def binned(samples: int, flips: tuple[float, ...], bins: int = 20, seed: int = 0) -> Tensor:
    """u is a shortcut in its sign and noise in its size."""
    draw = np.random.default_rng(seed)
    found = np.zeros((len(flips), bins, 2))
    for client, flip in enumerate(flips):
        labels = draw.integers(0, 2, samples)
        signs = labels ^ (draw.random(samples) < flip)
        places = np.where(signs == 1, draw.integers(bins // 2, bins, samples), draw.integers(0, bins // 2, samples))
        np.add.at(found[client], (places, labels), 1)
    return torch.from_numpy(found)


def test_u_is_cut_where_clients_differ_and_nowhere_else() -> None:
    found = difference(binned(3000, (0.2, 0.1)))
    assert found.cuts == (10,), "size tells nothing, so that one cut says all"
    assert found.is_sure
    assert found.freedom == 1


@pytest.mark.parametrize("flips", [(0.1, 0.1), (0.5, 0.5), (0.2, 0.2, 0.2)])
def test_equal_shortcuts_and_none_give_no_reason(flips: tuple[float, ...]) -> None:
    """Whether one cut is tested on samples that did not choose it, or all cuts are on those that did."""
    for back in (True, False):
        found = [
            difference(binned(1000, flips, seed=seed), binned(300, flips, seed=1000 + seed) if back else None)
            for seed in range(60)
        ]
        assert sum(each.is_sure for each in found) <= 3, "chance alone does this in one or two of a hundred"
        assert all(bool(each.cuts) == each.is_sure for each in found)


def test_where_training_samples_differ_by_heart_held_back_ones_decide() -> None:
    """Players know their own samples: there u tells different things where it tells nothing elsewhere."""
    by_heart = binned(3000, (0.2, 0.1))
    assert difference(by_heart).is_sure
    assert not difference(by_heart, binned(1000, (0.5, 0.5))).is_sure
    assert difference(by_heart, binned(1000, (0.2, 0.1))).cuts == (10,)


def test_one_client_that_holds_something_back_is_no_reason() -> None:
    assert difference(binned(3000, (0.2, 0.1)), binned(500, (0.2,))).p == 1.0


def test_few_samples_are_no_reason() -> None:
    assert not difference(binned(40, (0.2, 0.1))).is_sure


def test_who_weights_in_any_case_cuts_where_most_is_told() -> None:
    assert most_telling(binned(1000, (0.1, 0.1))) == 10


def test_more_classes_are_compared_by_the_class_that_u_speaks_for() -> None:
    def spoken(*flips: float) -> Tensor:
        rows = [torch.full((3, 3), flip / 2) + torch.eye(3) * (1 - 1.5 * flip) for flip in flips]
        return 600 * torch.stack(rows).double()

    assert difference_of_classes(spoken(0.3, 0.1)).is_sure
    assert not difference_of_classes(spoken(0.2, 0.2)).is_sure
    assert difference_of_classes(spoken(0.3, 0.1)).freedom == 4
    sparse = spoken(0.3, 0.1) * (torch.eye(3) + torch.eye(3).roll(1, 1))
    assert difference_of_classes(sparse).freedom == 1, "of three codes, each with two labels, one ratio is left"


# Weighted epochs.


def test_even_weights_are_the_plain_stream_bit_for_bit() -> None:
    plain = BatchStream(100, 32, seed=3, client="a", purpose="moves")
    even = plain.weighted(torch.full((100,), 7.0))
    assert all(torch.equal(even.batch(number), plain.batch(number)) for number in range(12))


def test_an_epoch_has_each_sample_as_often_as_its_weight_says() -> None:
    weights = torch.tensor([0.0, 2.0, 0.5, 0.5, 2.0, 1.0, 1.0, 1.0])
    stream = BatchStream(8, 8, seed=0, client="a", purpose="moves").weighted(weights)
    epochs = torch.stack([stream.batch(number).bincount(minlength=8) for number in range(200)])
    assert ((epochs - weights).abs() < 1).all(), "up to rounding"
    assert epochs.double().mean(0).tolist() == pytest.approx(weights.tolist(), abs=0.12), "which is drawn anew"
    assert effective_share(weights) == pytest.approx(64 / 11.5 / 8)


# Games. A shortcut that differs between clients, beside a truth with a quarter of mistakes.


def site(samples: int, flip: float, seed: int, classes: int = 2, noise: float = 0.25) -> ArraySamples:
    draw = np.random.default_rng(seed)
    truth = draw.integers(0, classes, samples)
    labels = np.where(draw.random(samples) < noise, (truth + 1) % classes, truth)
    codes = np.where(draw.random(samples) < flip, (labels + 1) % classes, labels)
    if classes == 2:
        columns = np.stack([2.0 * codes - 1, 2.0 * truth - 1, draw.normal(size=samples)], 1)
    else:
        columns = np.concatenate([2 * np.eye(classes)[codes], np.eye(classes)[truth]], 1)
    columns = columns + 0.1 * draw.normal(size=columns.shape)
    return ArraySamples(torch.from_numpy(columns).float(), torch.from_numpy(labels).long())


def sites(*flips: float, samples: int = 1500, classes: int = 2, noise: float = 0.25) -> dict[str, Samples]:
    return {"abcdef"[seed]: site(samples, flip, seed, classes, noise) for seed, flip in enumerate(flips)}


class Heard(LocalFederation):
    """Remembers what was asked and answered."""

    def ask(self, asks: Mapping[str, Ask], timeout: float | None = None) -> Answers:
        answers = super().ask(asks, timeout)
        self.log = [*getattr(self, "log", []), *((ask, answers.answered[name]) for name, ask in asks.items())]
        return answers

    def client(self, name: str) -> SettledClient:
        client = self._clients[name]
        assert isinstance(client, SettledClient)
        return client


GAME = 60


def settled(clients: dict[str, Samples], training: int = 4, validation: float = 0.2, **knobs: Any) -> Play:
    """A game of 60 rounds, and then so many of training."""
    inputs, targets = next(iter(clients.values())).batch(torch.arange(200))
    classes = int(targets.max()) + 1
    values: dict[str, Any] = {"settle_after": GAME, "learning_rate": 1e-2, "batch_size": 64} | knobs
    config = SettledConfig(**values)
    method = Settled(perceptrons(inputs.shape[1], 16, classes), config)
    federation = Heard.of(method, clients, seed=0, validation=validation)
    rounds, rule = config.settle_after + training, EarlyRound(early=50) if validation else None
    return Play(method, federation, seed=0, rounds=rounds, rule=rule)


def heard(play: Play) -> Heard:
    assert isinstance(play.federation, Heard)
    return play.federation


def played(play: Play) -> Play:
    play.start()
    play.run()
    return play


def found(play: Play) -> Finding:
    finding = play.method.finding()
    assert finding is not None
    return finding


def accuracy(play: Play, samples: Samples) -> float:
    inputs, targets = samples.batch(torch.arange(len(samples)))
    with torch.no_grad():
        return float((play.chosen()(inputs).argmax(1) == targets).double().mean())


def test_a_shortcut_is_found_weighted_away_and_not_learnt() -> None:
    play = played(settled(sites(0.2, 0.05), training=40))
    finding = found(play)
    assert finding.settled
    assert finding.told == pytest.approx({"a": 0.8, "b": 0.95}, abs=0.04)
    assert finding.left == pytest.approx({"a": 0.5, "b": 0.5}, abs=0.2), "300 samples, few of which count much"
    assert finding.effective == pytest.approx({"a": 4 * 0.2 * 0.8, "b": 4 * 0.05 * 0.95}, abs=0.12)
    assert accuracy(play, site(3000, 0.9, 9)) > 0.65, "75% is possible, and the shortcut has 10%"
    assert play.server.effective == finding.judged, "a standard error knows how many samples are left"


def test_a_truth_that_is_stronger_than_the_shortcut_is_kept() -> None:
    """Players agree on the truth, so that it is not in u, whether samples are weighted or not."""
    elsewhere = site(3000, 0.9, 9, noise=0.02)
    for settle in ("auto", "always"):
        play = played(settled(sites(0.3, 0.2, noise=0.02), training=40, settle=settle))
        assert accuracy(play, elsewhere) > 0.95, "98% is possible"


@pytest.mark.parametrize("flips", [(0.1, 0.1), (0.5, 0.5)])
def test_where_clients_don_t_differ_it_is_fedavg_bit_for_bit(flips: tuple[float, float]) -> None:
    """Equal shortcuts, and none: nothing is weighted, and weights of 1 are plain federated averaging."""
    data = sites(*flips)
    play = played(settled(data))
    assert not found(play).settled
    plain = FedAvg(perceptrons(3, 16), FedAvgConfig(batch_size=64, learning_rate=1e-3))
    beside = played(Play(plain, LocalFederation.of(plain, data, 0, validation=0.2), seed=0, rounds=4))
    assert torch.equal(flat(play.server), flat(beside.server))


def test_by_fedsgd_too() -> None:
    data = sites(0.5, 0.5)
    play = played(settled(data, train_by="fedsgd"))
    plain = FedSGD(perceptrons(3, 16), FedSGDConfig(batch_size=64, learning_rate=1e-3))
    beside = played(Play(plain, LocalFederation.of(plain, data, 0, validation=0.2), seed=0, rounds=4))
    assert torch.equal(flat(play.server), flat(beside.server))
    assert accuracy(played(settled(sites(0.2, 0.05), 250, train_by="fedsgd")), site(3000, 0.9, 9)) > 0.6


def test_always_weights_equal_shortcuts_too_and_never_weights_nothing() -> None:
    play = played(settled(sites(0.1, 0.1), settle="always"))
    assert found(play).settled
    assert max(found(play).left.values()) < 0.6
    assert not found(played(settled(sites(0.2, 0.05), settle="never"))).settled


def test_weights_never_leave() -> None:
    play = played(settled(sites(0.2, 0.05)))
    for ask, answer in heard(play).log:
        sizes = {tensor.numel() for tensor in answer.tensors.values()}
        samples = {1500, 1200, 300}  # all, those that are trained on, those that are held back
        assert not sizes & samples, f"{ask.task} tells nothing of every sample"
    tasks = [ask.task for ask, _ in heard(play).log]
    assert {"disagree", "place", "tabulate", "weigh"} <= set(tasks)
    (answer, *_) = [answer for ask, answer in heard(play).log if ask.task == "disagree"]
    assert answer.tensors["apart"].shape == (2, 2), "N x N numbers"


def test_held_back_samples_have_no_part_in_game_or_weights() -> None:
    """Other labels on them change what is counted, not what is learnt before the rule looks."""
    data = sites(0.2, 0.05)
    one = settled(data)
    changed = copy.deepcopy(data)
    for client in heard(one)._clients.values():
        back = client.site.held_back
        own = changed[client.site.name]
        assert isinstance(own, ArraySamples)
        own.targets[back.rows] = 1 - own.targets[back.rows]  # type: ignore[union-attr]
    two = settled(changed)
    for play in (one, two):
        play.start()
        for round_ in range(GAME):
            play.method.round(play.server, round_, 0)
    assert torch.equal(flat(one.server), flat(two.server)), "the game"
    clients = [heard(play).client("a") for play in (one, two)]
    for play in (one, two):
        play.method.round(play.server, GAME, 0)
    told = [play.server.known.buffers[CONTESTED].current.weights["direction"] for play in (one, two)]
    assert torch.equal(*told), "and u"
    assert clients[0].trainer.weights.shape == (1200,)


@pytest.mark.parametrize("flips", [(0.3, 0.2, 0.05), (0.3, 0.25, 0.2, 0.1, 0.05)])
def test_any_number_of_clients(flips: tuple[float, ...]) -> None:
    play = played(settled(sites(*flips), training=40))
    assert found(play).settled
    assert len(found(play).players) == len(flips)
    assert accuracy(play, site(3000, 0.9, 9)) > 0.6


def test_five_classes() -> None:
    play = played(settled(sites(0.3, 0.05, samples=3000, classes=5), settle_after=30))
    assert found(play).settled
    told, left = found(play).told, found(play).left
    assert told["b"] > told["a"] > 0.5, "one in five by chance"
    assert max(left.values()) < 0.5 < min(told.values())


def test_the_control_finds_by_local_models() -> None:
    play = played(settled(sites(0.2, 0.05), found_by="local"))
    game = played(settled(sites(0.2, 0.05)))
    evidence = [each.method.evidence(each.server)["player/a/0.weight"] for each in (play, game)]
    assert not torch.equal(*evidence)
    assert found(play).differs is not None


@pytest.mark.parametrize("stop", [30, GAME, GAME + 1, GAME + 3])
def test_it_goes_on_bit_for_bit(stop: int) -> None:
    """From the game, from its end, from the first round of training, and from a later one."""
    data = sites(0.2, 0.05)
    whole = played(settled(data))
    first = settled(data)
    first.start()
    records = Records()
    first.run([records], interrupted=lambda: first.next_round == stop)
    second = settled(data)
    second.load_state_dict(first.state_dict())
    second.run([records])
    assert torch.equal(flat(second.server), flat(whole.server))
    assert found(second) == found(whole)
    assert second.server.effective == whole.server.effective
    assert [record.kind for record in records.heard] == ["predictors"] * GAME + ["model"] * 4


def test_a_client_that_lost_its_weights_makes_them_again() -> None:
    play = settled(sites(0.2, 0.05))
    play.start()
    play.run(interrupted=lambda: play.next_round == GAME + 2)
    old = heard(play).client("a")
    new = play.method.client(old.site)
    assert isinstance(new, SettledClient)
    heard(play)._clients["a"] = new
    play.server.mark_failed({"a": "started anew"})
    play.method.round(play.server, GAME + 2, 0)
    assert torch.equal(new.trainer.weights, old.trainer.weights)
    assert isinstance(new.trainer.batches, WeightedStream)
    assert torch.equal(new.trainer.counted.targets(1), old.trainer.counted.targets(1))


def test_nothing_is_held_back() -> None:
    play = played(settled(sites(0.2, 0.05), validation=0.0))
    assert found(play).settled
    assert play.server.judged == {"a": 1500, "b": 1500}


def test_histories_are_dropped_when_the_game_is_over() -> None:
    play = played(settled(sites(0.2, 0.05), memory=5))
    kept = {name: len(buffer.played) for name, buffer in play.server.known.players.items()}
    assert kept == {"a": 1, "b": 1}
    assert MODEL in play.server.known.buffers
    evidence = play.method.evidence(play.server)
    assert {name.split("/")[0] for name in evidence} == {"player", "contested"}
    assert PHI not in evidence


def test_players_of_their_own() -> None:
    """A network of another shape than what finds the shortcut."""
    config = SettledConfig(settle_after=4, batch_size=64)
    method = Settled(perceptrons(3, 7), config, perceptrons(3, 16))
    play = Play(method, LocalFederation.of(method, sites(0.2, 0.05), 0), seed=0, rounds=6)
    played(play)
    assert {tensor.shape[0] for tensor in play.chosen().tensors().values()} == {7, 2}
    assert play.method.evidence(play.server)["player/a/0.weight"].shape == (16, 3)


def test_who_can_t() -> None:
    with pytest.raises(ValueError, match="fixed representation"):
        Settled(perceptrons(), SettledConfig(representation="variable"))
    with pytest.raises(ValueError, match="full batches"):
        Settled(perceptrons(), SettledConfig(full_batch=True))


def test_random_labels_give_no_reason() -> None:
    assert not found(played(settled(random_clients(400, 400, inputs=3)))).settled

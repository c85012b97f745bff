"""What a server makes of what its clients send, where one of them lies."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from flgames.core.counts import Counts, TrainingMeasure
from flgames.core.gradients import combine
from flgames.core.robust import merged
from flgames.core.stopping.best_round import BestRound
from tests.engines.matches import a_match, here, played
from tests.toys import flat

SENT = {
    name: {"w": torch.tensor([float(value), -float(value)])} for name, value in zip("abcde", range(1, 6), strict=True)
}
EQUAL = dict.fromkeys("abcde", 0.2)
LIE = SENT | {"e": {"w": torch.tensor([-1e6, 1e6])}}


def test_without_a_choice_it_is_the_mean_bit_for_bit() -> None:
    assert torch.equal(merged(SENT, EQUAL)["w"], combine(SENT, EQUAL)["w"])


@pytest.mark.parametrize("by", ["median", "trimmed"])
def test_a_lie_moves_median_and_trimmed_mean_no_further_than_its_neighbours(by: Any) -> None:
    assert merged(SENT, EQUAL, by)["w"].tolist() == [3.0, -3.0]
    found = merged(LIE, EQUAL, by)["w"]
    assert found.tolist() == [2.0, -2.0]
    assert merged(LIE, EQUAL)["w"][0] < -1e5


def test_a_trimmed_mean_of_two_is_their_mean() -> None:
    two = {name: SENT[name] for name in "ab"}
    assert merged(two, {"a": 0.5, "b": 0.5}, "trimmed")["w"].tolist() == [1.5, -1.5]


def test_clipping_shortens_what_is_too_long_and_leaves_the_rest() -> None:
    around = {"w": torch.tensor([1.0, -1.0])}
    clipped = merged(LIE, EQUAL, clip=1.0, around=around)["w"]
    # The median change is 2 in each coordinate: d moves 2 instead of 3, and e -2 instead of a million.
    assert clipped.tolist() == pytest.approx([(1 + 2 + 3 + 3 - 1) / 5, -(1 + 2 + 3 + 3 - 1) / 5])
    assert torch.equal(merged(SENT, EQUAL, clip=9.0)["w"], combine(SENT, EQUAL)["w"])


def test_counters_are_the_first_client_s() -> None:
    counters = {name: {"n": torch.tensor(place)} for place, name in enumerate("abc")}
    assert merged(counters, EQUAL, "median", clip=1.0)["n"].item() == 0


@pytest.mark.parametrize("name", ["fedavg", "fedprox", "fedbn", "fedgma", "fedsgd", "parallel-v-fl-games-fast"])
@pytest.mark.parametrize("by", ["median", "trimmed"])
def test_every_choice_plays_and_is_named_in_keys(name: str, by: str) -> None:
    prefix = "phi_" if "fl-games" in name else ""
    plain, robust = a_match(name, rounds=3), a_match(name, rounds=3, **{f"{prefix}merged_by": by, f"{prefix}clip": 2.0})
    assert f"{prefix}merged_by" not in str(plain.entry.decides())
    assert f"{prefix}clip" not in str(plain.entry.decides())
    assert plain.key != robust.key
    assert not torch.equal(flat(played(here(plain)).server), flat(played(here(robust)).server))


def test_fedmedian_is_fedavg_merged_by_the_median() -> None:
    one = a_match("fedmedian", rounds=3)
    as_fedavg = {"method": "fedavg", "config": one.entry.config | {"merged_by": "median"}}
    other = one.model_copy(update={"entry": one.entry.model_copy(update=as_fedavg)})
    assert torch.equal(flat(played(here(one)).server), flat(played(here(other)).server))


def measured(*accuracies: float) -> TrainingMeasure:
    """Clients of a hundred samples that are right so often, and wrong on both classes alike."""
    counts = {}
    for name, right in zip("abcdefg", accuracies, strict=False):
        off = round((1 - right) * 50)
        counts[name] = Counts(torch.tensor([[50 - off, off], [off, 50 - off]]), 1.0)
    return TrainingMeasure(counts, dict.fromkeys(counts, 100))


def test_one_liar_can_not_choose_the_best_round() -> None:
    """In the good round it says that nothing is right, in the bad one that everything is."""
    good, bad = measured(0.9, 0.9, 0.88, 0.9, 0.0), measured(0.6, 0.6, 0.58, 0.6, 0.6)
    pooled, robust = BestRound(patience=5), BestRound(patience=5, score_by="median")
    assert pooled.score(good) < pooled.score(bad), "the liar steers"
    assert robust.score(good) > robust.score(bad)
    assert robust.is_unsure(9, TrainingMeasure(good.clients, dict.fromkeys("abcde", 200)), None)
    assert "in the middle" in str(robust)
    assert "score_by" not in pooled.values()

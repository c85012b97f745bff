"""Benchmarks of real sites: which sites train, what all of them look like, and what their keys say."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from flgames.data.benchmarks.benchmark import Benchmark
from flgames.data.benchmarks.catalogue import fars, rand_health
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import benchmark, by_name, sites_by_name
from flgames.data.benchmarks.site_set import SiteSet
from flgames.data.benchmarks.sites import Sites, correlation
from flgames.data.own.records import Unseen
from flgames.data.samples import POOLED, Samples
from flgames.errors import UserError
from flgames.runs.entry import Entry
from flgames.runs.match import Match
from tests.benchmarks import OF_SITES, PLANTED

# Three sites of four samples: a number, a mark of 0 or 1, and the label.
AGE = np.array([1, 3, 5, 7, 11, 13, 15, 17, 100, 100, 100, 100], dtype=np.float32)
MARK = np.array([0, 1, 0, 1, 0, 0, 0, 1, 1, 1, 1, 0], dtype=np.float32)
ILL = np.array([0, 1, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0], dtype=np.uint8)
CLINICS = SiteSet(
    np.stack([AGE, MARK], axis=1), ILL, ("north", "south", "east"), np.repeat([0, 1, 2], 4).astype(np.uint8),
    ("age", "seen=yes"), np.array([1, 1, 2, 2, 3, 4, 4, 4, 5, 5, 5, 5]),
)  # fmt: skip

DECLARED = Sites(
    "clinics", "Clinics", lambda seed: CLINICS, ("north", "south"), ("east",), ("well", "ill"), "table",
    core_columns=("age",),
)  # fmt: skip


def test_all_sites_are_laid_out_by_what_the_training_sites_tell() -> None:
    data = DECLARED.data(0)
    assert (data.title, data.classes, data.input_shape) == ("Clinics", 2, (2,))
    assert data.layout.classes == ("well", "ill")
    assert data.layout.mean == (9.0, 0.0), "of north and south; a mark of 0 and 1 is left as it is"
    assert data.layout.deviation == pytest.approx((np.std(AGE[:8]), 1.0))
    clients = data.training_clients()
    assert list(clients) == ["north", "south"]
    inputs, targets = clients["south"].batch(torch.arange(4))
    assert targets.tolist() == [1, 0, 0, 1]
    assert inputs[:, 1].tolist() == [0, 0, 0, 1]
    assert inputs[:, 0].tolist() == pytest.approx(((AGE[4:8] - 9) / np.std(AGE[:8])).tolist())
    assert clients["north"].groups is not None
    assert clients["north"].groups.tolist() == [1, 1, 2, 2]


def test_an_unseen_site_is_nothing_to_learn_from() -> None:
    (east,) = DECLARED.data(0).unseen_clients()
    assert isinstance(east, Unseen)
    assert not isinstance(east, Samples)
    ((inputs, targets),) = east.chunks(10)
    assert targets.tolist() == [1, 0, 1, 0]
    assert inputs[0, 0] > 10, "it is far from what the training sites know"


def test_pooled_samples_are_those_of_all_training_sites() -> None:
    ((name, pooled),) = dataclasses.replace(DECLARED, pooled=True).data(0).training_clients().items()
    assert name == POOLED
    assert len(pooled) == 8
    assert pooled.groups is not None
    whose = pooled.groups.tolist()
    assert [whose.count(person) for person in whose] == [2, 2, 2, 2, 1, 3, 3, 3], "people stay apart"


def test_core_columns_are_found_by_what_stands_before_the_equals_sign() -> None:
    assert DECLARED.core().data(0).layout.columns == ("age",)
    assert "core columns only" in DECLARED.core().title
    marks = dataclasses.replace(DECLARED, core_columns=("seen",))
    assert marks.core().data(0).layout.columns == ("seen=yes",)
    for name in ("rand-health", "digits-across-sources"):
        with pytest.raises(UserError, match="has no core columns"):
            sites_by_name(name).core()


def test_a_declaration_is_checked() -> None:
    with pytest.raises(UserError, match="needs two training sites at least, and has 1"):
        dataclasses.replace(DECLARED, players=("north",))
    with pytest.raises(UserError, match="north can't train and be unseen"):
        dataclasses.replace(DECLARED, unseen=("north",))
    with pytest.raises(UserError, match="Unknown site 'west'"):
        dataclasses.replace(DECLARED, unseen=("west",)).data(0).unseen_clients()
    with pytest.raises(UserError, match="give one of each a sample"):
        dataclasses.replace(CLINICS, labels=ILL[1:])


def test_records_survive_a_file(tmp_path: Path) -> None:
    CLINICS.save(tmp_path / "clinics.npz")
    read = SiteSet.load(tmp_path / "clinics.npz")
    assert read.sha256() == CLINICS.sha256()
    assert (read.sites, read.columns) == (CLINICS.sites, CLINICS.columns)
    other = dataclasses.replace(CLINICS, columns=("age", "seen=no"))
    assert other.sha256() != CLINICS.sha256()


def test_correlation_by_hand() -> None:
    assert correlation(CLINICS, "north", "seen=yes") == pytest.approx(1.0)
    assert correlation(CLINICS, "east", "age") == 0.0, "the same for all"


USUAL = {
    "fars": ("California", "Texas", "Florida"),
    "rand-health": ("site-1", "site-2", "site-3", "site-4", "site-5"),
    "digits-across-sources": ("mnist", "usps", "optdigits"),
}


def test_who_trains_by_default_and_who_is_unseen() -> None:
    assert set(OF_SITES) == set(USUAL)
    for name, players in USUAL.items():
        source = sites_by_name(name)
        assert source.players == players
        assert set(players) | set(source.unseen) <= set(source.sizes)
    assert len(sites_by_name("fars").unseen) == 40
    assert min(sites_by_name("fars").sizes[state] for state in sites_by_name("fars").unseen) == 205
    assert sites_by_name("digits-across-sources").unseen == ("mfeat",)


def test_sites_are_named_as_people_write_them() -> None:
    source = sites_by_name("fars", train="or, New York,north_carolina,west-virginia")
    assert source.players == ("Oregon", "New_York", "North_Carolina", "West_Virginia"), "in playing order"
    assert "California" in source.unseen
    assert "Oregon" not in source.unseen
    assert sites_by_name("rand-health", train=("SITE-6", "site_2")).players == ("site-6", "site-2")
    small = sites_by_name("fars", train="VT,DC")
    assert small.players == ("Vermont", "District_of_Columbia")
    assert len(small.unseen) == 43
    assert sites_by_name("rand-health", train=tuple(rand_health.SIZES)).unseen == ()


def test_a_draw_is_what_the_rule_says() -> None:
    eligible = sorted(state for state, (_, drivers) in fars.STATES.items() if drivers >= 500)
    assert len(eligible) == 34
    for draw, states in ((0, 3), (1, 3), (7, 5), (0, 34)):
        drawn = sorted(np.random.default_rng([draw, states]).choice(eligible, states, replace=False))
        assert sites_by_name("fars", draw=draw, states=states).players == tuple(drawn)
    assert sites_by_name("fars", draw=4) == sites_by_name("fars", draw=4, states=3)
    assert {type(name) for name in sites_by_name("fars", draw=4).players} == {str}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"train": "CA,TX", "draw": 1}, "`train` names the sites that train and `draw` draws them: give one"),
        ({"states": 4}, "`states` says how many sites a draw has: give `draw` too"),
        ({"draw": 1, "states": 35}, "`states` 35: fars has 34 sites that can be drawn"),
        ({"train": "CA,Texsa"}, "Unknown site of fars: 'Texsa'. Did you mean 'Texas'?"),
        ({"train": "CA,TX,california"}, "`train` names California twice"),
        ({"benchmark": "rand-health", "train": "CA,TX"}, "Known: site-1, site-2"),
        ({"clients": 3}, "fars has no `clients` 3"),
        ({"flips": "0.1,0.2"}, "fars has no `flips` 0.1,0.2"),
        ({"sizes": "10,20"}, "fars has no `sizes` 10,20"),
        ({"classes": 10}, "fars has no `classes` 10"),
        ({"pixels": "binary"}, "fars has no `pixels` binary"),
        ({"side": 14}, "fars has no `side` 14"),
        ({"sprites": "rendered"}, "fars has no `sprites` rendered"),
    ],
)
def test_what_can_not_be_had_is_said(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError) as error:
        benchmark(BenchmarkOptions.model_validate({"benchmark": "fars"} | options))
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"train": "CA"}, "at least 2 items"),
        ({"train": "CA,,TX"}, "takes names of sites such as CA,TX,FL"),
        ({"draw": -1}, "greater than or equal to 0"),
        ({"draw": 1, "states": 1}, "greater than or equal to 2"),
    ],
)
def test_options_are_checked(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        BenchmarkOptions.model_validate({"benchmark": "fars"} | options)


def test_each_kind_is_asked_for_by_its_own_name() -> None:
    for name in PLANTED:
        assert isinstance(benchmark(BenchmarkOptions(benchmark=name)), Benchmark)
        with pytest.raises(UserError, match="has a planted feature and no real sites"):
            sites_by_name(name)
    with pytest.raises(UserError, match="fars has real sites and no planted feature"):
        by_name("fars")


def decides(**options: Any) -> dict[str, object]:
    return BenchmarkOptions.model_validate(options).decides()


def test_keys_say_what_decides_the_data_however_it_was_spelled() -> None:
    assert decides(benchmark="fars") == decides(benchmark="fars", train="ca,tx,fl") == {"benchmark": "fars"}
    named = {"benchmark": "fars", "train": ["Oregon", "Texas"]}
    assert decides(benchmark="fars", train="OR,TX") == decides(benchmark="fars", train="oregon,texas") == named
    assert decides(benchmark="fars", train="TX,OR") != named, "they play in another order"
    drawn = {"benchmark": "fars", "draw": 5}
    assert decides(benchmark="fars", draw=5) == decides(benchmark="fars", draw=5, states=3) == drawn
    assert decides(benchmark="fars", draw=5, states=6) == drawn | {"states": 6}


def test_keys_of_sprites_are_as_they_were() -> None:
    assert decides(benchmark="colored-dsprites", sprites="rendered") == {"benchmark": "colored-dsprites"}
    published = {"benchmark": "colored-dsprites", "sprites": "published"}
    assert decides(benchmark="colored-dsprites") == published
    for sprites in ("rendered", "published"):
        assert decides(benchmark="colored-mnist", sprites=sprites) == {"benchmark": "colored-mnist"}
        assert decides(sprites=sprites) == {}
    entry = Entry(slug="fedavg", title="FedAvg", method="fedavg", rounds=1)
    options = BenchmarkOptions(benchmark="colored-dsprites")
    assert Match(options=options, entry=entry, seed=0).what["benchmark"] == published

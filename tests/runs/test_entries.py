"""Every entry on every benchmark: it plays, and goes on where it stopped."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from flgames.core.loop import Play
from flgames.core.stopping.early_round import EarlyRound
from flgames.core.stopping.stop_below import StopBelow
from flgames.data.benchmarks.benchmark import Benchmark
from flgames.data.benchmarks.clients import PaintedSamples
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.samples import input_shape
from flgames.errors import UserError
from flgames.evaluation.profile import invariance_profile
from flgames.models.networks import MLP, Linear
from flgames.report.rows import row_of
from flgames.runs.baselines import (
    BASELINES,
    CHOSEN,
    GRIDS,
    ON_REAL_TABLES,
    PUBLISHED,
    REAL_GRIDS,
    SEARCHED,
    UNSEARCHED,
)
from flgames.runs.entries import default_names, entry, game, is_declared
from flgames.runs.entry import Entry
from flgames.runs.names import FL_GAMES, GAMES
from flgames.runs.resolve import resolve
from flgames.runs.runner import set_up
from flgames.runs.trials import real_trials, trials
from tests.benchmarks import PLANTED, at_hand
from tests.toys import flat

CPU = torch.device("cpu")
MNIST = BenchmarkOptions(benchmark="colored-mnist")
FARS = BenchmarkOptions(benchmark="fars")


def few(benchmark: str) -> BenchmarkOptions:
    return BenchmarkOptions(benchmark=benchmark, sizes=(96, 64))


def planted(played: Entry, options: BenchmarkOptions) -> Benchmark:
    """A benchmark with a shortcut, as an entry sees it."""
    source = played.benchmark(options)
    assert isinstance(source, Benchmark)
    return source


def seen_by(played: Entry, benchmark: str) -> Benchmark:
    """The same with few samples."""
    return replace(planted(played, few(benchmark)), images=at_hand(benchmark).images)


@pytest.mark.parametrize("name", [*BASELINES, *PUBLISHED, "sequential-f-fl-games", "parallel-v-fl-games-smooth-fast"])
@pytest.mark.parametrize("benchmark", PLANTED)
def test_plays_and_goes_on(name: str, benchmark: str) -> None:
    if name in PUBLISHED and benchmark != "colored-mnist":
        with pytest.raises(UserError, match="authors' values, which are for colored-mnist as it is"):
            entry(name, few(benchmark))
        return
    options = few(benchmark) if name not in PUBLISHED else BenchmarkOptions(benchmark=benchmark)
    declared = entry(name, options)
    steps = {"local_steps": 2} if "local_steps" in declared.config else {}
    narrow = declared.network.model_copy(update={"width": 24})
    short = declared.model_copy(update={"rounds": 3, "config": declared.config | steps, "network": narrow})
    source = seen_by(short, benchmark)
    clients = source.training_clients(0)

    def new() -> Play:
        return set_up(short, clients, source.classes, 0, CPU)

    whole = new()
    whole.start()
    whole.run()
    begun, stops = new(), iter([False, True])
    begun.start()
    assert begun.run(interrupted=lambda: next(stops)) == "interrupted"
    resumed = new()
    resumed.load_state_dict(begun.state_dict())
    resumed.run()
    assert begun.next_round == 1
    assert torch.equal(flat(resumed.server), flat(whole.server))
    inputs, _ = next(iter(clients.values())).batch(torch.arange(20))
    assert torch.equal(resumed.ensemble()(inputs), whole.ensemble()(inputs))


def test_everything_is_declared() -> None:
    assert set(CHOSEN) == set(SEARCHED)
    for benchmark in PLANTED:
        chosen = CHOSEN.get(benchmark, UNSEARCHED)
        assert set(chosen) == set(BASELINES) == set(GRIDS)
        for name, values in chosen.items():
            tried = [{key: trial.config[key] for key in GRIDS[name]} for trial in trials(name)]
            assert values in tried, f"{name} on {benchmark}: only values that the search tries"
            declared = entry(name, BenchmarkOptions(benchmark=benchmark)).config
            assert values.items() <= declared.items(), "and they are what is played"


def test_everything_is_declared_for_real_tables() -> None:
    assert set(CHOSEN["fars"]) == {*ON_REAL_TABLES, FL_GAMES} == set(REAL_GRIDS), "FL Games' values were searched too"
    for name, values in CHOSEN["fars"].items():
        tried = [{key: trial.config[key] for key in REAL_GRIDS[name]} for trial in real_trials(name, FARS)]
        assert values in tried, f"{name}: only values that the search tries"
        declared = entry(name, FARS)
        assert values.items() <= declared.config.items(), "and they are what is played"
        assert declared.network == Linear()
        assert declared.validation == 0.2, "of every training client's samples"


def test_every_method_takes_as_many_steps() -> None:
    for name in BASELINES:
        declared = entry(name, MNIST)
        steps = declared.config.get("local_steps", 1)
        assert isinstance(steps, int)
        assert declared.rounds * steps == 300
        assert declared.config["batch_size"] == (256 if declared.is_federated else 512), "of two clients"


def test_every_method_on_real_tables_takes_as_many_steps_and_has_one_rule() -> None:
    for name in (*ON_REAL_TABLES, FL_GAMES):
        declared = entry(name, FARS)
        if declared.method == "logistic":
            assert (declared.rounds, declared.rule) == (1, None), "it is fitted to the end"
            continue
        steps = declared.config.get("local_steps", 1)
        assert isinstance(steps, int)
        assert declared.rounds * steps == 600
        assert declared.rule == EarlyRound(early=200 // steps)
        assert declared.config["batch_size"] == 256


def test_published_rows_say_what_they_are_and_are_for_one_benchmark() -> None:
    for name in PUBLISHED:
        assert "tuned on test data" in entry(name, MNIST).title
    assert set(PUBLISHED) <= set(default_names(MNIST))
    for other in (few("colored-mnist"), BenchmarkOptions(benchmark="colored-fashion-mnist")):
        assert not set(PUBLISHED) & set(default_names(other))


def test_only_declared_entries_stand_beside_the_papers_figures() -> None:
    preset = game(resolve({"benchmark": "colored-mnist"}))
    assert is_declared(preset, MNIST)
    assert not is_declared(game(resolve({"benchmark": "colored-mnist", "memory": 3})), MNIST)
    assert row_of(preset, MNIST, []).paper is not None
    assert row_of(preset.model_copy(update={"rounds": 7}), MNIST, []).paper is None


def test_games_have_the_papers_names() -> None:
    digits = BenchmarkOptions(benchmark="colored-digits")
    titles = {entry(name, digits).title for name in GAMES}
    assert {"Sequential F-FL Games", "Parallel V-FL Games (Smooth + Fast)"} <= titles
    assert entry("parallel-f-fl-games-smooth", digits).rule == StopBelow(stop_below=0.70)
    with pytest.raises(UserError, match="Did you mean 'fedavg'"):
        entry("fed-avg", digits)


def test_batch_normalisation_follows_both_hidden_layers() -> None:
    predictor = MLP(batch_norm=True).architecture((2, 8, 8), 2).predictor()
    assert [type(layer).__name__ for layer in predictor.children()] == [
        "Flatten",
        "ChannelLinear",
        "BatchNorm1d",
        "ELU",
        "Linear",
        "BatchNorm1d",
        "ELU",
        "Linear",
    ]


def test_pooled_is_everything_in_one_place() -> None:
    options = BenchmarkOptions(benchmark="colored-digits")
    apart = planted(entry("fedsgd", options), options).training_clients(3)
    (pooled,) = planted(entry("pooled-erm", options), options).training_clients(3).values()
    assert len(pooled) == sum(len(samples) for samples in apart.values()) == 1300
    start = 0
    for samples in apart.values():
        index = torch.arange(len(samples))
        for one, two in zip(samples.batch(index), pooled.batch(index + start), strict=True):
            assert torch.equal(one, two)
        start += len(samples)


@pytest.mark.parametrize("benchmark", PLANTED)
def test_the_oracle_sees_the_same_images_without_the_feature(benchmark: str) -> None:
    options = few(benchmark)
    source, painted = (seen_by(entry(name, options), benchmark) for name in ("grey-oracle", "pooled-erm"))
    clients = source.training_clients(0)
    assert input_shape(clients) == input_shape(painted.training_clients(0)), "so the architecture is the same"
    (samples,) = clients.values()
    assert isinstance(samples, PaintedSamples)
    some = samples.images[:4]
    codes = torch.tensor([0, 0, 1, 1])
    assert torch.equal(source.feature.paint(some, codes), source.feature.paint(some, 1 - codes))
    with_feature = painted.feature.paint(some, codes)
    without = source.feature.paint(some, codes)
    assert torch.equal(with_feature[with_feature > 0], without[with_feature > 0]), "the feature only takes away"


def test_the_oracle_can_not_flip() -> None:
    options = BenchmarkOptions(benchmark="colored-digits")
    oracle: Entry = entry("grey-oracle", options).model_copy(update={"rounds": 20})
    source = planted(oracle, options)
    play = set_up(oracle, source.training_clients(0), 2, 0, CPU)
    play.start()
    play.run()
    profile = invariance_profile(play.ensemble(), source.held_out_client(0), CPU)
    assert profile.flip_rate == 0
    assert profile.agree == profile.conflict == profile.unseen

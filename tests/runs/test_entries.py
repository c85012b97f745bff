"""Every entry on every benchmark: it plays, and goes on where it stopped."""

from __future__ import annotations

import pytest
import torch

from flgames.runs.baselines import BASELINES, CHOSEN, GRIDS, PUBLISHED, trials
from flgames.runs.runner import set_up
from flgames.data.benchmarks.registry import NAMES
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.clients import PaintedSamples
from flgames.data.samples import input_shape
from flgames.runs.entry import Entry
from flgames.errors import UserError
from flgames.runs.plan import GAMES, default_lineup, entry, game, is_declared
from flgames.evaluation.profile import invariance_profile
from flgames.models.mlp import Network
from flgames.core.loop import Play
from flgames.report.rows import row_of
from flgames.runs.settings import resolve
from tests.benchmarks import at_hand
from tests.toys import flat

CPU = torch.device("cpu")
MNIST = BenchmarkOptions(benchmark="colored-mnist")


def few(benchmark: str) -> BenchmarkOptions:
    return BenchmarkOptions(benchmark=benchmark, sizes=(96, 64))


@pytest.mark.parametrize("benchmark", NAMES)
@pytest.mark.parametrize("name", [*BASELINES, *PUBLISHED, "sequential-f-fl-games", "parallel-v-fl-games-smooth-fast"])
def test_plays_and_goes_on(name: str, benchmark: str) -> None:
    at_hand(benchmark)
    if name in PUBLISHED and benchmark != "colored-mnist":
        with pytest.raises(UserError, match="authors' values, which are for colored-mnist as it is"):
            entry(name, few(benchmark))
        return
    options = few(benchmark) if name not in PUBLISHED else BenchmarkOptions(benchmark=benchmark)
    declared = entry(name, options)
    steps = {"local_steps": 2} if "local_steps" in declared.rules else {}
    short = declared.model_copy(update={"rounds": 3, "rules": declared.rules | steps})
    source = short.benchmark(few(benchmark))
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
    for benchmark in NAMES:
        assert set(CHOSEN[benchmark]) == set(BASELINES) == set(GRIDS)
        for name, rules in CHOSEN[benchmark].items():
            tried = [{key: trial.rules[key] for key in GRIDS[name]} for trial in trials(name)]
            assert rules in tried, f"{name} on {benchmark}: only values that the search tries"


def test_every_method_takes_as_many_steps() -> None:
    for name in BASELINES:
        declared = entry(name, MNIST)
        assert declared.rounds * declared.rules.get("local_steps", 1) == 300
        assert declared.rules["batch_size"] == (256 if declared.is_federated else 512), "of two clients"


def test_published_rows_say_what_they_are_and_are_for_one_benchmark() -> None:
    for name in PUBLISHED:
        assert "tuned on test data" in entry(name, MNIST).title
    assert set(PUBLISHED) <= set(default_lineup(MNIST))
    for other in (few("colored-mnist"), BenchmarkOptions(benchmark="colored-fashion-mnist")):
        assert not set(PUBLISHED) & set(default_lineup(other))


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
    assert entry("parallel-f-fl-games-smooth", digits).stop_below == 0.70
    with pytest.raises(UserError, match="Did you mean 'fedavg'"):
        entry("fed-avg", digits)


def test_batch_normalisation_follows_both_hidden_layers() -> None:
    predictor = Network(batch_norm=True).architecture((2, 8, 8), 2).predictor()
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
    apart = entry("fedsgd", options).benchmark(options).training_clients(3)
    (pooled,) = entry("pooled-erm", options).benchmark(options).training_clients(3).values()
    assert len(pooled) == sum(len(samples) for samples in apart.values()) == 1300
    start = 0
    for samples in apart.values():
        index = torch.arange(len(samples))
        for one, two in zip(samples.batch(index), pooled.batch(index + start), strict=True):
            assert torch.equal(one, two)
        start += len(samples)


@pytest.mark.parametrize("benchmark", NAMES)
def test_the_oracle_sees_the_same_images_without_the_feature(benchmark: str) -> None:
    at_hand(benchmark)
    options = few(benchmark)
    oracle = entry("grey-oracle", options)
    source, painted = oracle.benchmark(options), entry("pooled-erm", options).benchmark(options)
    clients = source.training_clients(0)
    assert input_shape(clients) == input_shape(painted.training_clients(0)), "so the architecture is the same"
    (samples,) = clients.values()
    assert isinstance(samples, PaintedSamples)
    images = samples.images[:4]
    codes = torch.tensor([0, 0, 1, 1])
    assert torch.equal(source.feature.paint(images, codes), source.feature.paint(images, 1 - codes))
    with_feature = painted.feature.paint(images, codes)
    without = source.feature.paint(images, codes)
    assert torch.equal(with_feature[with_feature > 0], without[with_feature > 0]), "the feature only takes away"


def test_the_oracle_can_not_flip() -> None:
    options = BenchmarkOptions(benchmark="colored-digits")
    oracle: Entry = entry("grey-oracle", options).model_copy(update={"rounds": 20})
    source = oracle.benchmark(options)
    play = set_up(oracle, source.training_clients(0), 2, 0, CPU)
    play.start()
    play.run()
    profile = invariance_profile(play.ensemble(), source.held_out_client(0), CPU)
    assert profile.flip_rate == 0
    assert profile.agree == profile.conflict == profile.unseen

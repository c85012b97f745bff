"""Classes that count alike, from the command line: the same loss as the estimator's, wherever the clients are."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from flgames import FLGames
from flgames.cli import app
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import NamedBenchmark
from flgames.data.benchmarks.site_set import SiteSet
from flgames.data.benchmarks.sites import Sites
from flgames.data.own.source import surveys_of
from flgames.engines.serve import serve
from flgames.methods.heads import fit_head
from flgames.models.class_weights import balanced_weights, weighted_loss
from flgames.runs.entries import before
from flgames.runs.folder import GameFolder, RunFolder
from flgames.runs.load import load
from flgames.runs.plan import Plan, make_plan
from flgames.runs.resolve import resolve
from flgames.runs.runner import phi_game, play_run
from tests.by_hand import ByHand
from tests.games import same
from tests.own_data import pictures

CLIENTS = ("north", "south", "west")
ROUNDS = 12


def rare(folder: Path) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Tables of marks that are 0 or 1, which nobody standardises; an eighth of the samples is of the class 1."""
    folder.mkdir(parents=True)
    clients = {}
    for seed, name in enumerate(CLIENTS):
        draw = np.random.default_rng(seed)
        labels = (draw.random(160) < 0.125).astype(int)
        marks = (draw.random((160, 4)) < np.where(labels[:, None] == 1, 0.7, 0.3)).astype(np.float32)
        np.savez(folder / f"{name}.npz", X=marks, y=labels)
        clients[name] = marks, labels
    return clients


def settings(folder: Path, **more: Any) -> dict[str, Any]:
    few = {"rounds": ROUNDS, "early": "never", "against": "none", "against_rounds": 3, "threads": 1}
    return {"data": str(folder), "class_weight": "balanced"} | few | more


def play(folder: Path, out: Path, *more: object) -> Any:
    few = ("--rounds", ROUNDS, "--early", "never", "--against-rounds", 3, "--threads", 1)
    return CliRunner().invoke(app, [str(each) for each in ("play", "--data", folder, "--out", out, *few, *more)])


def planned(given: dict[str, Any]) -> Plan:
    told = resolve(given)
    return make_plan(told, surveys_of(str(told.data), told.roles) if told.data else None)


def test_it_is_what_the_estimator_does(tmp_path: Path) -> None:
    clients = rare(tmp_path / "data")
    result = play(tmp_path / "data", tmp_path / "run", "--class-weight", "balanced", "--against", "none")
    assert result.exit_code == 0, result.output
    model = FLGames(rounds=ROUNDS, early="never", class_weight="balanced").fit(clients)
    ours = load(tmp_path / "run").ensemble
    assert list(ours.names) == list(model.players_) == list(CLIENTS)
    for player, other in zip(ours.players, model.players_.values(), strict=True):
        assert same(player.state_dict(), other.state_dict())
    plain = FLGames(rounds=ROUNDS, early="never").fit(clients)
    assert not same(ours.players[0].state_dict(), plain.players_["north"].state_dict())


def test_the_rare_class_is_found_and_the_output_says_why(tmp_path: Path) -> None:
    clients, found = rare(tmp_path / "data"), {}
    for weighs in ("none", "balanced"):
        out = tmp_path / weighs
        result = play(tmp_path / "data", out, "--class-weight", weighs, "--against", "fedavg,logistic")
        assert result.exit_code == 0, result.output
        for method in ("fedavg", "logistic", "f-fl-games-smooth"):
            model = load(out, method).exported
            with torch.inference_mode():
                said = [(model(torch.from_numpy(marks)).argmax(1).numpy(), ill) for marks, ill in clients.values()]
            found[method, weighs] = np.mean(np.concatenate([answers[ill == 1] for answers, ill in said]))
    for method in ("fedavg", "logistic", "f-fl-games-smooth"):
        assert found[method, "balanced"] > found[method, "none"] + 0.3
    text = " ".join(result.output.split())
    counts = np.bincount(np.concatenate([labels for _, labels in clients.values()]))
    share = counts.sum() / (2 * counts)
    assert f"A sample counts, by its class: 0 {share[0]:.2f}, 1 {share[1]:.2f}." in text
    assert "it has learnt little" not in text, "accuracy is not what was asked for"


@pytest.mark.parametrize("kind", ["tables", "settled images", "phi trained before"])
def test_it_is_the_same_over_an_engine(kind: str, tmp_path: Path) -> None:
    if kind == "tables":
        rare(tmp_path / "data")
        given = settings(tmp_path / "data", holdout="west", against="fedavg")
    else:
        pictures(tmp_path / "data", **{name: {"healthy": 9, "ill": 3} for name in CLIENTS})
        settled = {"rounds": 4, "settle_after": 2} if kind == "settled images" else {"settle": "never", "phi_rounds": 1}
        given = settings(tmp_path / "data", holdout="west", rounds=4) | settled
    here, there = (RunFolder.create(tmp_path / name, resolve(given)) for name in ("here", "there"))
    play_run(here)
    assert serve(there, lambda: ByHand(tmp_path / "states", CLIENTS))
    plain = RunFolder.create(tmp_path / "plain", resolve(given | {"class_weight": "none"}))
    play_run(plain)
    folders = zip(here.games(), there.games(), plain.games(), strict=True)
    for (match, one), (_, other), (_, unweighted) in folders:
        assert match.entry.class_weight
        assert same(one.weights(), other.weights())
        assert not same(one.weights(), unweighted.weights())
        assert phi(one).keys() == phi(other).keys()
        assert not phi(one) or (same(phi(one), phi(other)) and not same(phi(one), phi(unweighted)))


def phi(folder: GameFolder) -> dict[str, torch.Tensor]:
    inside = [earlier.weights() for _, earlier in phi_game(folder.match, folder)]
    return inside[0] if inside else {}


def test_training_clients_are_counted_and_nobody_who_is_held_out(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    sizes = {"a": (30, 10), "b": (10, 10), "c": (5, 35)}
    folder.mkdir()
    for name, (healthy, ill) in sizes.items():
        np.savez(folder / f"{name}.npz", X=np.eye(healthy + ill, 3), y=np.repeat(["healthy", "ill"], [healthy, ill]))
    for match in planned(settings(folder, holdout="each", against="fedavg")).matches:
        counts = np.sum([own for name, own in sizes.items() if name != match.holdout], axis=0)
        expected = counts.sum() / (2 * counts)
        assert match.entry.class_weight == pytest.approx(expected)
        assert sum(count * weight for count, weight in zip(counts, match.entry.class_weight, strict=True)) == (
            pytest.approx(counts.sum())
        )


def test_keys_mention_it_only_where_it_is_used(tmp_path: Path) -> None:
    rare(tmp_path / "data")
    given = settings(tmp_path / "data")
    weighted, plain = planned(given), planned(given | {"class_weight": "none"})
    assert plain == planned({name: value for name, value in given.items() if name != "class_weight"})
    for one, other in zip(weighted.matches, plain.matches, strict=True):
        assert "class_weight" not in other.entry.decides()
        assert one.key != other.key
        assert one.model_validate_json(one.model_dump_json()) == one, "it travels as a value, to the last bit"
        assert before(one.entry).class_weight == one.entry.class_weight


def test_planted_shortcuts_have_none() -> None:
    result = CliRunner().invoke(app, ["play", "--benchmark", "colored-digits", "--class-weight", "balanced"])
    assert result.exit_code == 2
    assert "--class-weight is for real data, such as your own, and colored-digits has a planted shortcut." in (
        " ".join(result.output.split())
    )
    assert resolve({"benchmark": "colored-digits", "class_weight": "none"}) == resolve({"benchmark": "colored-digits"})
    result = CliRunner().invoke(app, ["play", "--data", "somewhere", "--class-weight", "heavy"])
    assert result.exit_code == 2
    assert "--class-weight should be 'none' or 'balanced'; heavy was given." in " ".join(result.output.split())


def test_real_sites_have_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = np.array([0, 0, 0, 1] * 15, dtype=np.uint8)
    known = SiteSet(
        np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32), labels, ("ash", "birch", "elm"),
        np.repeat(np.arange(3), 20), columns=("AGE", "DOSE"),
    )  # fmt: skip

    def clinics(options: BenchmarkOptions) -> Sites:
        return Sites("fars", "Clinics", lambda seed: known, ("ash", "birch"), ("elm",), ("well", "ill"), "table")

    catalogue = importlib.import_module("flgames.data.benchmarks.catalogue.fars")
    monkeypatch.setattr(catalogue, "BENCHMARK", NamedBenchmark(clinics))
    options = ("--class-weight", "balanced", "--rounds", "3", "--against", "none", "--threads", "1")
    result = CliRunner().invoke(app, ["play", "--benchmark", "fars", *options, "--out", str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    (match,) = RunFolder.open(tmp_path / "run").plan.matches
    assert match.entry.class_weight == pytest.approx((2 / 3, 2))
    assert "by its class: well 0.67, ill 2.00." in " ".join(result.output.split())


def test_a_head_whose_rare_class_counts_more_is_that_of_more_samples() -> None:
    draw = torch.Generator().manual_seed(0)
    features, targets = torch.randn(40, 3, generator=draw), torch.tensor([0] * 30 + [1] * 10)
    weighted = fit_head(features, targets, 2, loss_of=weighted_loss(balanced_weights([30, 10])))
    more = torch.cat([torch.arange(30), torch.arange(30, 40).repeat(3)])
    repeated = fit_head(features[more], targets[more], 2)
    assert torch.allclose(weighted.weight, repeated.weight, atol=1e-4)
    assert torch.allclose(weighted.bias, repeated.bias, atol=1e-4)

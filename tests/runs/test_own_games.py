"""Games on data of one's own: on this machine, and over engines whose sites have them."""

from __future__ import annotations

import csv
import json
import math
import shutil
from functools import partial
from pathlib import Path

import pytest
import torch
from click.testing import Result
from typer.testing import CliRunner

from flgames.cli import app
from flgames.core.cache import FeatureCache
from flgames.core.rates import Rates
from flgames.data.own.roles import Roles
from flgames.data.own.source import surveys_of
from flgames.data.samples import ArraySamples
from flgames.engines.host import Host
from flgames.engines.remote import surveys
from flgames.engines.serve import serve
from flgames.engines.sites import SiteData, known_players, number_of_players
from flgames.engines.wire import pack, unpack
from flgames.errors import ClientFailure, UserError
from flgames.models.networks import MLP, Linear
from flgames.models.standardise import FeatureScale, moments
from flgames.policy.rules import OPEN
from flgames.runs.folder import GameFolder, RunFolder
from flgames.runs.resolve import resolve
from flgames.runs.runner import Interrupted, play_run
from tests.by_hand import ByHand
from tests.games import same, weights
from tests.own_data import disagreeing_tables, messy_table, pictures, table, three_hospitals

QUICK = ("--rounds", "6", "--settle-after", "2", "--against", "none", "--threads", "1")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["play", *(str(argument) for argument in arguments)])


def folder_of(played: RunFolder, holdout: str | None = "c") -> GameFolder:
    """Of the game in a run, with this client held out."""
    (folder,) = (
        folder
        for match, folder in played.games()
        if match.entry.method in ("fl-games", "settled") and match.holdout == holdout
    )
    return folder


@pytest.fixture(scope="module")
def scans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return three_hospitals(tmp_path_factory.mktemp("own") / "scans")


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own") / "tables"
    for seed, name in enumerate("abc"):
        table(folder / f"{name}.csv", seed=seed)
    return folder


CONVOLVED = ("--settle", "never", "--phi-rounds", 2)
"""Linear players on convolutions that FedAvg has trained before."""


@pytest.mark.parametrize("settles", [True, False])
def test_a_run_on_images(scans: Path, tmp_path: Path, settles: bool) -> None:
    out = tmp_path / "run"
    own = ("--data", scans, "--holdout", "c", "--out", out, "--threads", 1, "--rounds", 6)
    more = QUICK[2:4] if settles else CONVOLVED
    result = run(*own, *more, "--probe-every", 2, "--against-rounds", 2)
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    assert "c (unseen)" in said
    assert "chose the model of round" in said
    results = json.loads((out / "results.json").read_text())
    title = "settled game" if settles else "Parallel F-FL Games (Smooth)"
    assert list(results) == ["FedAvg", title]
    game = results[title][0]
    assert ("no reason to distrust anything" in said or "weighted so that it is right" in said) == settles
    assert (folder_of(RunFolder.open(out)).evidence() is not None) == settles
    assert {name: sum(map(sum, its["confusion"])) for name, its in game["unseen_clients"].items()} == {"c": 60}
    counted = {name: sum(map(sum, its)) for name, its in game["confusion_of"].items()}
    assert counted == dict.fromkeys("ab", 12 if settles else 60), "on what is held back, or else on everything"
    held_back = {name: sum(map(sum, its["confusion"])) for name, its in game.get("held_back", {}).items()}
    assert held_back == (counted if settles else {})
    assert game["chosen_round"] < game["rounds"] == 6
    assert (out / "curves.png").exists()
    assert [probe.round for probe in folder_of(RunFolder.open(out)).probes()] == [1, 3, 5]
    assert "| client | n | accuracy |" in (out / "table.md").read_text()
    assert {line.split(",")[1] for line in (out / "clients.csv").read_text().splitlines()} == {"client", "a", "b", "c"}


def test_several_clients_are_held_out(tables: Path, tmp_path: Path) -> None:
    folder = tmp_path / "four"
    shutil.copytree(tables, folder)
    table(folder / "d.csv", seed=3)
    own = ("--data", folder, "--target", "sick", "--holdout", "b", "--holdout", "d", "--out", tmp_path / "run")
    result = run(*own, "--rounds", 3, "--against", "none", "--threads", 1)
    assert result.exit_code == 0, result.output
    (game,) = RunFolder.open(tmp_path / "run").games()
    assert game[0].players == ("a", "c"), "nobody trains on them"
    found = game[1].result()
    assert {name: its.n for name, its in found.unseen_clients.items()} == {"b": 40, "d": 40}
    assert found.unseen == pytest.approx(sum(its.accuracy for its in found.unseen_clients.values()) / 2)
    assert "mean of 2 unseen" in result.output


def test_a_run_on_tables_holds_out_each_in_turn(tables: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = ("--data", tables, "--target", "sick", "--holdout", "each", "--out", out, "--rounds", 3, "--patience", 2)
    result = run(*command, "--against", "none", "--threads", 1)
    assert result.exit_code == 0, result.output
    assert "Every client held out in turn" in result.output
    assert list(json.loads((out / "results.json").read_text())) == ["a", "b", "c"]
    assert all((out / name / "f-fl-games-smooth" / "seed-0" / "model.safetensors").exists() for name in "abc")
    again = run("--resume", out)
    assert again.exit_code == 0, again.output


def test_linear_players_on_a_table_beside_a_linear_model(tables: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    own = ("--data", tables, "--target", "sick", "--holdout", "c", "--out", out, "--rounds", 4, "--threads", 1)
    result = run(*own, "--against-rounds", 2)
    assert result.exit_code == 0, result.output
    fedavg, perceptrons, game = (match.entry for match in RunFolder.open(out).plan.matches)
    assert fedavg.network == game.network == Linear()
    assert (perceptrons.method, perceptrons.network) == ("fedavg", MLP()), "to see whether linear models are enough"
    assert "On held-back samples of the training clients: Parallel F-FL Games (Smooth), linear" in result.output
    sizes = {tensor.numel() for tensor in folder_of(RunFolder.open(out)).weights().values()}
    assert sizes == {2 * 2, 2}, "two columns, two classes"


def test_nothing_held_out_is_said(tables: Path, tmp_path: Path) -> None:
    own = ("--data", tables, "--target", "sick", "--out", tmp_path / "run", "--threads", 1)
    result = run(*own, "--rounds", 2, "--against", "none")
    assert result.exit_code == 0, result.output
    assert "nobody knows how it does on an unseen one" in " ".join(result.output.split())
    assert "--rounds ended the game before its rule did" in " ".join(result.output.split())
    assert "On held-back samples of the training clients" not in result.output, "there is nothing to compare it with"


def test_nothing_held_back_is_said(tables: Path, tmp_path: Path) -> None:
    own = ("--data", tables, "--target", "sick", "--out", tmp_path / "run", "--threads", 1)
    result = run(*own, "--rounds", 2, "--against", "none", "--validation", 0)
    assert result.exit_code == 0, result.output
    assert "on the very samples that they trained on" in " ".join(result.output.split())
    (game,) = json.loads((tmp_path / "run" / "results.json").read_text()).values()
    assert "held_back" not in game[0]
    lines = list(csv.DictReader((tmp_path / "run" / "clients.csv").read_text().splitlines()))
    assert {line["client"]: line["n"] for line in lines} == dict.fromkeys("abc", "40"), "their figures are shown"
    assert {name: sum(map(sum, its)) for name, its in game[0]["confusion_of"].items()} == dict.fromkeys("abc", 40)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--holdout", "d"), "Unknown client to hold out: 'd'"),
        (("--benchmark", "colored-mnist"), "--data is instead of --benchmark"),
        (("--flips", "0.1,0.2"), "--flips is for benchmarks"),
        (("--against", "grey-oracle"), "Unknown baseline for own data 'grey-oracle'"),
        (("--patience", "5", "--stop-below", "0.6"), "two rules: choose one"),
        (("--predictor", "linear"), "images are seen through convolutions"),
        (("--phi-rounds", "3"), "a settled game trains its network after it"),
        (("--warm-start", "0"), "--warm-start is not for settled games"),
        (("--settle", "never", "--train-steps", "3"), "--train-steps is for games that are settled"),
        (("--ensemble", "balanced", "--patience", "5"), "--ensemble balanced needs no rule that chooses a round"),
        (("--holdout", "a", "--holdout", "b"), "A game needs two clients at least, and there is 1 but a and b"),
        (("--holdout", "a", "--holdout", "each"), "--holdout each is for every client in turn: name no others"),
    ],
)
def test_what_own_data_can_not_have(scans: Path, tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    result = run("--data", scans, "--out", tmp_path / "run", *options)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert not (tmp_path / "run").exists()


def test_a_hold_out_without_data() -> None:
    result = run("--holdout", "a")
    assert result.exit_code == 2
    assert "give --data too" in " ".join(result.output.split())


def test_a_missing_class_is_said(tmp_path: Path) -> None:
    folder = pictures(tmp_path / "scans", a={"x": 9, "y": 9}, b={"x": 9})
    result = run("--data", folder, "--out", tmp_path / "run", *QUICK)
    assert result.exit_code == 0, result.output
    assert "b has no sample of y." in result.output


@pytest.mark.parametrize("kind", ["images", "convolved", "table"])
def test_an_interrupted_game_goes_on_bit_for_bit(scans: Path, tables: Path, tmp_path: Path, kind: str) -> None:
    kinds: dict[str, dict[str, object]] = {
        "images": {"data": str(scans), "settle_after": 3},
        "convolved": {"data": str(scans), "phi_rounds": 3, "settle": "never"},
        "table": {"data": str(tables), "target": "sick"},
    }
    own = kinds[kind]
    given = {"holdout": "c", "rounds": 8, "against": "none", "threads": 1}
    settings = resolve(given | own | {"checkpoint_every": 1})
    whole, halves = RunFolder.create(tmp_path / "whole", settings), RunFolder.create(tmp_path / "halves", settings)
    play_run(whole)
    for stop in (2, 4, 3) if kind == "convolved" else (2, 4):  # phi has three rounds before the game
        left = iter(range(stop))
        with pytest.raises(Interrupted):
            play_run(halves, interrupted=partial(lambda left: next(left, None) is None, left))
    play_run(halves)
    assert same(weights(whole.path), weights(halves.path))
    one, other = (folder_of(each).result().model_copy(update={"seconds": 0}) for each in (whole, halves))
    assert one == other


def over_sites(disk: Path, run_: RunFolder, clients: tuple[str, ...], **paths: Path) -> None:
    """Play a run over hosts, some of which have their data at a path of their own."""
    exchange = ByHand(disk, clients)
    exchange.hosts = [{name: Host(name, SiteData(name, paths.get(name), OPEN), disk, rules=OPEN) for name in clients}]
    assert serve(run_, lambda: exchange)


@pytest.mark.parametrize("kind", ["images", "convolved", "linear", "settled", "mlp", "settled mlp"])
def test_sites_with_data_of_their_own_end_with_the_same_weights(
    scans: Path, tables: Path, tmp_path: Path, kind: str
) -> None:
    if kind.startswith("settled"):
        tables = disagreeing_tables(tmp_path / "tables")
    data = {"data": str(scans)} if kind in ("images", "convolved") else {"data": str(tables), "target": "sick"}
    data |= {"predictor": "mlp"} if kind.endswith("mlp") else {}
    more: dict[str, dict[str, object]] = {
        "images": {"settle_after": 2},
        "convolved": {"settle": "never", "phi_rounds": 2},
        "settled mlp": {"settle": "always", "settle_after": 2},
    }
    given = data | {"rounds": 6, "against": "none", "threads": 1} | more.get(kind, {})
    here = RunFolder.create(tmp_path / "here", resolve(given))
    play_run(here)

    # The server has none of the data, and one site has them elsewhere.
    away = RunFolder.create(tmp_path / "away", resolve(given | {"data": "/data/scans", "clients": 3}))
    files = dict(zip("abc", sorted(Path(data["data"]).iterdir()), strict=True))
    over_sites(tmp_path / "states", away, ("a", "b", "c"), **files)
    assert same(weights(here.path), weights(away.path))
    one, other = (folder_of(each, None).result().model_copy(update={"seconds": 0}) for each in (here, away))
    assert one == other, "and with the same figures"
    assert bool(one.finding and one.finding.settled) == kind.startswith("settled")
    assert away.surveys == surveys_of(data["data"], here.settings.roles)


def test_sites_agree_on_words_and_means_of_a_messy_table(tmp_path: Path) -> None:
    """One site has its rows in a file of its own, with columns in another order, and without the others' rows."""
    whole = messy_table(tmp_path / "all.csv", rows=60)
    roles = {"target": "ill", "client_column": "site"}
    given = roles | {"data": str(whole), "rounds": 4, "against": "none", "threads": 1}
    here = RunFolder.create(tmp_path / "here", resolve(given))
    play_run(here)
    names, files = ("north", "south", "west"), {}
    header, *lines = (line.split(",") for line in whole.read_text().splitlines())
    for name in names:
        rows = [header, *(line for line in lines if line[2] == name)]
        files[name] = tmp_path / f"{name}.csv"
        turn = -1 if name == "south" else 1
        files[name].write_text("".join(",".join(row[::turn]) + "\n" for row in rows))
    away = RunFolder.create(tmp_path / "away", resolve(given | {"data": "/data/all.csv", "clients": 3}))
    over_sites(tmp_path / "states", away, names, **files)
    assert same(weights(here.path), weights(away.path))


def test_who_is_held_out_is_not_asked(scans: Path, tmp_path: Path) -> None:
    given = {"data": str(scans), "holdout": "each", "rounds": 2, "settle_after": 1, "against": "none", "threads": 1}
    run_ = RunFolder.create(tmp_path / "run", resolve(given))
    over_sites(tmp_path / "states", run_, ("a", "b", "c"))
    for name in "abc":
        for record in folder_of(run_, name).measures():
            assert set(record.accuracy_of) == set("abc") - {name}


def test_a_survey_that_fails_names_the_client(scans: Path, tmp_path: Path) -> None:
    exchange = ByHand(tmp_path, ("a", "b", "z"))
    with pytest.raises(ClientFailure, match=r"z: UserError: Unknown client in .*'z'"):
        surveys(exchange, str(scans), Roles(), 1, 5)
    exchange = ByHand(tmp_path, ("a", "b"))
    exchange.away = {"b"}
    with pytest.raises(ClientFailure, match="b: no answer within 5 s"):
        surveys(exchange, str(scans), Roles(), 1, 5)


def test_a_survey_crosses_as_sums_and_is_checked(scans: Path, tmp_path: Path) -> None:
    host = Host("a", SiteData("a", rules=OPEN), tmp_path)
    reply = host.handle(pack({"kind": "survey", "data": str(scans), "roles": Roles().model_dump(), "threads": 1}))
    header, tensors = unpack(reply)
    assert not tensors
    assert len(reply) < 1000, "of 60 pictures of 432 bytes"
    assert set(header["survey"]) == {
        "kind",
        "shape",
        "columns",
        "samples",
        "count",
        "sums",
        "squares",
        "indicators",
        "details",
        "bits",
    }
    bad = pack({**header, "survey": header["survey"] | {"count": 0}})

    class Spoilt(ByHand):
        def __call__(self, payloads, timeout):  # type: ignore[no-untyped-def]
            replies = super().__call__(payloads, timeout)
            return type(replies)(dict(replies.arrived) | {"a": bad}, {})

    with pytest.raises(ClientFailure, match=r"a: its answer has a header that is wrong in survey.count"):
        surveys(Spoilt(tmp_path, ("a", "b")), str(scans), Roles(), 1, 5)


def test_who_plays(scans: Path) -> None:
    assert known_players(resolve({"data": str(scans), "holdout": "c"})) == ("a", "b", "c"), "c tells of its data too"
    assert known_players(resolve({"data": str(scans), "train": "a,b"})) == ("a", "b")
    assert known_players(resolve({"data": str(scans), "train": "a,b", "holdout": "rest"})) == ("a", "b", "c")
    assert known_players(resolve({"data": "/data/elsewhere", "clients": 4})) is None
    assert number_of_players(resolve({"data": "/data/elsewhere", "clients": 4})) == 4
    with pytest.raises(UserError, match="say how many sites play, with `clients`"):
        number_of_players(resolve({"data": "/data/elsewhere"}))


def test_rates() -> None:
    two = Rates.of(torch.tensor([[90, 10], [20, 30]]))
    assert (two.accuracy, two.sensitivity, two.specificity) == pytest.approx((0.8, 0.6, 0.9))
    assert two.balanced_accuracy == pytest.approx(0.75)
    assert math.isnan(Rates.of(torch.tensor([[9, 1], [0, 0]])).sensitivity), "nobody was ill"
    three = Rates.of(torch.tensor([[8, 2, 0], [0, 10, 0], [0, 0, 0]]))
    assert three.accuracy == pytest.approx(0.9)
    assert three.balanced_accuracy == three.sensitivity == pytest.approx(0.9), "a class without a sample has no share"
    assert three.specificity == pytest.approx((1 + 0.8 + 1) / 3)


def test_features_of_a_frozen_phi_are_computed_once() -> None:
    calls = 0

    class Counting(torch.nn.Linear):
        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            nonlocal calls
            calls += len(inputs)
            return super().forward(inputs)

    phi, samples = Counting(3, 2), ArraySamples(torch.randn(600, 3), torch.arange(600))
    frozen = FeatureCache(samples, torch.randperm(600), phi, torch.device("cpu"))
    index = torch.tensor([5, 500, 7])
    features, targets = frozen.batch(index)
    assert targets.tolist() == [5, 500, 7]
    assert torch.allclose(features, phi(samples.inputs[index]))
    before = calls
    frozen.batch(index)
    assert calls == before
    frozen.forget()
    frozen.batch(index)
    assert calls == before + 600


def test_features_are_standardised_by_sums() -> None:
    features = torch.randn(50, 3).double() * torch.tensor([1.0, 5.0, 0.0]) + torch.tensor([0.0, 2.0, 7.0])
    scale = FeatureScale(3)
    assert torch.equal(scale(features.float()), features.float()), "it begins as the identity"
    scale.fit(*moments(50, [features.sum(0)], [(features**2).sum(0)]))
    ready = scale(features.float())
    assert ready.mean(0).abs().max() < 1e-5
    assert ready[:, :2].std(0, correction=0).allclose(torch.ones(2), atol=1e-4)
    assert ready[:, 2].abs().max() < 1e-5

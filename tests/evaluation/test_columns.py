"""What the sites of a table disagree about, column by column."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import torch
from torch import Tensor
from typer.testing import CliRunner

from flgames.cli import app
from flgames.evaluation.columns import SiteRows, _holm, columns_of
from tests.own_data import disagreeing_tables, messy_table


def linear(*weights: float):  # type: ignore[no-untyped-def]
    """A player whose log-odds are these weights times the inputs."""

    def said(inputs: Tensor) -> Tensor:
        odds = inputs @ torch.tensor(weights, dtype=inputs.dtype)
        return torch.stack([-odds / 2, odds / 2], 1)

    return said


def site(effects: tuple[float, ...], seed: int, rows: int = 1500) -> SiteRows:
    """Normal columns, and labels by a logistic model with these effects."""
    draw = torch.Generator().manual_seed(seed)
    features = torch.randn(2 * rows, len(effects), generator=draw)
    odds = features @ torch.tensor(effects)
    targets = (torch.rand(len(odds), generator=draw) < odds.sigmoid()).long()
    return SiteRows(features[:rows], targets[:rows], features[rows:], targets[rows:])


def test_players_are_apart_by_the_difference_of_their_weights() -> None:
    """Shuffling moves a standard normal by sqrt(2) on average, and log-odds by as much times the weight."""
    sites = {"a": site((1.0, 0.0), 0), "b": site((1.0, 0.0), 1)}
    found = columns_of(sites, ("x", "mark"), (0, 1), linear(1, 0), [linear(1.0, 2.0), linear(1.0, -1.0)], 2)
    apart = {each.column: each.apart for each in found}
    assert apart["x"] == pytest.approx(0, abs=1e-6)
    assert apart["mark"] == pytest.approx(3 * 2**0.5, rel=0.05)


def test_effects_that_differ_are_told_from_chance() -> None:
    sites = {"a": site((1.0, 2.0, 0.5), 0), "b": site((1.0, 0.2, 0.5), 1), "c": site((1.0, 1.0, 0.5), 2)}
    found = columns_of(sites, ("x", "mark", "z"), (0, 1, 2), linear(1, 1, 0.5), None, 2)
    assert found[0].column == "mark"
    assert found[0].p < 1e-9
    assert found[0].differs > 10
    assert all(each.p > 0.05 and each.differs < 5 for each in found[1:])


def test_chance_alone_is_seldom_taken_for_a_difference() -> None:
    """Of 40 tables on which sites differ in nothing, about two have a column below 0.05."""
    below = 0
    for seed in range(40):
        sites = {name: site((0.5, -0.5, 0.0, 1.0), 3 * seed + place, 300) for place, name in enumerate("abc")}
        found = columns_of(sites, tuple("wxyz"), range(4), linear(1, 0, 0, 0), None, 2)
        below += min(each.p for each in found) < 0.05
    assert below <= 6


def test_what_the_model_uses_is_what_it_can_not_do_without() -> None:
    sites = {"a": site((2.0, 0.0), 0), "b": site((2.0, 0.0), 1)}
    found = {each.column: each for each in columns_of(sites, ("x", "y"), (0, 1), linear(2, 0), None, 2)}
    assert found["x"].loss > 0.3
    assert found["x"].accuracy < -0.15
    assert (found["y"].loss, found["y"].accuracy) == pytest.approx((0, 0), abs=1e-6)


def test_features_of_a_column_are_shuffled_together() -> None:
    """Of a word, exactly one feature is 1: shuffled alone they would say what no row says."""
    words = torch.eye(3)[torch.arange(300) % 3]
    seen: list[Tensor] = []

    def model(inputs: Tensor) -> Tensor:
        seen.append(inputs)
        return torch.stack([inputs[:, 0], inputs[:, 1]], 1)

    rows = SiteRows(words, torch.arange(300) % 2, words, torch.arange(300) % 2)
    columns_of({"a": rows, "b": rows}, ("word",), (0, 0, 0), model, None, 2)
    assert all(bool((inputs.sum(1) == 1).all()) for inputs in seen)


def test_holm() -> None:
    assert _holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert _holm([0.5, 0.9]) == [1.0, 1.0]


def explained(run: Path) -> str:
    result = CliRunner().invoke(app, ["explain", str(run)])
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


@pytest.mark.parametrize("predictor", ["linear", "mlp"])
def test_a_run_on_tables_is_explained(tmp_path: Path, predictor: str) -> None:
    tables = disagreeing_tables(tmp_path / "tables", 400)
    few = ["--target", "sick", "--rounds", "20", "--against", "none", "--threads", "1", "--predictor", predictor]
    CliRunner().invoke(app, ["play", "--data", str(tables), "--out", str(tmp_path / "run"), *few])
    assert "players apart" in explained(tmp_path / "run")
    rows = list(csv.DictReader((tmp_path / "run" / "disagreement.csv").read_text().splitlines()))
    assert [row["column"] for row in rows] == ["mark", "age"]
    assert float(rows[0]["p"]) < 0.01 < float(rows[1]["p"])
    assert float(rows[0]["apart"]) > float(rows[1]["apart"])
    assert (tmp_path / "run" / "disagreement.png").stat().st_size > 5000


def test_a_column_of_words_is_one_column(tmp_path: Path) -> None:
    few = ["--target", "ill", "--client-column", "site", "--rounds", "10", "--against", "none", "--threads", "1"]
    data = messy_table(tmp_path / "all.csv", {"north": 0.05, "south": 0.4})
    CliRunner().invoke(app, ["play", "--data", str(data), "--out", str(tmp_path / "run"), *few])
    said = explained(tmp_path / "run")
    assert "The sites' own models disagree about ward" in said
    rows = list(csv.DictReader((tmp_path / "run" / "disagreement.csv").read_text().splitlines()))
    assert rows[0]["column"] == "ward"
    assert {row["column"] for row in rows} == {"age", "sex", "smoker", "visit", "ward", "blood"}


def test_a_table_may_be_in_some_order() -> None:
    """Sorted by a column, its first rows all have the same: a sample of all rows is shuffled."""
    sites = {}
    for name, one in {"a": site((1.0, 2.0), 0, 5000), "b": site((1.0, -2.0), 1, 5000)}.items():
        mark = (one.features[:, 1] > 0).float()
        order = mark.argsort()
        features = torch.stack([one.features[:, 0], mark], 1)[order]
        sites[name] = SiteRows(features, one.targets[order], features, one.targets[order])
    found = {each.column: each for each in columns_of(sites, ("x", "mark"), (0, 1), linear(1, 1), None, 2)}
    assert found["mark"].apart > 1

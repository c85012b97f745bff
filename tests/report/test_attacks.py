"""One of five sites attacks: what each lie does, and that the table is made of what was played."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from rich.console import Console
from torch import nn

from flgames.data.samples import ArraySamples
from flgames.models.architecture import Architecture
from flgames.models.ensemble import Ensemble
from flgames.report import attacks
from flgames.report.attacking import ATTACKS, Reversed, last_layer, moved
from flgames.report.attacks import METHODS, Merged, all_rows, figures, markdown, run_attacks

COMMITTED = Path(__file__).parents[2] / "results"


def test_lies_by_hand() -> None:
    sent, before = {"w": torch.tensor([3.0])}, {"w": torch.tensor([1.0])}
    assert moved(-10)(sent, before)["w"].item() == -19
    assert moved(100)(sent, {})["w"].item() == 300
    layers = {name: torch.ones(1) for name in ("first", "weight", "bias")}
    assert {name: each.item() for name, each in last_layer(-5)(layers, {}).items()} == {
        "first": 1, "weight": -5, "bias": -5,
    }  # fmt: skip
    samples = Reversed(ArraySamples(torch.zeros(3, 1), torch.tensor([0, 1, 2])), 3)
    assert samples.batch(torch.arange(len(samples)))[1].tolist() == [2, 1, 0]


@pytest.mark.parametrize("defence", ["median", "trimmed mean"])
def test_a_flipped_sign_ruins_the_mean_and_not_the_median(defence: str) -> None:
    assert figures("fedavg", "sign flip x10", "none", seed=0, rounds=8)[0] < 0.5
    assert figures("fedavg", "sign flip x10", defence, seed=0, rounds=8)[0] > 0.6


def test_players_merged_in_the_end_by_hand() -> None:
    """Two say the first class by a little, one the second by much: the mean follows the one, the median the two."""
    architecture = Architecture(representation=nn.Identity, predictor=lambda: nn.Linear(1, 2))
    players = {
        name: {"weight": torch.zeros(2, 1), "bias": torch.tensor(bias)}
        for name, bias in {"a": [1.0, 0.0], "b": [1.0, 0.0], "c": [0.0, 50.0]}.items()
    }
    ensemble = Ensemble(architecture, players)
    inputs = torch.zeros(1, 1)
    assert ensemble(inputs).argmax(1).item() == 1
    assert [Merged(ensemble, by)(inputs).argmax(1).item() for by in ("median", "trimmed")] == [0, 0]


def test_a_game_is_also_judged_elsewhere() -> None:
    here, elsewhere = figures("fl-games", "sign flip x10", "median in the end", seed=0, rounds=3)
    assert 0 < here < 1
    assert elsewhere is not None
    assert 0 < elsewhere < 1


def test_it_goes_on_where_it_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[int] = []

    def counted(*_: object) -> tuple[float, float]:
        played.append(1)
        if len(played) == 30:
            raise KeyboardInterrupt
        return 0.5, 0.25

    monkeypatch.setattr(attacks, "figures", counted)
    with pytest.raises(KeyboardInterrupt):
        run_attacks(tmp_path, Console(quiet=True))
    run_attacks(tmp_path, Console(quiet=True))
    assert len(played) == len(list(all_rows())) + 1, "the one that was stopped is played again, and no other"
    assert "| none | 50.0 ± 0.0 |" in (tmp_path / "attacks.md").read_text()


def test_the_committed_table_is_made_of_the_committed_figures() -> None:
    found = attacks._read(COMMITTED / "attacks.csv")
    assert list(found) == list(all_rows())
    assert (COMMITTED / "attacks.md").read_text() == markdown(found)
    assert len(found) == sum(len(each.defences) for each in METHODS.values()) * len(ATTACKS) * 5


def test_the_documentation_shows_the_committed_table() -> None:
    shown = (COMMITTED.parent / "docs" / "trust.md").read_text().splitlines()
    lines = [line for line in (COMMITTED / "attacks.md").read_text().splitlines() if "±" in line]
    assert len(lines) == (len(METHODS) + 1) * len(ATTACKS)
    assert set(lines) <= set(shown)

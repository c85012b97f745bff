"""A site that wants to ruin the others: what it sends is finite, well formed, and a lie."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from flgames.core.records import RoundRecord
from flgames.engines.wire import pack
from flgames.models.architecture import Weights
from tests.by_hand import ByHand, Spoil
from tests.engines.matches import a_match, here, over, played
from tests.games import Following
from tests.toys import flat

METHODS = (
    "parallel-f-fl-games-smooth", "sequential-f-fl-games", "parallel-v-fl-games-fast", "fedavg", "fedsgd", "fedbn",
    "fedgma", "group-dro",
)  # fmt: skip


def scaled(times: float, since: int = 0) -> Spoil:
    """All weights or gradients that are sent are so many times what they are, from a question on."""

    def spoil(header: dict[str, Any], tensors: Weights) -> bytes | None:
        if "confusion" in tensors or not tensors or header["number"] < since:
            return None
        return pack(
            header, {name: each * times if each.is_floating_point() else each for name, each in tensors.items()}
        )

    return spoil


def attacked(name: str, spoil: Spoil, folder: Path, rounds: int = 5) -> tuple[list[RoundRecord], torch.Tensor, Any]:
    exchange = ByHand(folder)
    # Adam would divide a gradient by its size.
    plain = {"optimiser": "sgd"} if name in ("fedsgd", "group-dro") else {}
    play = over(exchange, a_match(name, rounds=rounds, **plain))
    play.start()
    exchange.spoils = {"client-2": spoil}
    lines = Following()
    play.run([lines])
    return lines.records, flat(play.server), play.federation


@pytest.mark.parametrize("name", METHODS)
def test_one_answer_of_1e30_costs_its_author_and_nobody_else(name: str, tmp_path: Path) -> None:
    rounds = 9 if name.startswith("sequential") else 5  # one that moves in turn is heard of less often
    records, weights, federation = attacked(name, scaled(1e30), tmp_path, rounds)
    assert len(records) == rounds
    assert set(federation.excluded) == {"client-2"}, "after three of them"
    assert all(set(record.failures) <= {"client-2"} for record in records)
    assert "has the norm" in next(record.failures for record in records if record.failures)["client-2"]
    assert weights.isfinite().all()
    assert weights.abs().max() < 100
    assert {"client-1", "client-3"} <= set(records[-1].accuracy_of)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("since", [0, 6])
def test_what_turned_others_nan_is_taken_back_and_its_author_blamed(
    name: str, since: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flgames.core.method.TIMES_WEIGHTS", math.inf)
    monkeypatch.setattr("flgames.core.gradients.TIMES_GRADIENT", math.inf)
    records, weights, federation = attacked(name, scaled(1e36, since), tmp_path, rounds=6)
    assert len(records) == 6
    assert set(federation.excluded) == {"client-2"}
    assert "client-1, client-3 turned NaN after its answer, which was taken back" in federation.excluded["client-2"]
    assert all(set(record.failures) <= {"client-2"} for record in records)
    assert weights.isfinite().all()
    assert weights.abs().max() < 100


def test_norms_do_not_grow_from_round_to_round(tmp_path: Path) -> None:
    """Each answer is only a hundred times the one before; beside its peers' it is soon too large."""
    sent = [1.0]

    def growing(header: dict[str, Any], tensors: Weights) -> bytes | None:
        if "1.weight" not in tensors:
            return None
        sent[0] *= 100
        return scaled(sent[0])(header, tensors)

    records, weights, _ = attacked("parallel-f-fl-games-smooth", growing, tmp_path)
    assert not records[0].failures
    assert set(records[-1].failures) == {"client-2"}
    assert weights.abs().max() < 1e4


def test_a_game_that_nobody_spoils_is_the_same_as_ever(tmp_path: Path) -> None:
    match = a_match(rounds=4)
    play = played(over(ByHand(tmp_path), match))
    assert torch.equal(flat(play.server), flat(played(here(match)).server))
    assert play.server.norms.author() is None

"""Balanced ensembles: players that count for so much that clients' losses are alike."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from flgames.core.local import LocalFederation
from flgames.core.loop import Play
from flgames.core.records import Balanced
from flgames.data.samples import ArraySamples, Samples
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.server import Game
from flgames.models.architecture import Architecture
from flgames.models.ensemble import Ensemble
from flgames.runs.evidence import balanced as said
from tests.methods.test_settled import site, sites
from tests.toys import Records, flat, perceptrons


def game(clients: dict[str, Samples], rounds: int = 30, validation: float = 0.2, **knobs: Any) -> Play:
    values: dict[str, Any] = {"ensemble": "balanced", "learning_rate": 1e-2, "batch_size": 64} | knobs
    config = FLGamesConfig(**values)
    classes = int(max(each.batch(torch.arange(len(each)))[1].max() for each in clients.values())) + 1
    inputs = clients["a"].batch(torch.arange(1))[0].shape[1]
    method = Game(perceptrons(inputs, 16, classes), config)
    return Play(method, LocalFederation.of(method, clients, 0, validation=validation), seed=0, rounds=rounds)


def played(play: Play) -> tuple[Balanced, Records]:
    play.start()
    records = Records()
    play.run([records])
    assert play.balanced is not None
    return play.balanced, records


def losses(play: Play) -> dict[str, float]:
    """Of the ensemble that is returned, counted by hand."""
    found = {}
    for name, client in play.federation._clients.items():  # type: ignore[attr-defined]
        back = client.site.held_back or client.site.samples
        inputs, targets = back.batch(torch.arange(len(back)))
        with torch.no_grad():
            found[name] = float(nn.functional.cross_entropy(play.chosen()(inputs), targets))
    return found


@pytest.mark.parametrize("rounds", [15, 30, 45])
def test_losses_are_alike_whatever_round_ended_the_game(rounds: int) -> None:
    play = game(sites(0.2, 0.05), rounds)
    found, _ = played(play)
    assert found.gap < 0.002 < 0.05 < found.gap_before
    assert losses(play) == pytest.approx(found.risks, abs=1e-4)
    agree, conflict = (accuracy(play, flip) for flip in (0.0, 1.0))
    assert abs(agree - conflict) < 0.25, "1 for a model that uses the shortcut"


def accuracy(play: Play, flip: float) -> float:
    samples = site(3000, flip, 9)
    with torch.no_grad():
        return float((play.chosen()(samples.inputs).argmax(1) == samples.targets).double().mean())


@pytest.mark.parametrize(("flips", "classes"), [((0.3, 0.2, 0.1), 2), ((0.2, 0.05), 3)])
def test_any_number_of_clients_and_classes(flips: tuple[float, ...], classes: int) -> None:
    play = game(sites(*flips, classes=classes))
    found, _ = played(play)
    assert found.gap < 0.25 * found.gap_before
    assert len(found.weights) == len(flips)
    assert (len(found.bias), found.bias[0]) == (classes, 0.0)


def test_what_crosses_is_counted_and_small() -> None:
    play = game(sites(0.2, 0.05))
    found, records = played(play)
    result = play.result(records.heard)
    alone = game(sites(0.2, 0.05), ensemble="uniform")
    alone.start()
    plain = Records()
    alone.run([plain])
    more = result.bytes_up - alone.result(plain.heard).bytes_up
    each = 8 * (2 + 1) + 8
    assert more == 2 * (found.exchanges * each + 8), "N + 1 gradients and a loss each time, and one variance"
    assert found.exchanges < 130


def test_it_is_saved_and_loaded_with_its_weights() -> None:
    play = game(sites(0.2, 0.05))
    played(play)
    model = play.chosen()
    tensors = model.tensors()
    assert {"balance/weights", "balance/bias"} <= set(tensors)
    again = Ensemble.from_tensors(play.method.learnt, tensors)
    inputs = torch.randn(7, 3)
    assert torch.equal(again(inputs), model(inputs))
    counted = play.exact_measure()
    rows = play.federation._clients["a"].site.held_back  # type: ignore[attr-defined]
    own, targets = rows.batch(torch.arange(len(rows)))
    assert counted.clients["a"].correct == int((model(own).argmax(1) == targets).sum()), "clients count the same model"


def test_it_goes_on_bit_for_bit() -> None:
    whole = game(sites(0.2, 0.05), 10)
    played(whole)
    first, second = game(sites(0.2, 0.05), 10), game(sites(0.2, 0.05), 10)
    first.start()
    first.run(interrupted=lambda: first.next_round == 6)
    second.load_state_dict(first.state_dict())
    second.run()
    assert torch.equal(flat(second.server), flat(whole.server))
    assert second.balanced == whole.balanced


def test_linear_players_are_told_of_each_other_to_be_weighed() -> None:
    config = FLGamesConfig(ensemble="balanced")
    assert not Game(Architecture(lambda: nn.Linear(3, 2)), config).sums


def test_few_samples_are_a_warning() -> None:
    many, few = (played(game(sites(0.2, 0.05, samples=samples)))[0] for samples in (4000, 150))
    assert not said(many)[1]
    text, is_warning = said(few)
    assert is_warning
    assert "with so few samples parity is partly luck" in text


def test_a_gap_s_error_is_that_of_two_means() -> None:
    data: dict[str, Samples] = {name: ArraySamples(torch.randn(400, 3), torch.arange(400) % 2) for name in ("a", "b")}
    found, _ = played(game(data, rounds=2, validation=0.0))
    assert 0 < found.error < 0.1

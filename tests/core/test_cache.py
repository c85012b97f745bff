"""What is known of a client's samples is what phi makes of them now."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from flgames.core import cache
from flgames.core.cache import FeatureCache
from flgames.core.client import CPU, Site
from flgames.core.messages import Action, Ask
from flgames.data.samples import Samples
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.server import Game
from flgames.models.architecture import Architecture, snapshot
from flgames.models.ensemble import PHI
from tests.toys import random_clients

SIZES = [5, 256, 257, 600]
"""Less than a chunk; one; one and a single sample, which joins it; three."""


class Counting(nn.Linear):
    """Counts the samples that go through it."""

    passed = 0

    def forward(self, inputs: Tensor) -> Tensor:
        self.passed += len(inputs)
        return super().forward(inputs)


def cached(size: int, phi: nn.Module) -> tuple[Samples, FeatureCache]:
    samples = random_clients(size)["a"]
    order = torch.randperm(size, generator=torch.Generator().manual_seed(size))
    return samples, FeatureCache(samples, order, phi, CPU)


def index_of(size: int) -> Tensor:
    """Some samples in some order, and one of them twice."""
    drawn = torch.randperm(size, generator=torch.Generator().manual_seed(7))[: max(size // 3, 3)]
    return torch.cat([drawn, drawn[:1]])


def agree(found: FeatureCache, samples: Samples, phi: nn.Module, index: Tensor) -> None:
    features, targets = found.batch(index)
    inputs, expected_targets = samples.batch(index)
    with torch.no_grad():
        expected = phi(inputs)
    torch.testing.assert_close(features, expected, rtol=1e-6, atol=1e-6)
    assert torch.equal(targets, expected_targets)
    assert not features.requires_grad


@pytest.mark.parametrize("size", SIZES)
def test_a_batch_is_phi_of_these_samples(size: int) -> None:
    phi = nn.Linear(6, 4)
    samples, found = cached(size, phi)
    for index in (index_of(size), torch.arange(size), torch.tensor([size - 1])):
        agree(found, samples, phi, index)


@pytest.mark.parametrize("size", SIZES)
def test_what_was_forgotten_is_computed_by_the_phi_of_now(size: int) -> None:
    phi = nn.Linear(6, 4)
    samples, found = cached(size, phi)
    before, _ = found.batch(index_of(size))
    with torch.no_grad():
        phi.weight.add_(1.0)
    assert torch.equal(found.batch(index_of(size))[0], before), "nobody said that phi has changed"
    found.forget()
    agree(found, samples, phi, index_of(size))
    assert not torch.allclose(found.batch(index_of(size))[0], before)


@pytest.mark.parametrize("size", SIZES)
def test_chunks_and_batches_are_the_same_features(size: int) -> None:
    _, found = cached(size, nn.Linear(6, 4))
    for chunk, index in enumerate(found.chunks):
        features = found.features(chunk)
        again, targets = found.batch(index)
        assert torch.equal(again, features), "bit for bit: it is looked up"
        assert torch.equal(targets, found.inputs(chunk)[1])


def test_phi_sees_every_sample_once() -> None:
    phi = Counting(6, 4)
    _, found = cached(600, phi)
    found.features(1)
    for _ in range(3):
        found.batch(index_of(600))
        found.features(2)
    assert phi.passed == 600
    found.forget()
    found.batch(index_of(600))
    assert phi.passed == 1200


def test_features_that_take_too_much_room_are_computed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_BYTES", 600 * 4 * 4 - 1)
    phi = Counting(6, 4)
    samples, found = cached(600, phi)
    agree(found, samples, phi, index_of(600))
    phi.passed = 0
    found.batch(index_of(600))
    assert phi.passed == len(index_of(600)), "these samples, and no others"
    monkeypatch.setattr(cache, "MOST_BYTES", 600 * 4 * 4)
    found.forget()
    agree(found, samples, phi, index_of(600))
    phi.passed = 0
    found.batch(index_of(600))
    assert phi.passed == 0


def test_the_identity_is_not_stored() -> None:
    samples, found = cached(600, nn.Identity())
    features, targets = found.batch(index_of(600))
    inputs, expected = samples.batch(index_of(600))
    assert torch.equal(features, inputs)
    assert torch.equal(targets, expected)
    assert found._stored is None


def test_a_client_forgets_when_it_hears_of_a_new_phi() -> None:
    architecture = Architecture(lambda: nn.Linear(4, 2), lambda: nn.Linear(6, 4))
    samples = random_clients(600)["a"]
    client = Game(architecture, FLGamesConfig()).client(Site("a", samples, 0))
    for version in (0, 1):
        phi = architecture.representation()
        client.answer(Ask("introduce", (Action(PHI, version, snapshot(phi)),)))
        agree(client.features, samples, phi, index_of(600))

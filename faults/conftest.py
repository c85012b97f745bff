"""One federation of each kind for all tests that disturb one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.flower_sites import Deployment, deployment
from tests.nvflare_sites import Sites, sites


@pytest.fixture(scope="session")
def nvflare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    with sites(tmp_path_factory.mktemp("nvflare")) as up:
        yield up


@pytest.fixture
def federation(nvflare: Sites) -> Sites:
    """Whole, whatever the test before did to it."""
    nvflare.heal()
    return nvflare


@pytest.fixture(scope="session")
def flower(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployment(tmp_path_factory.mktemp("flower")) as up:
        yield up

"""One federation of each kind for all tests that disturb one. The second site of each can be made to lie."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.hostile.liar import Liar
from tests.flower_sites import Deployment, deployment
from tests.nvflare_sites import Sites, sites
from tests.own_data import table

RULES = """\
[data]
path = "patients.csv"
target = "sick"
columns = ["age", "dose"]
"""

HERE = Path(__file__).parent.parent


@pytest.fixture(scope="session", autouse=True)
def found_by_all() -> None:
    """Hostile code is not installed: whoever is started finds it here."""
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))


@pytest.fixture(scope="session")
def liar(tmp_path_factory: pytest.TempPathFactory, found_by_all: None) -> Liar:
    return Liar(tmp_path_factory.mktemp("liar"))


@pytest.fixture(scope="session")
def nvflare(tmp_path_factory: pytest.TempPathFactory, liar: Liar) -> Iterator[Sites]:
    with sites(tmp_path_factory.mktemp("nvflare"), environments={"client-2": liar.environment}) as up:
        yield up


@pytest.fixture
def federation(nvflare: Sites, liar: Liar) -> Sites:
    """Whole and honest, whatever the test before did to it."""
    liar.is_honest()
    nvflare.heal()
    return nvflare


@pytest.fixture(scope="session")
def flower(tmp_path_factory: pytest.TempPathFactory, liar: Liar) -> Iterator[Deployment]:
    """Both sites have data and rules of their own."""

    def set_up(made: Deployment) -> None:
        made.environments[1] = liar.environment
        for node in made.nodes:
            ward = made.folder / f"site-{node}" / "ward-7"
            table(ward / "patients.csv", rows=80, seed=node, name="Jane Doe")
            (ward / "site.toml").write_text(RULES)
            made.configurations[node] = f'site="{ward / "site.toml"}"'

    with deployment(tmp_path_factory.mktemp("flower"), set_up=set_up) as up:
        yield up

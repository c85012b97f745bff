from __future__ import annotations

import os

import pytest
import torch

from tests.benchmarks import MISSING

# Toy matrices: a second thread would only wait for the first.
torch.set_num_threads(1)


def pytest_configure(config: pytest.Config) -> None:
    """Tests run side by side, each worker and what it starts on a core of its own: threads that share one only wait."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    cores = sorted(os.sched_getaffinity(0))
    if worker and len(cores) > 1:
        os.sched_setaffinity(0, {cores[int(worker.removeprefix("gw")) % len(cores)]})


LONGEST = ("test_flower.py", "test_nvflare.py")
"""They wait for other processes: begun first, they keep nobody waiting at the end."""

APART = ("test_every_game.py", "test_remote.py")
"""Long files whose tests have nothing in common; those of others share what was set up for one of them."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.name not in APART:
            item.add_marker(pytest.mark.xdist_group(item.path.name))
    items.sort(key=lambda item: (item.path.name not in LONGEST, item.path.name in APART))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if MISSING:
        terminalreporter.section("benchmarks that were NOT tested, for want of data")
        for name, why in MISSING.items():
            terminalreporter.write_line(f"{name}: {why}")

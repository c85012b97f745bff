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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if MISSING:
        terminalreporter.section("benchmarks that were NOT tested, for want of data")
        for name, why in MISSING.items():
            terminalreporter.write_line(f"{name}: {why}")

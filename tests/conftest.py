from __future__ import annotations

import pytest
import torch

from tests.benchmarks import MISSING

# Toy matrices: a second thread would only wait for the first.
torch.set_num_threads(1)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if MISSING:
        terminalreporter.section("benchmarks that were NOT tested, for want of data")
        for name, why in MISSING.items():
            terminalreporter.write_line(f"{name}: {why}")

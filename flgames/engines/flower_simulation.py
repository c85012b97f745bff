"""A run in Flower's simulation."""

from __future__ import annotations

import os

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp
from flwr.simulation import run_simulation

from flgames.data.catalogue import benchmark
from flgames.engines.flower_client import STATE_VARIABLE, client_app
from flgames.engines.flower_server import play_on
from flgames.runs import RunFolder


def simulate(run: RunFolder) -> None:
    """Play a run over simulated nodes. Flower would rather have `flwr run .`, which starts servers that stay behind;
    for one run in one process its older function does."""
    os.environ[STATE_VARIABLE] = str(run.path.resolve() / "states")
    server_app = ServerApp()

    @server_app.main()
    def main(grid: Grid, context: Context) -> None:
        play_on(grid, run)

    run_simulation(
        server_app,
        client_app,
        len(benchmark(run.settings).flips),
        backend_config={"client_resources": {"num_cpus": 1, "num_gpus": 0.0}},
    )

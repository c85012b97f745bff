"""A run in Flower's simulation."""

from __future__ import annotations

import os

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp
from flwr.simulation import run_simulation

from flgames.engines.flower.client import PLAYERS_VARIABLE, STATE_VARIABLE, client_app
from flgames.engines.flower.server import play_on
from flgames.engines.sites import known_players
from flgames.errors import UserError
from flgames.runs.folder import RunFolder


def simulate(run: RunFolder) -> None:
    """Play a run over simulated nodes. Flower would rather have `flwr run .`, which starts servers that stay behind;
    for one run in one process its older function does."""
    players = known_players(run.settings)
    if players is None:
        raise UserError(f"A simulation needs all clients here: {run.settings.data} is no folder of this machine.")
    os.environ[STATE_VARIABLE] = str(run.path.resolve() / "states")
    os.environ[PLAYERS_VARIABLE] = "/".join(players)
    server_app = ServerApp()

    @server_app.main()
    def main(grid: Grid, context: Context) -> None:
        play_on(grid, run)

    run_simulation(
        server_app,
        client_app,
        len(players),
        backend_config={"client_resources": {"num_cpus": 1, "num_gpus": 0.0}},
    )

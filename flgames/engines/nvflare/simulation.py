"""A run in NVFlare's simulator."""

from __future__ import annotations

from nvflare.recipe.sim_env import SimEnv

from flgames.engines.nvflare.job import recipe
from flgames.engines.sites import known_players
from flgames.errors import UserError
from flgames.runs.folder import RunFolder


def simulate(run: RunFolder) -> None:
    """Play a run in NVFlare's simulator, each client in a process of its own."""
    players = known_players(run.settings)
    if players is None:
        raise UserError(f"A simulation needs all clients here: {run.settings.data} is no folder of this machine.")
    path = run.path.resolve()
    # Its workspace is emptied at every start; what must outlive it is beside it.
    made = recipe(run.id, run.settings, str(path), str(path / "states"))
    made.execute(SimEnv(clients=list(players), workspace_root=str(path / "engine")))

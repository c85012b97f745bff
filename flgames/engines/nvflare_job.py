"""A run as a job of NVIDIA FLARE: in its simulator, or as a folder that a federation can be given."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from nvflare.collab import CollabRecipe
from nvflare.recipe.sim_env import SimEnv

from flgames.engines.nvflare_app import GameClient, GameServer
from flgames.engines.sites import known_players, number_of_players
from flgames.errors import UserError
from flgames.runs import RunFolder
from flgames.settings import Settings

JOB = "flgames"

WHOLE = {"tensor_download_chunk_size": 0, "np_download_chunk_size": 0}
"""Tensors of our size travel fastest in one piece."""


def recipe(name: str, settings: Settings, folder: str = "", states: str = "") -> CollabRecipe:
    """The job that plays a run. It waits until all of its clients are there."""
    server = GameServer(name, settings.model_dump(mode="json"), folder)
    made = CollabRecipe(JOB, server=server, client=GameClient(states), min_clients=number_of_players(settings))
    made.add_server_config(WHOLE)
    made.add_client_config(WHOLE)
    return made


def write_job(out: Path, name: str, settings: Settings) -> None:
    """A job folder. Sites have flgames installed; its code does not travel."""
    with TemporaryDirectory(dir=out.parent) as beside:
        recipe(name, settings).export(beside)
        made = Path(beside) / JOB
        # NVFlare copies what it finds imported. A folder of custom code must be there: it says that the job runs
        # classes which are not NVFlare's own, for which a site's policy may ask for a right.
        shutil.rmtree(made / "app" / "custom" / "flgames")
        made.rename(out)


def simulate(run: RunFolder) -> None:
    """Play a run in NVFlare's simulator, each client in a process of its own."""
    players = known_players(run.settings)
    if players is None:
        raise UserError(f"A simulation needs all clients here: {run.settings.data} is no folder of this machine.")
    path = run.path.resolve()
    # Its workspace is emptied at every start; what must outlive it is beside it.
    made = recipe(run.id, run.settings, str(path), str(path / "states"))
    made.execute(SimEnv(clients=list(players), workspace_root=str(path / "engine")))

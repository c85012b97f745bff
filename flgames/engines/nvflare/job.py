"""A run as a job of NVIDIA FLARE: a folder that a federation can be given."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from nvflare.collab import CollabRecipe

from flgames.engines.nvflare.app import GameClient, GameServer
from flgames.engines.sites import number_of_players
from flgames.runs.settings import Settings

JOB = "flgames"

WHOLE = {"tensor_download_chunk_size": 0, "np_download_chunk_size": 0}
"""Tensors of our size travel fastest in one piece."""


def recipe(name: str, settings: Settings, folder: str = "", states: str = "", report: str = "") -> CollabRecipe:
    """The job that plays a run. It waits until all of its clients are there."""
    server = GameServer(name, settings.flat(), folder, report)
    made = CollabRecipe(JOB, server=server, client=GameClient(states), min_clients=number_of_players(settings))
    made.add_server_config(WHOLE)
    made.add_client_config(WHOLE)
    return made


def write_job(out: Path, name: str, settings: Settings, report: str) -> None:
    """A job folder. Sites have flgames installed; its code does not travel. ``report`` is as in ``GameServer``."""
    with TemporaryDirectory(dir=out.parent) as beside:
        recipe(name, settings, report=report).export(beside)
        made = Path(beside) / JOB
        # NVFlare copies what it finds imported. A folder of custom code must be there: it says that the job runs
        # classes which are not NVFlare's own, for which a site's policy may ask for a right.
        shutil.rmtree(made / "app" / "custom" / "flgames")
        made.rename(out)

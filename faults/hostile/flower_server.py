"""A ServerApp of Flower that asks what it must not."""

from __future__ import annotations

import json
from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from faults.hostile.questions import questions, told
from flgames.engines.flower.server import GridExchange

PATIENCE = 120.0
ASKED = ("another target", "a folder by its path", "batches of one", "a wide network", "noise")
"""Every question starts a process at the site: these are enough."""

PROJECT = """\
[project]
name = "hostile"
version = "1.0.0"
license = "Apache-2.0"
dependencies = []

[tool.flwr.app]
publisher = "hostile"
fab-include = ["hostile_app/*.py"]

[tool.flwr.app.components]
serverapp = "hostile_app.server:server_app"
clientapp = "hostile_app.client:client_app"

[tool.flwr.app.config]
out = ""
"""

server_app = ServerApp()


@server_app.main()
def main(grid: Grid, context: Context) -> None:
    """Ask the first site, and write down what it told."""
    exchange = GridExchange(grid, ("client-1", "client-2"), 2, PATIENCE)
    heard = {}
    for what in ASKED:
        replies = exchange({"client-1": questions()[what]}, PATIENCE)
        reply = replies.arrived.get("client-1")
        heard[what] = told(reply) if reply else str(replies.failed)
    Path(str(context.run_config["out"])).write_text(json.dumps(heard))


def write_app(folder: Path) -> Path:
    """What `flwr run` sends: the server is ours, and sites run the flgames that they have installed."""
    inside = folder / "hostile_app"
    inside.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PROJECT)
    (inside / "__init__.py").touch()
    (inside / "server.py").write_text(
        'from faults.hostile.flower_server import server_app\n\n__all__ = ["server_app"]\n'
    )
    (inside / "client.py").write_text(
        'from flgames.engines.flower.client import client_app\n\n__all__ = ["client_app"]\n'
    )
    return folder

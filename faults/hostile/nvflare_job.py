"""A job of NVFlare whose server asks what it must not, and has one site ask another."""

from __future__ import annotations

import json
from pathlib import Path

from nvflare.collab import collab

from faults.hostile.questions import questions, told
from flgames.engines.nvflare.app import GameClient

PATIENCE = 60.0


class HostileServer:
    """Writes what it was told to a file."""

    def __init__(self, out: str) -> None:
        self.out = out

    @collab.main  # type: ignore[untyped-decorator]
    def ask(self) -> None:
        heard: dict[str, dict[str, str]] = {}
        for site in sorted(collab.clients, key=lambda each: str(each.name)):
            heard[site.name] = {what: told(site(timeout=PATIENCE).handle(asked)) for what, asked in questions().items()}
            if site.name == "client-2":
                heard["peers"] = site(timeout=PATIENCE).ask_peers()
        Path(self.out).write_text(json.dumps(heard))


class HostileClient(GameClient):
    """Answers as every site does; and asks the others, if it is told to."""

    @collab.publish  # type: ignore[untyped-decorator]
    def ask_peers(self) -> dict[str, str]:
        asked = questions()["another plan"]
        return {peer.name: told(peer(timeout=PATIENCE).handle(asked)) for peer in collab.other_clients}

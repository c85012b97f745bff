"""The game as an application of NVIDIA FLARE: what runs in its server's and its clients' job processes."""

from __future__ import annotations

import importlib
import json
import logging
import os
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from nvflare.collab import CollabCallError, collab

from flgames.data.names import natural
from flgames.engines.host import Host, as_folder
from flgames.engines.remote import Replies, why_unfit
from flgames.engines.serve import open_or_create, serve
from flgames.engines.sites import SiteData
from flgames.errors import ClientFailure, UserError
from flgames.policy.journal import ERRORS, Journal
from flgames.policy.rules import SIMULATED_VARIABLE, rules_of_site
from flgames.runs.settings import validated

log = logging.getLogger(__name__)

STATES = "flgames-runs"
"""The folder in a site's workspace that outlives jobs: states of clients, run folders of the server. It is not called
as the package: job processes start beside it, and would import it instead."""

PATIENCE = 600.0
"""Seconds for what is not a question of a game, such as writing a state."""

LOST_AFTER = 3
"""A client's process can't come back into a running job, and every call to one that is gone takes the whole timeout:
after so many timeouts in a row it is called no more."""


SITE_FILE = "flgames.json"
"""In the folder `local` of a site's workspace: {"client": "client-2"}, for a site with another name; {"data": "/path"},
where its own data are; {"site": "/path/site.toml"}, its rules."""


class GameClient:
    """A site. Its name, or a file of its own, says which client it plays.

    ``states`` is where clients of a simulation keep their states. A job says it, and a job is the server's: a site
    keeps them in its workspace.
    """

    def __init__(self, states: str = "") -> None:
        self.states = states

    @collab.init
    def set_up(self) -> None:
        """NVFlare sends the text of an error, and its logs, to the server: they say little."""
        root = Path(collab.workspace.get_root_dir())
        try:
            self.host = self._host(root)
            return
        except (UserError, OSError, ValueError, AttributeError, TypeError) as why:
            Journal(root / STATES).explain(why)
        raise UserError(f"This site is not set up: {STATES}/{ERRORS} in its workspace says why.")

    def _host(self, root: Path) -> Host:
        own = root / "local" / SITE_FILE
        told = json.loads(own.read_text()) if own.exists() else {}
        name = told.get("client", collab.site_name)
        rules = rules_of_site(told.get("site"))
        source = SiteData(name, Path(told["data"]) if "data" in told else None, rules)
        simulated = self.states and os.environ.get(SIMULATED_VARIABLE)
        return Host(name, source, Path(self.states) if simulated else root / STATES, rules=rules)

    @collab.publish
    def name(self) -> str:
        return self.host.name

    @collab.publish
    def handle(self, payload: bytes) -> bytes:
        # Every site of a job can call every other one. NVFlare has made sure that the caller is who it says.
        return self.host.handle(payload, collab.caller)


class GameServer:
    """Plays a run's matches over the sites of a job.

    Parameters
    ----------
    run
        The run's name. A job that is submitted again has the same one, and goes on.
    settings
        As in a run folder.
    folder
        The run folder, if it is not to be in the server's workspace.
    report
        The function, as "module:name", that writes what a run leaves behind for people; none: nothing is written.
        NVFlare takes plain values only, and tables and figures are no part of an engine.
    """

    def __init__(self, run: str, settings: dict[str, Any], folder: str = "", report: str = "") -> None:
        self.run = run
        self.settings = settings
        self.folder = folder
        self.report = report

    @collab.main
    def play(self) -> None:
        workspace = collab.workspace
        path = Path(self.folder) if self.folder else Path(workspace.get_root_dir()) / STATES / as_folder(self.run)
        run = open_or_create(path, validated(self.settings))
        ended = serve(run, CollabExchange, lambda: bool(collab.is_aborted))
        if ended and not self.folder:
            if self.report:
                module, _, name = self.report.partition(":")
                getattr(importlib.import_module(module), name)(run)
            # What is in the job's own folder can be fetched with the job.
            job = Path(workspace.get_run_dir(collab.fl_ctx.get_job_id()))
            shutil.copytree(path, job / STATES, dirs_exist_ok=True)


class CollabExchange:
    """Payloads as calls: one thread a client."""

    def __init__(self) -> None:
        self._proxies: dict[str, Any] = {}
        for proxy in collab.clients:
            name = proxy(timeout=PATIENCE).name()
            if why := why_unfit(name):
                log.warning("%s is left out. %s", proxy.name, why)
                continue
            if name in self._proxies:
                raise ClientFailure(f"{proxy.name} and {self._proxies[name].name} both say that they are {name}.")
            self._proxies[name] = proxy
        self._pool = ThreadPoolExecutor(max_workers=max(1, len(self._proxies)))
        self._timeouts = dict.fromkeys(self._proxies, 0)

    @property
    def clients(self) -> tuple[str, ...]:
        return natural(self._proxies)

    def __call__(self, payloads: Mapping[str, bytes], timeout: float | None) -> Replies:
        calls = {name: self._pool.submit(self._call, name, payload, timeout) for name, payload in payloads.items()}
        arrived, failed = {}, {}
        for name, call in calls.items():
            try:
                arrived[name] = call.result()
            except CollabCallError as error:
                failed[name] = f"{error.cause_type}: {error.cause}" if error.remote_traceback else str(error.cause)
        return Replies(arrived, failed)

    def _call(self, name: str, payload: bytes, timeout: float | None) -> bytes:
        if self._timeouts[name] >= LOST_AFTER:
            raise CollabCallError(name, "handle", "lost: it can't come back into this job")
        try:
            reply: bytes = self._proxies[name](timeout=timeout or PATIENCE).handle(payload)
        except CollabCallError as error:
            self._timeouts[name] += "timeout" in error.cause_type.lower()
            raise
        self._timeouts[name] = 0
        return reply

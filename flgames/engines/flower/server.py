"""The server of the game as an application of Flower: the ServerApp that `flwr run` finds through flower_app/."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from flwr.app import Context, Message, RecordDict
from flwr.serverapp import Grid, ServerApp
from flwr.supercore.inflatable.inflatable_utils import pull_objects

from flgames.data.names import natural
from flgames.engines.flower.client import log_as_flower, name_in, packed, unpacked
from flgames.engines.remote import Replies, why_unfit
from flgames.engines.serve import open_or_create, serve
from flgames.engines.sites import known_players, number_of_players
from flgames.errors import ClientFailure
from flgames.runs.folder import RunFolder
from flgames.runs.resolve import resolve

log = logging.getLogger(__name__)

HELLO, PLAY = "query.hello", "query.play"

SOONEST, LATEST = 0.02, 1.0
"""Seconds between two looks for replies: they come fast in simulation, and in a deployment every look is a request."""
PATIENCE = 600.0
"""Seconds for all clients to be there."""


def make_server_app(report: Callable[[RunFolder], None]) -> ServerApp:
    """The ServerApp; ``report`` writes what a run leaves behind for people, which is no part of an engine."""
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        """Play what the run configuration says."""
        log_as_flower()
        given = {key.replace("-", "_"): value for key, value in context.run_config.items() if value != ""}
        out = Path(str(given.pop("out", "") or f"runs/flower-{context.run_id}"))
        run = open_or_create(out, resolve(given | {"engine": "flower"}))
        if play_on(grid, run):
            report(run)

    return app


def _wait_for_what_is_announced(timeout: float) -> None:
    """A reply is announced before all of it is there. Flower then looks again after a second, and for two hours, be it
    of a node that died between the two; and has no setting for that."""
    usual = pull_objects.__kwdefaults__
    assert usual is not None
    usual |= {"initial_backoff": SOONEST, "max_time": timeout}


def play_on(grid: Grid, run: RunFolder) -> bool:
    """Play a run over the nodes of a grid; False if it was interrupted."""
    settings = run.settings
    return serve(
        run, lambda: GridExchange(grid, known_players(settings), number_of_players(settings), settings.timeout)
    )


class Greeting(NamedTuple):
    """A message to a node that was silent, and until when it may be answered."""

    number: str
    until: float


NOT_GREETED = Greeting("", 0.0)


class GridExchange:
    """Payloads as messages. Nodes that come back under another id are found by their names.

    Keys say which nodes may take part; which client a node is, is its own word. A name that is taken by a node that is
    there is not given to another. A node that gave no answer in time is greeted, and asked again when it has answered
    that: a hung node costs one timeout, not one for every question.
    """

    def __init__(self, grid: Grid, wanted: Collection[str] | None, number: int, timeout: float) -> None:
        self._grid = grid
        self._timeout = timeout
        _wait_for_what_is_announced(timeout)
        self._nodes: dict[str, int] = {}
        self._greeted: set[int] = set()
        self._silent: dict[int, Greeting] = {}
        """Nodes that gave no answer in time."""
        deadline = time.monotonic() + PATIENCE
        self._look_around()
        while (missing := natural(set(wanted or ()) - set(self._nodes))) or len(self._nodes) < number:
            if time.monotonic() > deadline:
                who = ", ".join(missing) or f"{number - len(self._nodes)} of {number}"
                raise ClientFailure(f"After {PATIENCE:.0f} s these clients are not there: {who}.")
            time.sleep(LATEST)
            self._look_around()
        self._nodes = {name: node for name, node in self._nodes.items() if wanted is None or name in wanted}
        self._clients = natural(self._nodes)

    @property
    def clients(self) -> tuple[str, ...]:
        return self._clients

    def __call__(self, payloads: Mapping[str, bytes], timeout: float | None) -> Replies:
        self._look_around()
        asked = {self._nodes[name]: packed(payload) for name, payload in payloads.items()}
        silent = {node: "silent since it gave no answer in time" for node in asked if node in self._silent}
        heard = {node: content for node, content in asked.items() if node not in silent}
        arrived, failed = self._exchange(PLAY, heard, timeout or self._timeout)
        failed |= silent
        names = {node: name for name, node in self._nodes.items()}
        return Replies(
            {names[node]: unpacked(content) for node, content in arrived.items()},
            {names[node]: why for node, why in failed.items()},
        )

    def _look_around(self) -> None:
        """Greet nodes that are new."""
        there = set(self._grid.get_node_ids())
        self._listen(there)
        if new := there - self._greeted - set(self._silent):
            answers, failed = self._exchange(HELLO, {node: RecordDict() for node in new}, self._timeout)
            for node, content in answers.items():
                self._meet(node, content, there)
            # One that has no name will not get one; one that was slow is greeted again.
            self._greeted |= {node for node, why in failed.items() if why.startswith("error")}

    def _meet(self, node: int, content: RecordDict, there: Collection[int]) -> None:
        name = name_in(content)
        if why := why_unfit(name):
            log.warning("node %d is left out. %s", node, why)
        elif self._nodes.get(name) in there:
            log.warning("node %d says that it is %s, which another node is: refused", node, name)
        else:
            self._nodes[name] = node
        self._greeted.add(node)

    def _listen(self, there: Collection[int]) -> None:
        """Whether those that were silent are back: nobody waits for them before they have answered a greeting."""
        self._silent = {node: greeting for node, greeting in self._silent.items() if node in there}
        sent = {greeting.number: node for node, greeting in self._silent.items() if greeting.number}
        for reply in self._grid.pull_messages(list(sent)) if sent else ():
            node = sent[reply.metadata.reply_to_message_id]
            if reply.has_error():
                self._silent[node] = NOT_GREETED
                continue
            del self._silent[node]
            if node not in self._greeted:
                self._meet(node, reply.content, there)
        for node, greeting in self._silent.items():
            if time.monotonic() > greeting.until:
                message = Message(RecordDict(), node, HELLO, ttl=self._timeout)
                number = next(iter(self._grid.push_messages([message])), "")
                self._silent[node] = Greeting(number, time.monotonic() + self._timeout)

    def _exchange(
        self, kind: str, contents: Mapping[int, RecordDict], timeout: float
    ) -> tuple[dict[int, RecordDict], dict[int, str]]:
        """One message to each node; what they reply, and why some don't."""
        waiting: dict[str, int] = {}
        arrived: dict[int, RecordDict] = {}
        failed: dict[int, str] = {}
        for node, content in contents.items():
            # One at a time: of several that are pushed together Flower does not say which it did not take.
            message = Message(content, node, kind, ttl=timeout)
            if number := next(iter(self._grid.push_messages([message])), ""):
                waiting[number] = node
            else:
                failed[node] = "error: Flower does not know where it is"
        deadline, pause = time.monotonic() + timeout, SOONEST
        while waiting and time.monotonic() < deadline:
            time.sleep(pause)
            pause = min(1.5 * pause, LATEST)
            for reply in self._grid.pull_messages(list(waiting)):
                # A reply about a node that died comes from the SuperLink: only the message tells whose it is.
                node = waiting.pop(reply.metadata.reply_to_message_id)
                if reply.has_error():
                    failed[node] = f"error {reply.error.code}: {_last_line(reply.error.reason)}"
                else:
                    arrived[node] = reply.content
        self._silent |= dict.fromkeys(waiting.values(), NOT_GREETED)
        return arrived, failed | dict.fromkeys(waiting.values(), f"no answer within {timeout:g} s")


def _last_line(text: str | None) -> str:
    return (text or "no reason").strip().splitlines()[-1]

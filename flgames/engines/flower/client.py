"""A client of the game as an application of Flower: the ClientApp that `flwr run` finds through flower_app/.

Flower's own SuperNode starts a process for every message, so a client's state is on its site's disk after each answer,
and the next process begins there. What this file imports is imported for every message then.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import platformdirs
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.common.constant import SUPERLINK_NODE_ID

from flgames.devices import leave_compiler_out
from flgames.engines.host import SERVER, Host
from flgames.engines.sites import SiteData
from flgames.errors import UserError
from flgames.policy.rules import rules_of_site

log = logging.getLogger(__name__)

STATE_VARIABLE = "FLGAMES_STATE"
"""Where clients keep their states, unless the node configuration says `state`."""

PLAYERS_VARIABLE = "FLGAMES_PLAYERS"
"""In a simulation: the clients' names, with / between them, by their partitions' numbers."""

PAYLOAD = "payload"
FORMAT = "safetensors"
NAME = "name"

client_app = ClientApp()

leave_compiler_out()


@client_app.query("hello")
def hello(message: Message, context: Context) -> Message:
    """Node ids are drawn anew when a node restarts; its name stays."""
    return Message(RecordDict({NAME: ConfigRecord({NAME: name_of(context.node_config)})}), reply_to=message)


@client_app.query("play")
def play(message: Message, context: Context) -> Message:
    """Answer a question of the game."""
    reply = host_of(context).handle(unpacked(message.content), caller_of(message))
    return Message(packed(reply), reply_to=message)


def host_of(context: Context) -> Host:
    """Who answers at this node. Flower sends the text of an error to the server, so it says little."""
    told = context.node_config
    try:
        return _host(name_of(told), *(str(told.get(key, "")) for key in ("state", "data", "site")))
    except UserError as error:
        log.error("%s", error)
    raise UserError("This site is not set up: its own log says why.")


def caller_of(message: Message) -> str:
    """Who asks: the SuperLink, which speaks for the server, or another node."""
    node = message.metadata.src_node_id
    return SERVER if node == SUPERLINK_NODE_ID else f"node {node}"


def name_of(node_config: Mapping[str, Any]) -> str:
    """A client's name: what its node configuration says, or the benchmark's part by its partition's number."""
    if "client" in node_config:
        return str(node_config["client"])
    if "partition-id" in node_config:
        number = int(node_config["partition-id"])
        players = os.environ.get(PLAYERS_VARIABLE)
        return players.split("/")[number] if players else f"client-{number + 1}"
    raise UserError("This node has no name: start it with --node-config 'partition-id=0' or 'client=NAME' in quotes.")


@lru_cache(maxsize=4)
def _host(name: str, state: str, data: str, site: str) -> Host:
    """One a process, where a process answers more than one question, as in simulation."""
    rules = rules_of_site(site)
    disk = state or os.environ.get(STATE_VARIABLE) or platformdirs.user_state_path("flgames")
    return Host(name, SiteData(name, Path(data) if data else None, rules), Path(disk), forgets=True, rules=rules)


def log_as_flower() -> None:
    """What is shown to a person is what Flower's own logger prints: let ours be among it."""
    ours = logging.getLogger("flgames")
    ours.handlers, ours.propagate = list(logging.getLogger("flwr").handlers), False
    ours.setLevel(logging.INFO)


def packed(payload: bytes) -> RecordDict:
    """Our bytes as Flower carries them."""
    return RecordDict({PAYLOAD: ArrayRecord({PAYLOAD: Array("uint8", (len(payload),), FORMAT, payload)})})


def unpacked(content: RecordDict) -> bytes:
    """The inverse of :func:`packed`; nothing, if that is not what it is."""
    record = content.array_records.get(PAYLOAD)
    return record[PAYLOAD].data if record and PAYLOAD in record else b""


def name_in(content: RecordDict) -> str:
    """Who a node says that it is."""
    record = content.config_records.get(NAME)
    return str(record.get(NAME, "")) if record else ""

"""A node of a Flower deployment as one process that stays: it asks the SuperLink for questions, and answers them.

Flower's own SuperNode starts a process for every message, and that one imports torch and reads the data again. Here the
client stays in memory between two questions. It runs the ClientApp that is installed here, whatever app a server sends,
and listens at no port. A SuperLink can't tell it from a SuperNode: what is said to it, Flower's own code says.
"""

from __future__ import annotations

import logging
import time
from functools import partial
from pathlib import Path

import click
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_ssh_private_key
from flwr.app import Context, Error, Message, RecordDict
from flwr.app.user_config import UserConfig
from flwr.common.config import parse_config_args
from flwr.common.constant import ErrorCode
from flwr.supercore.exit import register_signal_handlers
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree, no_object_id_recompute
from flwr.supercore.inflatable.inflatable_utils import pull_and_inflate_object_from_tree, push_objects
from flwr.supercore.task_identity import TaskIdentity
from flwr.supercore.telemetry import EventType
from flwr.supernode.fleet_http_connection import http_request_response

from flgames.engines.flower.client import client_app, log_as_flower, name_of
from flgames.errors import UserError

log = logging.getLogger(__name__)

SOONEST, LATEST = 0.02, 1.0
"""Seconds between two looks for a question: each is a request."""

Keys = tuple[ec.EllipticCurvePrivateKey, ec.EllipticCurvePublicKey]


def parsed(node_config: str) -> UserConfig:
    """What is written as for flower-supernode; it must say which client this is."""
    try:
        config = parse_config_args([node_config] if node_config else None)
    except click.ClickException:
        raise UserError(
            f'`node_config` {node_config} can\'t be read: write it as \'client="ward-7" data="/data"\'.'
        ) from None
    name_of(config)
    return config


def key_in(path: Path) -> Keys:
    """The key by which the SuperLink knows this node, and its public half."""
    try:
        private = load_ssh_private_key(path.read_bytes(), None)
    except (OSError, ValueError, UnsupportedAlgorithm) as error:
        raise UserError(f"The key {path} can't be read: {error}.") from None
    if not isinstance(private, ec.EllipticCurvePrivateKey):
        raise UserError(f"{path} is no key of elliptic curves: make one by ssh-keygen -t ecdsa -b 384.")
    return private, private.public_key()


def attend(superlink: str, authority: Path | None, keys: Keys | None, config: UserConfig) -> None:
    """Answer what a SuperLink asks, until a signal ends it; ``authority``: None, without TLS."""
    log_as_flower()
    register_signal_handlers(EventType.RUN_SUPERNODE_LEAVE, "The node has left.")
    certificate = authority.read_bytes() if authority else None
    with http_request_response(superlink, authority is None, certificate, keys) as connection:
        node, receive, send, _, _, pull, push, confirm = connection
        log.info("%s is there, as node %d", name_of(config), node)
        pause = SOONEST
        while True:
            received = receive()
            if received is None:
                time.sleep(pause)
                pause = min(1.5 * pause, LATEST)
                continue
            pause = SOONEST
            run, tree = received[0].metadata.run_id, received[1]
            try:
                began = time.monotonic()
                message = pull_and_inflate_object_from_tree(
                    tree, partial(pull, run), partial(confirm, run), return_type=Message, initial_backoff=SOONEST
                )
                message.metadata.__dict__["_message_id"] = tree.object_id  # it does not travel
                reply = _reply(message, Context(run, node, config, RecordDict(), {}))
                with no_object_id_recompute():
                    wanted, session = send(reply, get_object_tree(reply), time.monotonic() - began)
                    push_objects(get_all_nested_objects(reply), partial(push, run, session), object_ids_to_push=wanted)
            except Exception as error:  # its run may have ended meanwhile; the next question is another one
                log.error("a question was lost: %s", error)


def _reply(message: Message, context: Context) -> Message:
    """What went wrong is told by its kind only: the rest is for people at the site."""
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = context.run_id, context.node_id, 0
    try:
        reply = client_app(message, context)
    except Exception as error:
        log.exception("a question could not be answered")
        reason = str(error) if isinstance(error, UserError) else type(error).__name__
        reply = Message(Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, reason), reply_to=message)
    reply.metadata.__dict__["_message_id"] = reply.object_id
    return reply

"""Which games a site plays, by its rules."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from flgames.core.knobs import Plain
from flgames.data.own.layout import Layout
from flgames.data.own.source import OwnOptions
from flgames.models.networks import CNN, MLP, Network, PooledCNN
from flgames.policy.codes import Refused
from flgames.policy.rules import GameRules, Rules
from flgames.runs.match import Match

MB = 2**20


def plan_hash(match: Match) -> str:
    """SHA-256 of a game as plan.json has it. A site makes it of what it was asked to play, not of what it was told."""
    return hashlib.sha256(json.dumps(match.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()


def check_payload(rules: GameRules, size: int) -> None:
    """Refuse to read what is too large."""
    if size > rules.max_payload_mb * MB:
        raise Refused(f"a question of {size // MB} MB is too large: {rules.max_payload_mb} are allowed")


def check_match(rules: Rules, match: Match) -> None:
    """Refuse a game before anything is read or made for it."""
    game, entry = rules.game, match.entry
    if game.plans and plan_hash(match) not in game.plans:
        raise Refused(f"the plan {plan_hash(match)} is not among those that site.toml allows")
    if game.methods and entry.method not in game.methods:
        raise Refused(f"the method {entry.method} is not allowed here, only {', '.join(game.methods)}")
    for config in (entry.config, entry.phi_config):
        _check_settings(game, config)
    for network in (entry.network, entry.players):
        if network is not None:
            _check_network(game, network)
    if isinstance(match.options, OwnOptions):
        _check_layout(rules, match.options.layout)
    for side in (entry.side, getattr(match.options, "side", None)):
        _check_most("side", side or 1, game.max_side)


def check_samples(rules: GameRules, trained_on: int, held_back: int | None) -> None:
    """Refuse to train on few samples, or to be judged by few."""
    if trained_on < rules.min_samples:
        raise Refused(f"fewer than {rules.min_samples} samples would be trained on (`min_samples`)")
    if held_back is not None and held_back < rules.min_held_back:
        raise Refused(f"fewer than {rules.min_held_back} samples would be held back (`min_held_back`)")


def _check_settings(rules: GameRules, config: Mapping[str, Plain]) -> None:
    size = config.get("batch_size")
    if isinstance(size, int) and size < rules.min_batch_size:
        raise Refused(f"batch_size {size} is too small: {rules.min_batch_size} at least (`min_batch_size`)")
    for name, allowed in rules.settings.items():
        if name in config and config[name] not in allowed:
            raise Refused(f"{name} {config[name]} is not allowed here, only {', '.join(map(str, allowed))}")


def _check_network(rules: GameRules, network: Network) -> None:
    if isinstance(network, MLP):
        _check_most("width", network.width, rules.max_width)
    if isinstance(network, CNN | PooledCNN):
        _check_most("layers", len(network.channels), rules.max_layers)
        _check_most("width", max(network.channels, default=0), rules.max_width)


def _check_layout(rules: Rules, layout: Layout) -> None:
    _check_most("classes", len(layout.classes), rules.survey.most_classes, "most_classes")
    if layout.kind == "table":
        _check_most("features", max(*layout.shape, len(layout.features)), rules.game.max_features)
        return
    channels, *sides = layout.shape
    _check_most("width", channels, rules.game.max_width)
    _check_most("side", max(sides), rules.game.max_side)


def _check_most(what: str, asked: int, most: int, rule: str = "") -> None:
    if asked > most:
        raise Refused(f"{what} {asked} is too large: {most} at most (`{rule or f'max_{what}'}`)")

"""All methods by name. Each is a file or a folder here, and a line below; none is loaded before it is used."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import BaseModel

from flgames.core.knobs import Plain
from flgames.errors import unknown

if TYPE_CHECKING:
    from flgames.core.method import Method
    from flgames.models.architecture import Architecture

METHODS = {
    "fl-games": "fl_games.server:Game",
    "settled": "settled.server:Settled",
    "fedsgd": "fedsgd:FedSGD",
    "fedavg": "fedavg:FedAvg",
    "fedprox": "fedprox:FedProx",
    "fedbn": "fedbn:FedBN",
    "fedgma": "fedgma:FedGMA",
    "fedmedian": "fedmedian:FedMedian",
    "local-mean": "local_mean:LocalMean",
    "logistic": "logistic:Logistic",
    "irm": "irm:IRM",
    "vrex": "vrex:VREx",
    "group-dro": "group_dro:GroupDRO",
}
"""Where the class of each method is."""


def find(name: str) -> type[Method]:
    """The class of a method."""
    if name not in METHODS:
        raise unknown("method", name, METHODS)
    module, _, name = METHODS[name].partition(":")
    found: type[Method] = getattr(importlib.import_module(f"flgames.methods.{module}"), name)
    return found


def config_of(name: str, values: Mapping[str, Plain]) -> BaseModel:
    """A method's configuration, with its defaults filled in."""
    return find(name).Config(**values)


def make(name: str, architecture: Architecture, values: Mapping[str, Plain]) -> Method:
    """A method for an architecture, with a configuration."""
    return find(name)(architecture, config_of(name, values))

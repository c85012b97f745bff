"""All methods by name, each with the type of its rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from flgames.errors import unknown
from flgames.methods.base import Method
from flgames.methods.fedavg import FedAvg, FedAvgRules
from flgames.methods.fedbn import FedBN, FedBNRules
from flgames.methods.fedgma import FedGMA, FedGMARules
from flgames.methods.fedprox import FedProx, FedProxRules
from flgames.methods.fedsgd import FedSGD
from flgames.methods.fl_games import Game
from flgames.methods.group_dro import GroupDRO, GroupDRORules
from flgames.methods.irm import IRM, IRMRules
from flgames.methods.shared_gradient import GradientRules
from flgames.methods.vrex import VREx, VRExRules
from flgames.models import Architecture
from flgames.rules import Rules

METHODS: dict[str, tuple[type[Any], type[BaseModel]]] = {
    "fl-games": (Game, Rules),
    "fedsgd": (FedSGD, GradientRules),
    "fedavg": (FedAvg, FedAvgRules),
    "fedprox": (FedProx, FedProxRules),
    "fedbn": (FedBN, FedBNRules),
    "fedgma": (FedGMA, FedGMARules),
    "irm": (IRM, IRMRules),
    "vrex": (VREx, VRExRules),
    "group-dro": (GroupDRO, GroupDRORules),
}


def rules_of(name: str, rules: Mapping[str, Any]) -> BaseModel:
    """A method's rules, with its defaults filled in."""
    if name not in METHODS:
        raise unknown("method", name, METHODS)
    return METHODS[name][1](**rules)


def make(name: str, architecture: Architecture, rules: Mapping[str, Any]) -> Method:
    method: Method = METHODS[name][0](architecture, rules_of(name, rules))
    return method

"""FL Games: federated learning whose model keeps working on clients it has never seen."""

__version__ = "0.1.0"

from flgames.data.clients import ArraySamples, HeldOut, Samples
from flgames.engines.local import LocalFederation
from flgames.measures import InvarianceProfile, invariance_profile
from flgames.methods.fedavg import FedAvg, FedAvgRules
from flgames.methods.fl_games import FLGames
from flgames.models import Architecture, Ensemble
from flgames.play import Observers, Play, Round
from flgames.rules import Rules
from flgames.stopping import StopBelow

__all__ = [
    "Architecture",
    "ArraySamples",
    "Ensemble",
    "FLGames",
    "FedAvg",
    "FedAvgRules",
    "HeldOut",
    "InvarianceProfile",
    "LocalFederation",
    "Observers",
    "Play",
    "Round",
    "Rules",
    "Samples",
    "StopBelow",
    "invariance_profile",
]

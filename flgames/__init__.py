"""FL Games: federated learning whose model keeps working on clients it has never seen."""

__version__ = "0.1.0"

from flgames.data.benchmark import Benchmark
from flgames.data.clients import ArraySamples, HeldOut, Samples, input_shape
from flgames.data.images import ImageSet
from flgames.data.spurious import Colour, Patch, SpuriousFeature
from flgames.engines.local import LocalFederation
from flgames.estimator import FLGames
from flgames.measures import InvarianceProfile, invariance_profile
from flgames.methods.fedavg import FedAvg, FedAvgRules
from flgames.methods.fl_games import Game
from flgames.models import Architecture, Ensemble, paper_architecture
from flgames.play import Observers, Play, Round
from flgames.rules import Rules
from flgames.stopping import BestRound, StopBelow
from flgames.tracking import Callback, TensorBoard

__all__ = [
    "Architecture",
    "ArraySamples",
    "Benchmark",
    "BestRound",
    "Callback",
    "Colour",
    "Ensemble",
    "FLGames",
    "FedAvg",
    "FedAvgRules",
    "Game",
    "HeldOut",
    "ImageSet",
    "InvarianceProfile",
    "LocalFederation",
    "Observers",
    "Patch",
    "Play",
    "Round",
    "Rules",
    "Samples",
    "SpuriousFeature",
    "StopBelow",
    "TensorBoard",
    "input_shape",
    "invariance_profile",
    "paper_architecture",
]

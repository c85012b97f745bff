"""FedAvg of pfl-research, in its simulated backend."""

# mypy: ignore-errors
from __future__ import annotations

import time
from functools import partial

import torch
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.sampling import get_user_sampler
from pfl.hyperparam.base import NNEvalHyperParams, NNTrainHyperParams
from pfl.metrics import Metrics
from pfl.model.pytorch import PyTorchModel
from torch.nn import functional

from flgames.report.peer.work import BATCH, RATE, Network, main, samples


class Judged(Network):
    def loss(self, inputs, targets):
        return functional.cross_entropy(self(inputs), targets)

    def metrics(self, *_):
        return {}


class Clock(TrainingProcessCallback):
    def __init__(self) -> None:
        self.moments: list[float] = []

    def after_central_iteration(self, *_, **__):
        self.moments.append(time.perf_counter())
        return False, Metrics()


def play(kind: str, clients: int, rounds: int) -> list[float]:
    everybody = [Dataset(raw_data=list(samples(kind, client))) for client in range(clients)]
    data = FederatedDataset(lambda user: everybody[user], get_user_sampler("minimize_reuse", range(clients)))
    module = Judged(kind)
    model = PyTorchModel(
        module,
        partial(torch.optim.Adam, fused=True),
        torch.optim.SGD(module.parameters(), lr=1.0),
    )
    clock = Clock()
    FederatedAveraging().run(
        NNAlgorithmParams(
            central_num_iterations=rounds + 1, evaluation_frequency=10**6, train_cohort_size=clients, val_cohort_size=0
        ),
        SimulatedBackend(data, data),
        model,
        NNTrainHyperParams(local_num_epochs=1, local_learning_rate=RATE, local_batch_size=BATCH),
        NNEvalHyperParams(local_batch_size=BATCH),
        [clock],
        send_metrics_to_platform=False,
    )
    return clock.moments


if __name__ == "__main__":
    main(play)

"""FedAvg of flgames, in one process."""

from __future__ import annotations

import time

from flgames.core.local import LocalFederation
from flgames.core.server import Server
from flgames.data.samples import ArraySamples
from flgames.methods.fedavg import FedAvg, FedAvgConfig
from flgames.models.linear import linear_architecture
from flgames.models.mlp import paper_architecture
from flgames.report.peer.work import BATCH, CLASSES, RATE, SHAPES, main, samples


def play(kind: str, clients: int, rounds: int) -> list[float]:
    shape = SHAPES[kind]
    network = linear_architecture(shape, CLASSES) if kind == "linear" else paper_architecture(shape, CLASSES, False)
    method = FedAvg(network, FedAvgConfig(local_steps="all", batch_size=BATCH, learning_rate=RATE))
    everybody = {f"client-{client}": ArraySamples(*samples(kind, client)) for client in range(clients)}
    server = Server(LocalFederation.of(method, everybody, seed=0))
    server.introduce()
    method.start(server, seed=0)
    clock = [time.perf_counter()]
    for round_ in range(rounds):
        method.round(server, round_, 0)
        clock.append(time.perf_counter())
    return clock


if __name__ == "__main__":
    main(play)

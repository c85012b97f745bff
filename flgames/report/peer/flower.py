"""FedAvg of Flower, in its simulation."""

from __future__ import annotations

import os
import time
from functools import lru_cache

import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from torch import Tensor

from flgames.report.peer.work import SAMPLES, Network, main, samples, train

KIND = "FLGAMES_PEER_KIND"

client_app = ClientApp()


@lru_cache
def _samples(kind: str, client: int) -> tuple[Tensor, Tensor]:
    return samples(kind, client)


@client_app.train()
def trained(message: Message, context: Context) -> Message:
    torch.set_num_threads(1)
    kind = os.environ[KIND]
    model = Network(kind)
    model.load_state_dict(message.content.array_records["arrays"].to_torch_state_dict())
    train(model, *_samples(kind, int(context.node_config["partition-id"])))
    told = RecordDict({"arrays": ArrayRecord(model.state_dict())})
    told["metrics"] = MetricRecord({"num-examples": SAMPLES})
    return Message(content=told, reply_to=message)


def play(kind: str, clients: int, rounds: int) -> list[float]:
    os.environ[KIND] = kind
    clock: list[float] = []

    class Timed(FedAvg):
        def aggregate_train(self, server_round, replies):  # type: ignore[no-untyped-def]
            whole = list(replies)
            if wrong := [reply.error.reason for reply in whole if reply.has_error()]:
                raise RuntimeError(wrong[0])  # what is not done is not fast
            found = super().aggregate_train(server_round, whole)
            clock.append(time.perf_counter())
            return found

    server_app = ServerApp()

    @server_app.main()
    def serve(grid: Grid, context: Context) -> None:
        strategy = Timed(fraction_evaluate=0.0, min_available_nodes=clients)
        strategy.start(grid, ArrayRecord(Network(kind).state_dict()), num_rounds=rounds + 1)

    run_simulation(server_app, client_app, clients, backend_config={"client_resources": {"num_cpus": 1}})
    return clock


if __name__ == "__main__":
    from flgames.report.peer import flower  # Ray's processes find what has a name, and __main__ is theirs

    main(flower.play)

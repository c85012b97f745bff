"""FedAvg as one writes it down in ten lines."""

from __future__ import annotations

import time

import torch

from flgames.report.peer.work import Network, main, samples, train


def play(kind: str, clients: int, rounds: int) -> list[float]:
    everybody = [samples(kind, client) for client in range(clients)]
    model, shared = Network(kind), Network(kind).state_dict()
    clock = [time.perf_counter()]
    for _ in range(rounds):
        total = {name: torch.zeros_like(tensor) for name, tensor in shared.items()}
        for inputs, targets in everybody:
            model.load_state_dict(shared)
            train(model, inputs, targets)
            for name, tensor in model.state_dict().items():
                total[name].add_(tensor, alpha=1 / clients)
        shared = total
        clock.append(time.perf_counter())
    return clock


if __name__ == "__main__":
    main(play)

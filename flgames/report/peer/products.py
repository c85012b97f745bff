"""The matrix products of a round of FedAvg, and nothing else."""

from __future__ import annotations

import time

import torch
from torch import nn

from flgames.report.peer.work import BATCH, SAMPLES, Network, main, samples


@torch.inference_mode()
def play(kind: str, clients: int, rounds: int) -> list[float]:
    matrices = [layer.weight for layer in Network(kind) if isinstance(layer, nn.Linear)]
    inputs = samples(kind, 0)[0][:BATCH].flatten(1)
    clock = [time.perf_counter()]
    for _ in range(rounds):
        for _ in range(clients * SAMPLES // BATCH):
            steps = [inputs]
            for weights in matrices:
                steps.append(torch.mm(steps[-1], weights.T))
            gradient = steps[-1]
            for place, weights in reversed(list(enumerate(matrices))):
                torch.mm(gradient.T, steps[place])
                if place:  # nobody needs the gradient of the input
                    gradient = torch.mm(gradient, weights)
        clock.append(time.perf_counter())
    return clock


if __name__ == "__main__":
    main(play)

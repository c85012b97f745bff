"""F-FL Games (Smooth) as one writes it down in twenty lines: simultaneous moves, and how right the ensemble is."""

from __future__ import annotations

import time
from collections import deque
from copy import deepcopy

import torch
from torch.nn import functional

from flgames.report.peer.work import BATCH, COUNTED, MEMORY, RATE, Network, main, samples


def play(kind: str, clients: int, rounds: int) -> list[float]:
    everybody = [samples(kind, client) for client in range(clients)]
    players = [Network(kind) for _ in range(clients)]
    optimisers = [torch.optim.Adam(player.parameters(), lr=RATE, fused=True) for player in players]
    buffers = [deque([deepcopy(player)], maxlen=MEMORY) for player in players]
    clock = [time.perf_counter()]
    for _ in range(rounds):
        for k, (inputs, targets) in enumerate(everybody):
            rows = torch.randint(len(targets), (BATCH,))
            x, y = inputs.index_select(0, rows), targets.index_select(0, rows)
            with torch.no_grad():
                others = sum(w(x) / len(buffer) for q, buffer in enumerate(buffers) if q != k for w in buffer)
            optimisers[k].zero_grad()
            functional.cross_entropy((players[k](x) + others) / clients, y).backward()  # type: ignore[no-untyped-call]
            optimisers[k].step()
        for player, buffer in zip(players, buffers, strict=True):
            buffer.append(deepcopy(player))
        with torch.no_grad():
            each = max(BATCH, COUNTED // clients)
            for inputs, targets in everybody:
                sum(player(inputs[:each]) for player in players).argmax(1).eq(targets[:each]).sum().item()
        clock.append(time.perf_counter())
    return clock


if __name__ == "__main__":
    main(play)

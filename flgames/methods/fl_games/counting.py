"""What all clients in one process count, in one pass an action.

Every player is evaluated at every client: with N clients of their own these are N x N passes. Few samples a client are
enough where there are many clients, so here all of them are gone through together, by every action once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from flgames.core.client import Client
from flgames.core.counts import Counts
from flgames.core.messages import Answer, Ask
from flgames.models.ensemble import predict, weighted_sum

ROWS = 2048
"""Samples a forward pass."""


class CountedTogether:
    """Answers for players of any kind on a fixed representation: counts of all clients at once."""

    def __init__(self) -> None:
        self._asked: tuple[int, Sequence[Client]] | None = None
        self._read: list[tuple[Tensor, Tensor]] = []
        """Features and targets of every client, which stand still."""

    def __call__(self, clients: Mapping[str, Client], asks: Mapping[str, Ask]) -> dict[str, Answer] | None:
        """Every client's counts; None where they are asked for something else."""
        first = next(iter(asks.values()))
        if first.task != "count":
            return None
        for name, ask in asks.items():
            clients[name].hear(ask.news)
        found = self._counts([clients[name] for name in asks], int(first.arguments["samples"]))
        return {
            name: Answer({"confusion": counts.confusion}, {"loss_sum": counts.loss_sum})
            for name, counts in zip(asks, found, strict=True)
        }

    @torch.no_grad()
    def _counts(self, clients: Sequence[Client], samples: int) -> list[Counts]:
        read = self._samples(clients, samples)
        who = clients[0]
        balance = who.known.balance
        bias = 0.0 if balance is None else balance["bias"]
        logits = [
            weighted_sum(
                (weight, predict(who.frozen_predictor, action.weights, rows)) for weight, action in who.model()
            )
            for rows in torch.split(torch.cat([features for features, _ in read]), ROWS)
        ]
        of_each = torch.split(torch.cat(logits), [len(targets) for _, targets in read])
        return [Counts.of(own + bias, targets, who.loss) for own, (_, targets) in zip(of_each, read, strict=True)]

    def _samples(self, clients: Sequence[Client], samples: int) -> list[tuple[Tensor, Tensor]]:
        if self._asked != (samples, clients):
            caches = [client.counted.features for client in clients]
            self._read = [cache.batch(torch.cat(cache.chunks)[:samples]) for cache in caches]
            self._asked = samples, clients
        return self._read

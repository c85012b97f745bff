"""Callbacks: print a line now and then, and write everything for TensorBoard.

pip install -c constraints.txt '.[track]' && python examples/callbacks.py
"""

from __future__ import annotations

import sys

import torch

from flgames import Callback, FLGames, TensorBoard
from flgames.core.records import GameResult, RoundRecord


class Printer(Callback):
    """Tells of every so manyth round."""

    def __init__(self, every: int) -> None:
        self.every = every

    def on_round(self, record: RoundRecord) -> None:
        if record.round % self.every == 0:
            print(f"round {record.round + 1}: {record.accuracy:.3f}, clients {record.spread:.3f} apart")

    def on_end(self, result: GameResult) -> None:
        print(f"chose round {result.chosen_round + 1}: {result.rule}")


def main(folder: str = "tracked", rounds: str = "200") -> None:
    torch.manual_seed(0)
    clients = {}
    for name in ("north", "south"):
        inputs = torch.randn(500, 4)
        clients[name] = inputs, (inputs[:, 0] > 0).long()
    model = FLGames(rounds=int(rounds), patience=30, callbacks=[Printer(every=20), TensorBoard(folder)])
    model.fit(clients)
    print(f"tensorboard --logdir {folder}")


if __name__ == "__main__":
    main(*sys.argv[1:])

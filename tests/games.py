"""Finished runs, to compare engines by, and who follows them."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file

from flgames.core.callbacks import Callback, GameInfo
from flgames.core.records import GameResult, RoundRecord
from flgames.runs.folder import RunFolder
from flgames.runs.resolve import resolve
from flgames.runs.runner import play_run


class Following(Callback):
    """Remembers all that it is told of games."""

    def __init__(self) -> None:
        self.started: list[GameInfo] = []
        self.records: list[RoundRecord] = []
        self.ended: list[GameResult] = []
        self.told: list[str] = []

    def on_start(self, game: GameInfo) -> None:
        self.started.append(game)
        self.told.append("start")

    def on_round(self, record: RoundRecord) -> None:
        self.records.append(record)
        self.told.append("round")

    def on_end(self, result: GameResult) -> None:
        self.ended.append(result)
        self.told.append("end")


def weights(run: Path) -> dict[str, torch.Tensor]:
    """The final model of a run of one game."""
    (path,) = run.glob("*/seed-0/model.safetensors")
    return load_file(path)


def local_weights(folder: Path, *options: str) -> dict[str, torch.Tensor]:
    """What the local engine ends with, given options as on the command line."""
    pairs = zip(options[::2], options[1::2], strict=True)
    settings = resolve({name.removeprefix("--").replace("-", "_"): value for name, value in pairs})
    play_run(RunFolder.create(folder, settings))
    return weights(folder)


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    """Bit for bit."""
    return one.keys() == other.keys() and all(torch.equal(tensor, other[name]) for name, tensor in one.items())

"""Finished runs, to compare engines by."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file

from flgames.runs.runner import contest
from flgames.runs.folder import RunFolder
from flgames.runs.settings import resolve


def weights(run: Path) -> dict[str, torch.Tensor]:
    """The final model of a run of one game."""
    (path,) = run.glob("*/seed-0/model.safetensors")
    return load_file(path)


def local_weights(folder: Path, *options: str) -> dict[str, torch.Tensor]:
    """What the local engine ends with, given options as on the command line."""
    pairs = zip(options[::2], options[1::2], strict=True)
    settings = resolve({name.removeprefix("--").replace("-", "_"): value for name, value in pairs})
    contest(RunFolder.create(folder, settings), lambda *_: None, lambda: False)
    return weights(folder)


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    """Bit for bit."""
    return one.keys() == other.keys() and all(torch.equal(tensor, other[name]) for name, tensor in one.items())

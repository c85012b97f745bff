"""The held-out client can't reach training, stopping or selection."""

from __future__ import annotations

import gc
import types
from typing import Any

import pytest
import torch

from flgames.core.client import Site
from flgames.data.benchmarks.clients import HeldOut
from flgames.data.benchmarks.registry import by_name
from flgames.data.samples import Samples
from flgames.runs.entries import game
from flgames.runs.folder import RunFolder
from flgames.runs.resolve import resolve
from flgames.runs.runner import play_run, set_up


def reachable(root: Any) -> list[Any]:
    """Everything that an object holds on to, directly or not. Modules and classes are the program, not its data."""
    seen: dict[int, Any] = {}
    waiting = [root]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, types.ModuleType | type):
            continue
        if isinstance(thing, dict) and "__builtins__" in thing:
            continue
        seen[id(thing)] = thing
        waiting += gc.get_referents(thing)
    return list(seen.values())


def test_a_held_out_client_is_no_samples() -> None:
    held_out = by_name("colored-digits").held_out_client(0)
    assert not isinstance(held_out, Samples)
    with pytest.raises(TypeError, match="trains on Samples, not on HeldOut"):
        Site("thief", held_out, 0)  # type: ignore[arg-type]


def test_nothing_that_plays_holds_the_held_out_client() -> None:
    settings = resolve({"rounds": 3})
    source = by_name("colored-digits")
    clients, held_out = source.training_clients(0), source.held_out_client(0)
    play = set_up(game(settings), clients, 2, 0, torch.device("cpu"))
    play.start()
    play.run()
    things = reachable(play)
    assert any(isinstance(thing, Samples) and not isinstance(thing, type) for thing in things), "the walk works"
    assert not any(isinstance(thing, HeldOut) for thing in things)
    pictures = {image.numpy().tobytes() for image in held_out.images}
    tensors = [
        thing for thing in things if isinstance(thing, torch.Tensor) and thing.dtype == torch.uint8 and thing.ndim == 3
    ]
    assert tensors, "the training images are there"
    assert not any(image.numpy().tobytes() in pictures for tensor in tensors for image in tensor)


def test_probing_changes_nothing(tmp_path: Any) -> None:
    weights = []
    for probe_every in (0, 1):
        settings = resolve({"rounds": 4, "against": "none", "probe_every": probe_every, "threads": 1})
        run = RunFolder.create(tmp_path / str(probe_every), settings)
        play_run(run)
        ((_, folder),) = run.games()
        weights.append((folder.path / "model.safetensors").read_bytes())
        assert len(folder.probes()) == 4 * probe_every
    assert weights[0] == weights[1]

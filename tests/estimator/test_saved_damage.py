"""A saved model that was damaged is noticed when it is loaded.

``FLGAMES_FLIPS`` is how many bits are flipped, one after the other, in each of its files.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from flgames import FLGames
from flgames.sealed import Damaged
from tests.runs.test_damage import flipped, some_bits


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = torch.Generator().manual_seed(0)
    values = torch.randn(60, 3, generator=draw).numpy()
    with pytest.warns(UserWarning, match="ended the game before its rule did"):
        model = FLGames(rounds=2, settle="never").fit(values, (values[:, 0] > 0).astype(int), groups=["a", "b"] * 30)
    path: Path = tmp_path_factory.mktemp("saved") / "model"
    model.save(path)
    return path


@pytest.mark.parametrize("name", ["model.json", "weights.safetensors", "model.onnx", "SHA256SUMS"])
def test_no_flipped_bit_of_a_saved_model_is_loaded(saved: Path, name: str, tmp_path: Path) -> None:
    shutil.copytree(saved, tmp_path / "model")
    path = tmp_path / "model" / name
    content = path.read_bytes()
    FLGames.load(tmp_path / "model")
    for bit in some_bits(content):
        path.write_bytes(flipped(content, bit))
        with pytest.raises(Damaged):
            FLGames.load(tmp_path / "model")


def test_a_model_of_before_is_loaded_with_a_word(saved: Path, tmp_path: Path) -> None:
    shutil.copytree(saved, tmp_path / "model")
    (tmp_path / "model" / "SHA256SUMS").unlink()
    with pytest.warns(UserWarning, match="has no SHA256SUMS"):
        FLGames.load(tmp_path / "model")

"""The files in which image sets are published: all formats decode to the same arrays, and damaged files are named."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from flgames.data.benchmarks.formats import read_cifar, read_idx_files
from flgames.data.benchmarks.images import ImageSet
from tests.data.test_mirrors import small_set, write_idx


def write_cifar(folder: Path, images: ImageSet, kind: str) -> None:
    """Five train batches of two images, and a test batch of four, as each publisher lays them out."""
    folder.mkdir()
    batches = {f"data_batch_{n + 1}": slice(2 * n, 2 * n + 2) for n in range(5)} | {"test_batch": slice(0, 4)}
    for name, rows in batches.items():
        part = "test" if name == "test_batch" else "train"
        pixels, kinds = getattr(images, f"{part}_images")[rows], getattr(images, f"{part}_kinds")[rows]
        if kind == "binary":
            (folder / f"{name}.bin").write_bytes(np.hstack([kinds[:, None], pixels.reshape(len(kinds), -1)]).tobytes())
        elif kind == "python":
            batch = {b"data": pixels.reshape(len(kinds), -1), b"labels": kinds.tolist()}
            (folder / name).write_bytes(pickle.dumps(batch, protocol=2))
        else:
            sheet = pixels.transpose(0, 2, 3, 1).reshape(len(kinds), 1024, 3)
            Image.fromarray(sheet).save(folder / f"{name}.png")
            (folder / f"{part}_lables.json").write_text(json.dumps(getattr(images, f"{part}_kinds").tolist()))


@pytest.mark.parametrize("kind", ["binary", "python", "sheets"])
def test_cifar_is_the_same_in_every_format(kind: str, tmp_path: Path) -> None:
    images = small_set(colour=True)
    write_cifar(tmp_path / "cifar", images, kind)
    assert read_cifar(tmp_path / "cifar").sha256() == images.sha256()


@pytest.mark.parametrize(
    ("kind", "file"), [("binary", "data_batch_2.bin"), ("python", "data_batch_2"), ("sheets", "data_batch_2.png")]
)
def test_a_cut_batch_is_named(kind: str, file: str, tmp_path: Path) -> None:
    write_cifar(tmp_path / "cifar", small_set(colour=True), kind)
    path = tmp_path / "cifar" / file
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ValueError, match=file):
        read_cifar(tmp_path / "cifar")


def test_a_pickle_that_would_run_something_is_refused(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return (os.system, (f"touch {tmp_path}/ran",))

    write_cifar(tmp_path / "cifar", small_set(colour=True), "python")
    (tmp_path / "cifar" / "data_batch_3").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(ValueError, match="data_batch_3 is damaged"):
        read_cifar(tmp_path / "cifar")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("value", [None, [1, 2], {b"data": 3, b"labels": 4}, {b"data": np.zeros(5), b"labels": [300]}])
def test_a_pickle_of_something_else_is_named(value: object, tmp_path: Path) -> None:
    write_cifar(tmp_path / "cifar", small_set(colour=True), "python")
    (tmp_path / "cifar" / "data_batch_4").write_bytes(pickle.dumps(value, protocol=2))
    with pytest.raises(ValueError, match="data_batch_4 is damaged"):
        read_cifar(tmp_path / "cifar")


@pytest.mark.parametrize("damage", [b"", b"\x00\x00", b"\x00\x00\x08\x03\x00", b"GIF89a" + bytes(50)])
def test_a_file_that_is_no_idx(damage: bytes, tmp_path: Path) -> None:
    write_idx(tmp_path, zipped=False)
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(damage)
    with pytest.raises(ValueError, match="t10k-images-idx3-ubyte"):
        read_idx_files(tmp_path)

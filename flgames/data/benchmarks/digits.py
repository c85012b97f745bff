"""scikit-learn's handwritten digits: embedded, nothing is fetched."""

from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path

import numpy as np

from flgames.data.benchmarks.images import ImageSet

TRAIN = 1300
WHITE = 16
"""The brightest grey level."""

FILE = Path("datasets") / "data" / "digits.csv.gz"
"""Where scikit-learn keeps them: a row an image, its 64 pixels and the digit."""


def digits(seed: int = 0) -> ImageSet:
    """1,797 images of 8 x 8 pixels, the same for all seeds: the first 1,300 are the train part."""
    rows = _rows().astype(np.uint8)
    return ImageSet.split(rows[:, :-1].reshape(-1, 8, 8), rows[:, -1], TRAIN)


def _rows() -> np.ndarray:
    """From scikit-learn's file, without loading scikit-learn: that takes longer than a short game."""
    package = importlib.util.find_spec("sklearn")
    for folder in (package and package.submodule_search_locations) or ():
        if (Path(folder) / FILE).exists():
            with gzip.open(Path(folder) / FILE, "rt") as file:
                return np.loadtxt(file, delimiter=",")
    from sklearn.datasets import load_digits

    bunch = load_digits()
    return np.column_stack([bunch.data, bunch.target])

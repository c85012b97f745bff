"""scikit-learn's handwritten digits: embedded, nothing is fetched."""

from __future__ import annotations

import numpy as np

from flgames.data.benchmarks.images import ImageSet

TRAIN = 1300
WHITE = 16
"""The brightest grey level."""


def digits(seed: int = 0) -> ImageSet:
    """1,797 images of 8 x 8 pixels, the same for all seeds: the first 1,300 are the train part."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    images, kinds = bunch.images.astype(np.uint8), bunch.target.astype(np.uint8)
    return ImageSet.split(images, kinds, TRAIN)

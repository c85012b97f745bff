"""Grey images of any size as images of one size and one range of brightness."""

from __future__ import annotations

import numpy as np


def resized(images: np.ndarray, side: int, white: int) -> np.ndarray:
    """Bytes of ``side`` x ``side`` pixels, where ``white`` becomes 255.

    A side that shrinks is averaged over the area of each new pixel; one that grows is interpolated linearly. Weights
    are sums of powers of two for the sizes that we have, so that every machine gets the same bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from flgames.data.benchmarks.resize import resized
    >>> resized(np.array([[[0, 16], [16, 16]]]), side=1, white=16).tolist()
    [[[191]]]
    >>> resized(np.array([[[0, 4]]]), side=4, white=4)[0, 0].tolist()
    [0, 64, 191, 255]
    """
    down, across = (_weights(size, side) for size in images.shape[1:])
    total = down[0].sum() * across[0].sum()
    summed = down @ images.astype(np.float64) @ across.T
    return np.asarray(np.rint(summed * 255 / (total * white)).clip(0, 255), dtype=np.uint8)


def _weights(size: int, side: int) -> np.ndarray:
    """How much of each old pixel is in each new one: a row a new pixel, not yet divided by their sum."""
    old, new = np.arange(size), np.arange(side)[:, None]
    if side < size:
        step = size / side
        return np.asarray(np.maximum(0, np.minimum(old + 1, (new + 1) * step) - np.maximum(old, new * step)))
    middle = np.clip((new + 0.5) * size / side - 0.5, 0, size - 1)
    return np.asarray(np.maximum(0, 1 - abs(old - middle)))

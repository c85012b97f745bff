"""Spurious features: what is painted into an image and predicts the label at the training clients only."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from flgames.seeds import generator


class SpuriousFeature(Protocol):
    """Paints a code z into grey images."""

    def paint(self, images: Tensor, codes: Tensor) -> Tensor:
        """uint8 images (n, height, width) and codes (n,) to float inputs (n, channels, height, width)."""

    def shape(self, height: int, width: int) -> tuple[int, ...]:
        """The shape of one painted image."""


class Colour:
    """One colour channel a class; the image goes into the channel of its code and the others stay zero.

    With two classes channel 0 is red and stands for z = 1, channel 1 is green and stands for z = 0.
    """

    def __init__(self, classes: int = 2, white: int = 255, binary: bool = False) -> None:
        self.classes = classes
        self.white = white
        self.binary = binary

    def paint(self, images: Tensor, codes: Tensor) -> Tensor:
        white = 1 if self.binary else self.white
        grey = (images > 0).byte() if self.binary else images
        channels = self.classes - 1 - torch.arange(self.classes, device=images.device)
        chosen = codes[:, None] == channels
        # Bytes are multiplied, so that only the result is as wide as floats.
        return (chosen[:, :, None, None] * grey[:, None]).float().div_(white)

    def shape(self, height: int, width: int) -> tuple[int, ...]:
        return self.classes, height, width


def noisy_labels(clean: np.ndarray, classes: int, noise: float, seed: int, client: str) -> np.ndarray:
    """Labels of which a share ``noise`` is moved to the next class: the invariant feature is made imperfect."""
    return _moved(clean, classes, noise, generator(seed, "label noise", client))


def spurious_codes(labels: np.ndarray, classes: int, flip: float, seed: int, client: str) -> np.ndarray:
    """Codes that follow the noisy label, except that a share ``flip`` is moved to the next class."""
    return _moved(labels, classes, flip, generator(seed, "spurious codes", client))


def _moved(values: np.ndarray, classes: int, share: float, draw: np.random.Generator) -> np.ndarray:
    return (values + (draw.random(len(values)) < share)) % classes

"""Spurious features: what is painted into an image and predicts the label at the training clients only."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from flgames.seeds import generator


class SpuriousFeature(ABC):
    """Paints a code z into images.

    Examples
    --------
    >>> from flgames.data.benchmarks.spurious import Patch
    >>> Patch().names
    ('left', 'right')
    """

    noun: str = "the feature"
    names: Sequence[str]
    """What a person calls it, and each of its codes."""

    @abstractmethod
    def paint(self, images: Tensor, codes: Tensor) -> Tensor:
        """uint8 images and codes (n,) to float inputs (n, channels, height, width)."""

    def without(self, images: Tensor) -> Tensor:
        """The same inputs without the feature, in the same shape: what the grey oracle sees."""
        raise NotImplementedError(f"{type(self).__name__} does not say how an image looks without it")

    def picture(self, painted: Tensor) -> np.ndarray:
        """Painted images for people's eyes: (n, height, width, 3), from 0 to 1."""
        return painted.expand(-1, 3, -1, -1).permute(0, 2, 3, 1).numpy()


class Colour(SpuriousFeature):
    """One colour channel a class; the image goes into the channel of its code and the others stay zero.

    With two classes channel 0 is red and stands for z = 1, channel 1 is green and stands for z = 0. With more, channel
    z stands for z.

    Examples
    --------
    >>> import torch
    >>> from flgames.data.benchmarks.spurious import Colour
    >>> Colour(2).paint(torch.full((1, 1, 1), 255, dtype=torch.uint8), torch.tensor([1])).flatten().tolist()
    [1.0, 0.0]
    """

    noun = "colour"
    PALETTE: ClassVar = {
        "red": (1.0, 0.15, 0.15), "green": (0.1, 0.8, 0.1), "blue": (0.25, 0.4, 1.0), "yellow": (1.0, 0.9, 0.1),
        "magenta": (1.0, 0.2, 0.9), "cyan": (0.1, 0.9, 0.9), "orange": (1.0, 0.55, 0.0), "white": (1.0, 1.0, 1.0),
        "violet": (0.6, 0.3, 0.9), "brown": (0.6, 0.4, 0.2),
    }  # fmt: skip
    """How a person sees the channels, in their order."""

    def __init__(self, classes: int = 2, white: int = 255, binary: bool = False) -> None:
        if not 2 <= classes <= len(self.PALETTE):
            raise ValueError(f"There are {len(self.PALETTE)} colours; {classes} classes were asked for.")
        self.white = white
        self.binary = binary
        self.code_of_channel = (1, 0) if classes == 2 else tuple(range(classes))
        channels = list(self.PALETTE)
        self.names = [channels[self.code_of_channel.index(code)] for code in range(classes)]

    def paint(self, images: Tensor, codes: Tensor) -> Tensor:
        grey, white = self._grey(images)
        chosen = codes[:, None] == torch.tensor(self.code_of_channel, device=images.device)
        # Bytes are multiplied, so that only the result is as wide as floats.
        return (chosen[:, :, None, None] * grey[:, None]).float().div_(white)

    def without(self, images: Tensor) -> Tensor:
        """Grey: the image is in every channel."""
        grey, white = self._grey(images)
        return grey[:, None].float().div_(white).expand(-1, len(self.code_of_channel), -1, -1)

    def _grey(self, images: Tensor) -> tuple[Tensor, int]:
        return ((images > 0).byte(), 1) if self.binary else (images, self.white)

    def picture(self, painted: Tensor) -> np.ndarray:
        palette = torch.tensor(list(self.PALETTE.values())[: painted.shape[1]])
        return torch.einsum("nchw,cd->nhwd", painted, palette).clamp(0, 1).numpy()


class Patch(SpuriousFeature):
    """A black square in the top left corner for z = 0, in the top right one for z = 1.

    Examples
    --------
    >>> import torch
    >>> from flgames.data.benchmarks.spurious import Patch
    >>> white = torch.full((1, 3, 4, 4), 255, dtype=torch.uint8)
    >>> Patch(size=2).paint(white, torch.tensor([0]))[0, 0, 0].tolist()
    [0.0, 0.0, 1.0, 1.0]
    """

    noun = "the patch"
    names = ("left", "right")

    def __init__(self, size: int = 5) -> None:
        self.size = size

    def paint(self, images: Tensor, codes: Tensor) -> Tensor:
        height, width = images.shape[-2:]
        keep = torch.ones(2, 1, height, width, dtype=torch.uint8, device=images.device)
        keep[0, :, : self.size, : self.size] = 0
        keep[1, :, : self.size, width - self.size :] = 0
        return (_planes(images) * keep[codes]).float().div_(255)

    def without(self, images: Tensor) -> Tensor:
        """No patch."""
        return _planes(images).float().div_(255)


class Removed(SpuriousFeature):
    """Paints nothing, whatever the code: for the oracle that can't see the feature."""

    def __init__(self, feature: SpuriousFeature) -> None:
        self.feature = feature
        self.noun, self.names = feature.noun, feature.names

    def paint(self, images: Tensor, codes: Tensor) -> Tensor:
        return self.feature.without(images)

    def without(self, images: Tensor) -> Tensor:
        return self.feature.without(images)

    def picture(self, painted: Tensor) -> np.ndarray:
        return self.feature.picture(painted)


def _planes(images: Tensor) -> Tensor:
    return images if images.ndim == 4 else images[:, None]


def noisy_labels(clean: np.ndarray, classes: int, noise: float, seed: int, client: str) -> np.ndarray:
    """Labels of which a share ``noise`` is moved to the next class: the invariant feature is made imperfect."""
    return _moved(clean, classes, noise, generator(seed, "label noise", client))


def spurious_codes(labels: np.ndarray, classes: int, flip: float | None, seed: int, client: str) -> np.ndarray:
    """Codes that follow the noisy label, except that a share ``flip`` is moved to the next class; None: codes that tell
    nothing of the label, because each is as likely as any other."""
    draw = generator(seed, "spurious codes", client)
    return draw.integers(classes, size=len(labels)) if flip is None else _moved(labels, classes, flip, draw)


def _moved(values: np.ndarray, classes: int, share: float, draw: np.random.Generator) -> np.ndarray:
    return (values + (draw.random(len(values)) < share)) % classes

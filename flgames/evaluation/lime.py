"""LIME for small images with a spurious feature: how much of a prediction the feature takes.

Segments of pixels can't tell ink from its colour, so an image is described by its segments *and* by one more variable
for the spurious feature: present as it is, or moved (ink in another channel, the patch in the other corner). A linear
model of the network around the image then has a coefficient for each, and the share
``|beta_spurious| / sum |beta|`` says how much of the prediction is the feature's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from flgames.data.benchmarks.clients import HeldOut
from flgames.errors import UserError
from flgames.seeds import torch_seed
from flgames.waiting.told import followed

CELLS = 7
"""Segments a side: four pixels each on Colored MNIST."""

SAMPLES = 500
"""Perturbed images an explanation is made from."""

KERNEL_WIDTH = 0.5
"""How near, as a share of variables that are switched off, an image counts fully."""


@dataclass(frozen=True)
class Explanation:
    """One prediction, explained: a coefficient for every segment, and one for the spurious feature."""

    image: np.ndarray
    """As a person sees it, (height, width, 3)."""
    mask: np.ndarray
    """The coefficient of the segment that each pixel lies in."""
    spurious: float
    """The coefficient of the spurious feature."""
    total: float
    """The sum of all coefficients' sizes."""
    label: int
    prediction: int

    @property
    def share(self) -> float:
        """Of all attribution, that of the spurious feature; 0 where nothing matters."""
        return abs(self.spurious) / self.total if self.total else 0.0


def segments_of(image: Tensor) -> Tensor:
    """A grid: the number of its cell for every pixel. Cells without ink are not segments, and are -1."""
    grey = image if image.ndim == 2 else image.amax(0)
    height, width = grey.shape
    rows = torch.arange(height) * CELLS // height
    columns = torch.arange(width) * CELLS // width
    cells = rows[:, None] * CELLS + columns
    inked = torch.unique(cells[grey > 0])
    return torch.where(torch.isin(cells, inked), torch.searchsorted(inked, cells), -1)


def explain(model: nn.Module, held_out: HeldOut, rows: Sequence[int], seed: int = 0) -> list[Explanation]:
    """Explain the model's predictions for these held-out images."""
    said = followed(rows, lambda row: f"explaining image {row}")
    return [_explain(model.eval(), held_out, row, seed) for row in said]


def _explain(model: nn.Module, held_out: HeldOut, row: int, seed: int) -> Explanation:
    lime_base, regression = captum()
    image, code, label = held_out.images[row], held_out.codes[row].long(), int(held_out.labels[row])
    segments = segments_of(image)
    count = int(segments.max()) + 1
    moved = (code + 1) % held_out.classes

    def paint(variables: Tensor) -> Tensor:
        """The image with these segments' ink, and with its feature as it is or moved."""
        keep = torch.cat([variables[0, :count] > 0, torch.tensor([True])])[segments]
        chosen = code if variables[0, count] > 0 else moved
        return held_out.feature.paint((image * keep)[None], chosen[None])

    with torch.no_grad():
        prediction = int(model(paint(torch.ones(1, count + 1))).argmax())

    def probability(inputs: Tensor) -> Tensor:
        with torch.no_grad():
            return torch.softmax(model(inputs), 1)[:, prediction]

    lime = lime_base(
        probability,
        regression(),
        similarity_func=lambda _, __, variables, **___: torch.exp(-(((1 - variables.mean()) / KERNEL_WIDTH) ** 2)),
        perturb_func=lambda _, **__: torch.bernoulli(torch.full((1, count + 1), 0.5)),
        perturb_interpretable_space=True,
        from_interp_rep_transform=lambda variables, _, **__: paint(variables),
        to_interp_rep_transform=None,
    )
    with torch_seed(seed, "explain", str(row)):
        whole = paint(torch.ones(1, count + 1))
        beta = lime.attribute(whole, n_samples=SAMPLES, perturbations_per_eval=SAMPLES).reshape(-1).numpy()
    mask = np.append(beta[:count], 0.0)[segments.numpy()]
    picture = held_out.feature.picture(paint(torch.ones(1, count + 1)))[0]
    return Explanation(picture, mask, float(beta[count]), float(np.abs(beta).sum()), label, prediction)


def chosen_rows(held_out: HeldOut, images: int) -> list[int]:
    """The first held-out images of every label in turn, so that each label is explained as often."""
    by_label = [torch.nonzero(held_out.labels == label)[:, 0].tolist() for label in range(held_out.classes)]
    return [rows[turn] for turn in range(images) for rows in by_label if turn < len(rows)][:images]


def captum() -> tuple[Any, Any]:
    """LimeBase and the linear model that it fits, or a sentence that says how to get them."""
    try:
        from captum._utils.models.linear_model import SkLearnRidge
        from captum.attr import LimeBase
    except ImportError:
        raise UserError("Explanations need captum: pip install -c constraints.txt '.[explain]' installs it.") from None
    return LimeBase, SkLearnRidge

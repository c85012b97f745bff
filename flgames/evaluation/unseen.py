"""What a model does on clients that it was not trained on. People read it; nothing that trains or stops does."""

from __future__ import annotations

import torch
from torch import nn

from flgames.core.figures import Figures
from flgames.data.own.records import Unseen
from flgames.data.samples import EVALUATED


@torch.inference_mode()
def figures_on(
    model: nn.Module, unseen: Unseen, device: torch.device, temperature: float = 1.0, chunk: int = EVALUATED
) -> Figures:
    """A client's figures of a model, with its logits divided by a temperature.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> from flgames.data.own.records import InMemory, LaidOut, Unseen
    >>> from flgames.evaluation.unseen import figures_on
    >>> there = Unseen("west", LaidOut(InMemory(torch.eye(2)), torch.tensor([0, 1]), nn.Identity()))
    >>> figures_on(nn.Identity(), there, torch.device("cpu")).accuracy
    1.0
    """
    model = model.to(device).eval()
    said, truth = [], []
    for inputs, targets in unseen.chunks(chunk):
        said.append((model(inputs.to(device)).double() / temperature).softmax(1).cpu())
        truth.append(targets)
    return Figures.of(torch.cat(said), torch.cat(truth))

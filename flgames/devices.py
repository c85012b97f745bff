"""Where matrices are multiplied."""

from __future__ import annotations

import torch

from flgames.errors import UserError


def chosen_device(name: str) -> torch.device:
    """The device of this name, if it can be used."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.zeros(1, device=name).device
        float(torch.ones(1, device=device))
        return device
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise UserError(f"`device` {name} can't be used here: {str(error).splitlines()[0]}") from None

"""Where matrices are multiplied, and what is not loaded for it."""

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


def leave_compiler_out() -> None:
    """In this process nothing is compiled: make optimisers without loading torch's compiler.

    torch loads it with the first optimiser, only to tell it what not to compile, and that takes as long as loading
    torch itself. Where a later torch does it in another way, this changes nothing.
    """
    for function in vars(torch.optim.Optimizer).values():
        plain = getattr(function, "__wrapped__", None)
        if plain is not None and not hasattr(plain, "__dynamo_disable"):
            setattr(plain, "__dynamo_disable", plain)

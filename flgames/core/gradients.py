"""Gradients as clients send them: the gradient of a mean over samples, and the module's buffers after it.

The server adds them and takes a step, be it of phi or of a model that all clients share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import torch
from torch import nn

from flgames.core.messages import TIMES_GRADIENT, Answer, Form
from flgames.models.architecture import Weights

GRADIENT, BUFFER = "gradient", "buffer"


def gradient_answer(module: nn.Module, loss: float) -> Answer:
    """What a client answers after it has collected a module's gradient, which is taken away from the module."""
    tensors = {
        f"{GRADIENT}/{name}": torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        for name, parameter in module.named_parameters()
    }
    tensors |= {f"{BUFFER}/{name}": buffer.clone() for name, buffer in module.named_buffers()}
    module.zero_grad(set_to_none=True)
    return Answer(tensors, {"loss": loss})


def gradient_form(module: nn.Module) -> Form:
    """What such an answer looks like."""
    like: Weights = {f"{GRADIENT}/{name}": parameter for name, parameter in module.named_parameters()}
    like |= {f"{BUFFER}/{name}": buffer for name, buffer in module.named_buffers()}
    return Form.of(like, "loss", times=TIMES_GRADIENT)


def _gradients_and_buffers(answer: Answer) -> tuple[Weights, Weights]:
    """Take such an answer apart again."""
    parts: dict[str, Weights] = {GRADIENT: {}, BUFFER: {}}
    for key, tensor in answer.tensors.items():
        kind, _, name = key.partition("/")
        parts[kind][name] = tensor
    return parts[GRADIENT], parts[BUFFER]


def losses_of(answers: Mapping[str, Answer]) -> dict[str, float]:
    """The loss that each client reported."""
    return {client: float(answer.numbers["loss"]) for client, answer in answers.items()}


def shares_by_size(samples: Mapping[str, int], clients: Iterable[str], cap: float = 1.0) -> dict[str, float]:
    """N_k/N of these clients, none of it above ``cap``: what is above goes to the others, by their size.

    Where so many clients can't share everything, all have the same.

    Examples
    --------
    >>> from flgames.core.gradients import shares_by_size
    >>> shares_by_size({"north": 100, "south": 100, "east": 10**18}, ("north", "south", "east"), cap=0.5)
    {'north': 0.25, 'south': 0.25, 'east': 0.5}
    """
    sizes = {client: samples[client] for client in clients}
    total = sum(sizes.values())
    shares = {client: size / total for client, size in sizes.items()}
    full: set[str] = set()
    while over := {client for client, share in shares.items() if share > cap and client not in full}:
        full |= over
        rest = sum(size for client, size in sizes.items() if client not in full)
        left = 1 - cap * len(full)
        if left <= 0 or not rest:
            return dict.fromkeys(sizes, 1 / len(sizes))
        shares = {client: cap if client in full else left * size / rest for client, size in sizes.items()}
    return shares


def combine(tensors: Mapping[str, Weights], shares: Mapping[str, float]) -> Weights:
    """The sum of the clients' tensors, each times its share; counters, which have no sum, are the first client's."""
    first = next(iter(tensors.values()))
    total = {name: torch.zeros_like(like) if like.is_floating_point() else like for name, like in first.items()}
    for client, own in tensors.items():
        for name, value in total.items():
            if value.is_floating_point():
                value.add_(own[name], alpha=shares[client])
    return total


Merge = Callable[[Mapping[str, Weights], Mapping[str, float]], Weights]
"""Makes one of the clients' tensors, by the clients' shares."""


def descend(
    module: nn.Module,
    optimiser: torch.optim.Optimizer,
    answers: Mapping[str, Answer],
    shares: Mapping[str, float],
    by_size: Mapping[str, float],
    l2: float = 0.0,
    scale: float = 1.0,
    merge: Merge = combine,
) -> None:
    """One step of a module on its clients' gradients, each times its share; its buffers become their mean by N_k/N.

    ``l2`` times the squared norm of the weights is added to what is descended, and all of it is multiplied by
    ``scale``. ``merge`` may be another one than their sum.
    """
    parts = {client: _gradients_and_buffers(answer) for client, answer in answers.items()}
    gradient = merge({client: gradient for client, (gradient, _) in parts.items()}, shares)
    buffers = merge({client: buffers for client, (_, buffers) in parts.items()}, by_size)
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            parameter.grad = (gradient[name].to(parameter.device) + 2 * l2 * parameter.detach()) * scale
    optimiser.step()
    module.load_state_dict(buffers, strict=False)

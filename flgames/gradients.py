"""Gradients as clients send them: the gradient of a mean over samples, and the module's buffers after it."""

from __future__ import annotations

import torch
from torch import nn

from flgames.federation import Answer, Form, Weights

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
    like = {f"{GRADIENT}/{name}": parameter for name, parameter in module.named_parameters()}
    return Form.of(like | {f"{BUFFER}/{name}": buffer for name, buffer in module.named_buffers()}, "loss")


def gradients_and_buffers(answer: Answer) -> tuple[Weights, Weights]:
    """Take such an answer apart again."""
    parts: dict[str, Weights] = {GRADIENT: {}, BUFFER: {}}
    for key, tensor in answer.tensors.items():
        kind, _, name = key.partition("/")
        parts[kind][name] = tensor
    return parts[GRADIENT], parts[BUFFER]

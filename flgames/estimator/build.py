"""From what a person passes to ``FLGames`` to what a game needs: labels, weights, modules, phi."""

from __future__ import annotations

import copy
import inspect
import math
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from flgames.core.local import LocalFederation
from flgames.core.loop import Play
from flgames.core.messages import MODEL
from flgames.data.own.arrays import GivenRecords
from flgames.data.own.labels import class_name
from flgames.data.own.survey import Survey, class_counts
from flgames.data.samples import Samples
from flgames.errors import UserError
from flgames.methods.fedavg import FedAvg
from flgames.models.architecture import Architecture, MakesOptimiser, Weights, phi_of
from flgames.models.class_weights import balanced_weights, weighted_loss
from flgames.models.linear import is_linear, linear_predictor
from flgames.models.networks import CNN, MLP, Linear, PooledCNN
from flgames.runs.entries import pretraining
from flgames.runs.settings import Settings

Module = nn.Module | Callable[..., nn.Module]
"""A module, of which copies are made, or a function that makes one."""

PREDICTORS = ("linear", "mlp")
"""Predictors by name."""


def labels_of(records: Mapping[str, GivenRecords], classes: Sequence[Any] | None) -> list[Hashable]:
    """The labels in their order; one that nobody expects is an error, one that a client lacks a warning."""
    found = {label for each in records.values() for label in each.found.values()}
    labels: list[Any] = list(classes) if classes is not None else sorted(found, key=_order)
    for name, each in records.items():
        own = set(each.found.values())
        for label in own:
            if label not in labels:
                raise UserError(f"{name} has the label {label!r}, which is none of {labels}.")
        if missing := [label for label in labels if label not in own]:
            warnings.warn(f"{name} has no sample of {', '.join(map(str, missing))}.", stacklevel=3)
    if len(labels) < 2:
        raise UserError(f"All samples have the label {labels[0]!r}: there is nothing to tell apart.")
    return labels


def class_weights(
    given: str | Mapping[Any, float] | None, surveys: Mapping[str, Survey], labels: Sequence[Hashable]
) -> tuple[float, ...] | None:
    """The weight of every class in the loss."""
    if given is None:
        return None
    if isinstance(given, str):
        if given != "balanced":
            raise UserError(f"class_weight is 'balanced' or a weight for every class, not {given!r}.")
        named = [class_name(label) for label in labels]
        return balanced_weights(class_counts(surveys.values(), named))
    if missing := [label for label in labels if label not in given]:
        raise UserError(f"class_weight has no weight for {missing}.")
    return tuple(float(given[label]) for label in labels)


def architecture(
    representation: Module | None,
    predictor: Module | str | None,
    input_shape: tuple[int, ...],
    classes: int,
    weights: Sequence[float] | None = None,
    optimiser: MakesOptimiser | None = None,
    phi_optimiser: MakesOptimiser | None = None,
    settles: bool = False,
) -> Architecture:
    """The modules of a game: those that were given, and sensible ones for the rest.

    Where games are settled they are the network that is trained in the end.
    """
    loss = functional.cross_entropy if weights is None else weighted_loss(weights)
    if isinstance(predictor, str) and predictor not in PREDICTORS:
        raise UserError(f"A predictor by name is {' or '.join(map(repr, PREDICTORS))}, not {predictor!r}.")
    if representation is None and predictor in (None, "mlp"):
        images = predictor is None and len(input_shape) == 3
        on_images = PooledCNN() if settles else CNN()
        network = on_images if images else Linear() if predictor is None else MLP()
        default = network.architecture(input_shape, classes)
        return Architecture(default.predictor, default.representation, loss, optimiser, phi_optimiser)
    phi = nn.Identity if representation is None else _factory(representation)
    try:
        with torch.no_grad():
            features = phi().eval()(torch.zeros(2, *input_shape))
    except RuntimeError as error:
        raise UserError(f"The representation can't be applied to inputs of the shape {input_shape}: {error}") from None
    size = math.prod(features.shape[1:])
    # On a phi that is learnt it must not start at zero: phi would have no gradient.
    player: Callable[[], nn.Module] = partial(linear_predictor, size, classes, from_zero=representation is None)
    if predictor == "mlp":
        player = MLP().architecture((size,), classes).predictor
    elif predictor is not None and not isinstance(predictor, str):
        player = _factory(predictor, size)
    return Architecture(player, phi, loss, optimiser, phi_optimiser)


def is_linear_on(predictor: Module | str | None, input_shape: tuple[int, ...]) -> bool:
    """Whether a predictor on the inputs is one linear layer."""
    if predictor is None or isinstance(predictor, str):
        return predictor != "mlp"
    return is_linear(_factory(predictor, math.prod(input_shape))())


def players(
    given: Module | None,
    input_shape: tuple[int, ...],
    network: Architecture,
    classes: int,
    ready: nn.Module | None = None,
) -> Architecture:
    """What plays a game that is settled: the module that was given, on the inputs, or else the paper's perceptron;
    ``ready`` standardises the inputs for that."""
    if given is not None:
        return Architecture(_factory(given, math.prod(input_shape)), loss=network.loss)
    perceptron = MLP().architecture(input_shape, classes).predictor
    if ready is None:
        return Architecture(perceptron, loss=network.loss)
    return Architecture(lambda: nn.Sequential(copy.deepcopy(ready), perceptron()), loss=network.loss)


def check_outputs(modules: Architecture, samples: Mapping[str, Samples], classes: int) -> None:
    """Refuse modules that don't fit to a client's samples."""
    phi, predictor = modules.representation().eval(), modules.predictor().eval()
    for name, own in samples.items():
        inputs, _ = own.batch(torch.arange(min(2, len(own))))
        try:
            with torch.no_grad():
                outputs = predictor(phi(inputs))
        except RuntimeError as error:
            raise UserError(f"The modules can't be applied to samples of {name}: {error}") from None
        if outputs.shape != (len(inputs), classes):
            given = " x ".join(map(str, outputs.shape[1:]))
            raise UserError(
                f"The predictor gives {given} numbers for a sample of {name}, and there are {classes} classes."
            )


def trained_phi(
    modules: Architecture, samples: Mapping[str, Samples], run: Settings, batch_size: int, device: torch.device
) -> Weights:
    """phi after so many rounds of FedAvg, on the samples that the game trains on too."""
    method = FedAvg(modules, pretraining(batch_size))
    federation = LocalFederation.of(method, samples, run.seed, device, run.validation)
    play = Play(method, federation, seed=run.seed, rounds=run.phi_rounds or 1, measure_samples=1)
    play.start()
    play.run()
    return phi_of(play.server.known.buffers[MODEL].current.weights)


def _order(label: Any) -> tuple[str, Any]:
    """Numbers among numbers, words among words."""
    return ("number", label) if isinstance(label, int | float) else (type(label).__name__, label)


def _factory(module: Module, *arguments: int) -> Callable[[], nn.Module]:
    """A function that makes a module: a copy of one, or what a function gives, with the number of features if it takes
    one."""
    if isinstance(module, nn.Module):
        return partial(copy.deepcopy, module)
    takes = [
        each
        for each in inspect.signature(module).parameters.values()
        if each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    return partial(module, *arguments[: len(takes)])

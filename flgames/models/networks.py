"""The networks that can be declared by name and travel as values. Building one needs torch; declaring it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from flgames.models.architecture import Architecture

Initialisation = Literal["torch", "glorot"]

PredictorName = Literal["mlp", "linear"]
NetworkName = Literal["mlp", "cnn"]

WIDTH = 390


class MLP(BaseModel):
    """The paper's multi-layer perceptron by default, and what other methods' authors changed in it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    variable: bool = False
    """Whether the first layer is a representation that players share."""
    width: int = Field(default=WIDTH, ge=1)
    activation: Literal["elu", "relu"] = "elu"
    batch_norm: bool = False
    """Batch normalisation after both hidden layers of a predictor, for FedBN."""
    initialisation: Initialisation = "torch"

    def architecture(self, input_shape: tuple[int, ...], classes: int) -> Architecture:
        """This network for inputs of this shape."""
        from flgames.models.mlp import perceptrons

        return perceptrons(self, input_shape, classes)


class Linear(BaseModel):
    """Linear players on the inputs themselves: logistic regression, where nobody plays."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["linear"] = "linear"

    def architecture(self, input_shape: tuple[int, ...], classes: int) -> Architecture:
        """This network for inputs of this shape."""
        from flgames.models.linear import linear_architecture

        return linear_architecture(input_shape, classes)


class PooledCNN(BaseModel):
    """Convolutions whose last maps are averaged: too few weights to learn samples by heart, even if they count much."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["pooled-cnn"] = "pooled-cnn"
    channels: tuple[int, ...] = Field(default=(16, 32, 64), min_length=2)
    group_norm: bool = Field(default=False, json_schema_extra={"later": True})
    """Group normalisation after every convolution: small shapes anywhere in a large image are learnt with it only."""

    def architecture(self, input_shape: tuple[int, ...], classes: int) -> Architecture:
        """This network for images of this shape."""
        from flgames.models.cnn import pooled_convolutions

        return pooled_convolutions(self, input_shape, classes)


class CNN(BaseModel):
    """Convolutions that halve the image each as phi, and one linear layer as a predictor."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["cnn"] = "cnn"
    channels: tuple[int, ...] = (16, 32, 64)

    def architecture(self, input_shape: tuple[int, ...], classes: int) -> Architecture:
        """This network for images of this shape."""
        from flgames.models.cnn import convolutions

        return convolutions(self, input_shape, classes)


Network = MLP | CNN | PooledCNN | Linear
"""What can be declared."""

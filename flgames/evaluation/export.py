"""A finished model as others use it: raw values in, probabilities out, and files that need nothing of this package."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import safetensors.torch
import torch
from torch import Tensor, nn

from flgames.data.own.layout import Layout
from flgames.errors import UserError
from flgames.evaluation.onnx_table import NUMBERS, WORDS, describe, take_words, word_columns
from flgames.models.architecture import snapshot
from flgames.models.ensemble import Ensemble

EXAMPLES = 2
"""Samples that a graph is traced with; it then takes any number."""

INPUTS, OUTPUTS = NUMBERS, "probabilities"

TEMPERATURE = "temperature"


class ExportedModel(nn.Module):
    """w_av o phi with its preprocessing, as one module.

    Parameters
    ----------
    ready
        Makes raw values ready, such as a standardisation.
    ensemble
        What has been learnt.
    temperature
        What its logits are divided by, so that probabilities are honest.
    """

    temperature: Tensor

    def __init__(self, ready: nn.Module, ensemble: Ensemble, temperature: float = 1.0) -> None:
        super().__init__()
        self.ready = ready
        self.ensemble = ensemble
        self.register_buffer("temperature", torch.tensor(temperature))
        self.eval()

    def forward(self, inputs: Tensor) -> Tensor:
        logits: Tensor = self.ensemble(self.ready(inputs)) / self.temperature
        return logits.softmax(1)

    def write_onnx(
        self, path: Path, input_shape: tuple[int, ...], classes: Sequence[object] = (), layout: Layout | None = None
    ) -> None:
        """As ONNX, for any number of samples at a time; words of tables are taken as they are.

        ``input_shape`` is that of raw inputs. Its metadata tell classes, preprocessing, temperature and, of tables,
        columns: each as JSON.
        """
        try:
            import onnxscript  # noqa: F401
        except ImportError:
            raise UserError("ONNX needs more packages: pip install -c constraints.txt '.[export]'.") from None
        with _quiet():
            torch.onnx.export(
                self,
                (torch.zeros(EXAMPLES, *input_shape),),
                path,
                input_names=[INPUTS],
                output_names=[OUTPUTS],
                dynamic_shapes=({0: torch.export.Dim("samples")},),
                dynamo=True,
                external_data=False,
                verbose=False,
            )
        told: dict[str, object] = {
            "classes": list(classes),
            "preprocessing": preprocessing(layout),
            TEMPERATURE: float(self.temperature),
        }
        if layout is not None and layout.columns:
            take_words(path, layout)
            words = word_columns(layout)
            numbers = [name for name in layout.columns if name not in words]
            told |= {"columns": list(layout.columns), INPUTS: numbers} | ({WORDS: words} if words else {})
        describe(path, told)

    def write_torch_export(self, path: Path, input_shape: tuple[int, ...]) -> None:
        """As torch.export's archive. Load only what you trust: that format may hold pickled objects."""
        example = torch.zeros(EXAMPLES, *input_shape)
        program = torch.export.export(self, (example,), dynamic_shapes=({0: torch.export.Dim("samples")},))
        torch.export.save(program, path)

    def write_safetensors(self, path: Path) -> None:
        """The weights alone: players, phi, the preprocessing and the temperature."""
        named = self.ensemble.tensors() | {f"ready/{name}": tensor for name, tensor in snapshot(self.ready).items()}
        path.write_bytes(safetensors.torch.save(named | {TEMPERATURE: self.temperature.reshape(1)}))


def preprocessing(layout: Layout | None) -> str:
    """What a model takes, and what it does with it by itself, in a sentence."""
    if layout is None:
        return "None: inputs are images as the benchmark paints them, numbers from 0 to 1."
    if layout.kind == "images":
        return "Inside the model: inputs are pixels as they are in the files, resized to the input's height and width."
    return "Inside the model: inputs are cells as they come, with NaN where one is empty."


@contextmanager
def _quiet() -> Iterator[None]:
    """Torch's exporter speaks of its own deprecations, and of packages that nothing here needs."""
    speaker = logging.getLogger("torch.onnx")
    before = speaker.level
    speaker.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        speaker.setLevel(before)

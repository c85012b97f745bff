"""A fitted model as files: ``model.json``, ``weights.safetensors`` and, with the extra ``export``, ``model.onnx``."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import safetensors.torch
from torch import Tensor, nn

from flgames.core.records import GameResult
from flgames.data.own.layout import Layout
from flgames.errors import UserError
from flgames.files import write_json
from flgames.models.standardise import Standardise
from flgames.sealed import SUMS, check_sums, write_sums

if TYPE_CHECKING:
    import pandas

    from flgames.estimator.estimator import FLGames

NOT_SAVED = ("representation", "predictor", "players", "optimiser", "phi_optimiser", "callbacks", "class_weight")
"""What has no plain value."""

FILES = ("model.json", "weights.safetensors", "model.onnx")

READY = "ready/"
"""Under which name tensors have the preprocessing."""


def write_model(model: FLGames, path: Path) -> None:
    """All that a fitted model is."""
    path.mkdir(parents=True, exist_ok=True)
    (path / SUMS).unlink(missing_ok=True)
    params = {
        name: jsonable(value)
        for name, value in model.get_params(deep=False).items()
        if name not in NOT_SAVED or isinstance(value, str)
    }
    own = [name for name in ("representation", "predictor") if not isinstance(getattr(model, name), str | None)]
    evidence: Any = model.disagreement_
    layout, labels = model._layout, [jsonable(label) for label in model.classes_.tolist()]
    told = {
        "params": params,
        "own modules": own,
        "classes": labels,
        "input shape": list(model.input_shape_),
        "columns": list(model._names),
        "layout": layout.model_dump(mode="json") if layout else None,
        "result": model.result_.model_dump(mode="json"),
        "disagreement": None if evidence is None else evidence.reset_index().to_dict("records"),
    }
    write_json(path / "model.json", told)
    exported = copy.deepcopy(model.model_).cpu()
    exported.write_safetensors(path / "weights.safetensors")
    try:
        raw_shape = layout.raw_shape if layout else model.input_shape_
        exported.write_onnx(path / "model.onnx", raw_shape, labels, layout)
    except Exception as why:  # torch's exporter fails in many ways on modules that it does not know
        (path / "model.onnx").unlink(missing_ok=True)
        if own:
            warnings.warn(f"There is no model.onnx, so load needs your modules again: {why}", stacklevel=3)
    write_sums(path, [name for name in FILES if (path / name).exists()])


@dataclass(frozen=True)
class SavedModel:
    """What the files of a model say."""

    path: Path
    params: dict[str, Any]
    own_modules: tuple[str, ...]
    """Which modules were a person's own, and are not in the files."""
    shape: tuple[int, ...]
    labels: list[Hashable]
    result: GameResult
    layout: Layout | None
    names: tuple[str, ...]
    evidence: list[dict[str, Any]] | None

    @classmethod
    def read(cls, path: Path) -> SavedModel:
        if not check_sums(path) and (path / "model.json").exists():
            warnings.warn(f"{path} has no {SUMS}: damage of its files would not be noticed.", stacklevel=3)
        try:
            saved = json.loads((path / "model.json").read_text())
        except (OSError, ValueError):
            raise UserError(f"{path} has no model: there is no readable model.json.") from None
        params = saved["params"]
        if "settle_after" not in params and params.get("settle") is None and len(saved["input shape"]) == 3:
            params |= {"settle": "never"}  # images were not settled before
        elif "settle" not in params and params["predictor"] is None and "predictor" not in saved["own modules"]:
            params |= {"predictor": "mlp"} if len(saved["input shape"]) == 1 else {}  # what None meant before
        return cls(
            path,
            params,
            tuple(saved["own modules"]),
            tuple(saved["input shape"]),
            list(saved["classes"]),
            GameResult.model_validate(saved["result"]),
            Layout.model_validate(saved["layout"]) if saved.get("layout") else None,
            tuple(saved.get("columns", ())),
            saved.get("disagreement"),
        )

    def disagreement(self) -> pandas.DataFrame | None:
        """What the clients disagreed about when it was fitted."""
        import pandas

        return None if self.evidence is None else pandas.DataFrame(self.evidence).set_index("column")

    def session(self) -> Any:
        """What predicts without the modules."""
        return onnx_session(self.path / "model.onnx", self.own_modules)

    def learnt(self) -> dict[str, Tensor]:
        """The weights of players and phi."""
        return {name: each for name, each in self._tensors().items() if "/" in name and not name.startswith(READY)}

    def ready(self, raw: bool) -> nn.Module | None:
        """The preprocessing; ``raw``: without the standardisation, for modules of a person's own."""
        tensors = self._tensors()
        ready = {name.removeprefix(READY): each for name, each in tensors.items() if name.startswith(READY)}
        if not ready:
            return None
        layout = self.layout
        first = Standardise(self.shape) if layout is None else layout.encode if raw else layout.ready
        first.load_state_dict(ready)
        return first

    def _tensors(self) -> dict[str, Tensor]:
        tensors: dict[str, Tensor] = safetensors.torch.load_file(self.path / "weights.safetensors")
        return tensors


def jsonable(value: Any) -> Any:
    """A plain value: NumPy's and torch's are not."""
    return value.tolist() if hasattr(value, "tolist") else value


def label_array(labels: Sequence[Hashable]) -> np.ndarray:
    """Labels as they are: an array of one type only if all of them have it."""
    array = np.array(labels) if len({type(label) for label in labels}) == 1 else np.array([])
    if array.shape == (len(labels),):
        return array
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def onnx_session(path: Path, needed: Iterable[str]) -> Any:
    passed = " and ".join(needed)
    if not path.exists():
        raise UserError(f"{path} is not there: pass {passed} to load, as when it was trained.")
    try:
        import onnxruntime
    except ImportError:
        raise UserError(f"Pass {passed} to load, or install onnxruntime, which can do without.") from None
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])

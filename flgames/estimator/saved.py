"""A model's values as files have them, and a model that can only predict."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flgames.errors import UserError


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

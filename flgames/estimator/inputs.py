"""What a fitted model is given to predict: arrays as they are, tables of pandas by the names of their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import validate_data
from torch import Tensor, nn

from flgames.data.own import arrays as given
from flgames.data.own.arrays import GivenRecords
from flgames.data.own.dataframes import is_frame
from flgames.data.own.files import inputs_of
from flgames.data.own.layout import Layout
from flgames.data.own.survey import Survey, pooled_moments
from flgames.errors import UserError
from flgames.evaluation.onnx_table import NUMBERS, WORDS, word_columns
from flgames.models.standardise import Standardise

if TYPE_CHECKING:
    from flgames.estimator.estimator import FLGames


def names_of(records: Mapping[str, GivenRecords]) -> tuple[str, ...] | None:
    """What the columns that were given are called, if they have names."""
    first = next(iter(records.values()))
    return None if isinstance(first, given.ArrayRecords) else first.table.columns


def ready_of(layout: Layout, surveys: Mapping[str, Survey], raw: bool) -> tuple[nn.Module | None, nn.Module]:
    """What makes raw inputs ready for the modules, and what standardises features.

    ``raw``: the modules are a person's own, and given inputs as they come; only words become numbers.
    """
    if layout.columns:
        return layout.encode if raw else layout.ready, layout.scale
    # Not layout.scale: a layout is stored, and its deviations are rounded before they are divided by. Models that were
    # fitted before would get other bits.
    scale = Standardise(layout.shape).fit(*pooled_moments(surveys))
    return None if raw else scale, scale


def rows_for(model: FLGames, X: Any) -> Tensor:  # noqa: N803
    """Raw inputs of a model: a table of pandas may have its columns in any order, and no others."""
    layout: Layout | None = model._layout
    if layout is None:
        return given.rows_of(X)
    if is_frame(X):
        return inputs_of("X", _aligned(model, X), layout)
    validate_data(model, X, reset=False, skip_check_array=True)  # says that names are missing
    if named := word_columns(layout):
        raise UserError(f"The model was fitted on names, and {', '.join(named)} have words: pass a DataFrame.")
    rows = given.rows_of(X)
    if rows.dim() != 2 or rows.shape[1] != len(model._names):
        raise UserError(f"Inputs have the shape {tuple(rows.shape[1:])}, and the model's ({len(model._names)},).")
    return rows[:, [model._names.index(name) for name in layout.columns]]


def _aligned(model: FLGames, X: Any) -> Any:  # noqa: N803
    frame = X.set_axis([str(name) for name in X.columns], axis=1)
    if sorted(frame.columns) == sorted(model._names):
        return frame[list(model._names)]
    validate_data(model, frame, reset=False, skip_check_array=True)  # scikit-learn's error
    raise UserError(f"X has the columns {', '.join(frame.columns)}, and the model needs {', '.join(model._names)}.")


def feeds(rows: Tensor, layout: Layout | None) -> dict[str, Any]:
    """Raw inputs as an exported graph takes them."""
    values = rows.float().numpy()
    if layout is None or not layout.categories:
        return {NUMBERS: values}
    named = word_columns(layout)
    words = [_words(values[:, layout.columns.index(each.name)], each.words) for each in layout.categories]
    numbers = [place for place, name in enumerate(layout.columns) if name not in named]
    return {WORDS: np.stack(words, 1)} | ({NUMBERS: values[:, numbers]} if numbers else {})


def _words(numbers: np.ndarray, words: Sequence[str]) -> np.ndarray:
    unknown = f"none of {words}"
    said = ["" if number != number else words[int(number)] if number >= 0 else unknown for number in numbers]
    return np.array(said, dtype=object)

"""An ONNX graph on rows of a table as they come: numbers and words in, and who reads it finds its columns inside."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flgames.data.own.columns import OTHER
from flgames.data.own.layout import Layout

NUMBERS, WORDS = "inputs", "words"
"""What the graph's inputs are called: numbers with NaN where a cell is empty, and words with nothing there."""


def word_columns(layout: Layout) -> list[str]:
    """The columns that have words, in their order."""
    return [column.name for column in layout.categories]


def describe(path: Path, told: Mapping[str, object]) -> None:
    """Write what people must know of a graph into it: each value as JSON."""
    import onnx

    model = onnx.load(path)
    onnx.helper.set_model_props(model, {name: json.dumps(value) for name, value in told.items()})
    onnx.save(model, path)


def take_words(path: Path, layout: Layout) -> None:
    """Let a graph on columns of numbers take words as they are: their vocabularies become a part of it."""
    import onnx
    from onnx import TensorProto, helper

    named = word_columns(layout)
    if not named:
        return
    model = onnx.load(path)
    graph = model.graph
    (before,) = [each for each in graph.input if each.name == NUMBERS]
    samples = before.type.tensor_type.shape.dim[0].dim_param or "samples"
    inputs = [helper.make_tensor_value_info(WORDS, TensorProto.STRING, [samples, len(named)])]
    numbers = [name for name in layout.columns if name not in named]
    if numbers:
        inputs.insert(0, helper.make_tensor_value_info(NUMBERS, TensorProto.FLOAT, [samples, len(numbers)]))
    nodes: list[Any] = []
    for place, name in enumerate(layout.columns):
        is_word = name in named
        among: Sequence[str] = named if is_word else numbers
        graph.initializer.append(helper.make_tensor(f"place of {place}", TensorProto.INT64, [1], [among.index(name)]))
        source, found = (WORDS, f"words of {place}") if is_word else (NUMBERS, f"column {place}")
        nodes.append(helper.make_node("Gather", [source, f"place of {place}"], [found], axis=1))
        if is_word:
            nodes.append(_numbered(layout.categories[named.index(name)].words, found, f"column {place}"))
    joined = "all columns"
    nodes.append(
        helper.make_node("Concat", [f"column {place}" for place in range(len(layout.columns))], [joined], axis=1)
    )
    for node in graph.node:
        node.input[:] = [joined if each == NUMBERS else each for each in node.input]
    rest = [*graph.node]
    del graph.node[:], graph.input[:]
    graph.node.extend([*nodes, *rest])
    graph.input.extend(inputs)
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 2))
    onnx.checker.check_model(model)
    onnx.save(model, path)


def _numbered(words: Sequence[str], taken: str, given: str) -> Any:
    from onnx import helper

    return helper.make_node(
        "LabelEncoder",
        [taken],
        [given],
        domain="ai.onnx.ml",
        keys_strings=[*words, ""],
        values_floats=[*map(float, range(len(words))), math.nan],
        default_float=float(OTHER),
    )

"""A model as Hugging Face's tools know it: safetensors, config.json, and a README.md that is a model card."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import flgames
from flgames.evaluation.export import preprocessing
from flgames.files import write_atomically, write_json
from flgames.report.card import model_card
from flgames.runs.load import LoadedModel

WEIGHTS, CONFIG, README = "model.safetensors", "config.json", "README.md"

FILES = {
    WEIGHTS: "weights by player/NAME/..., phi/..., ready/... and temperature",
    CONFIG: "classes, columns, shapes and settings",
}


def write_huggingface(folder: Path, model: LoadedModel) -> list[Path]:
    """Write the three files into a folder; nothing is sent anywhere."""
    model.exported.write_safetensors(folder / WEIGHTS)
    write_json(folder / CONFIG, _config(model))
    card = model_card(model, FILES)
    write_atomically(folder / README, f"---\n{_front_matter(model)}---\n\n{card}")
    return [folder / name for name in (WEIGHTS, CONFIG, README)]


def _config(model: LoadedModel) -> dict[str, object]:
    layout, entry = model.layout, model.match.entry
    numbered = dict(enumerate(model.classes))
    told: dict[str, object] = {
        "model_type": "flgames",
        "flgames_version": flgames.__version__,
        "method": entry.slug,
        "network": repr(entry.network),
        "players": list(model.ensemble.names),
        "input_shape": list(model.raw_shape),
        "id2label": {str(number): name for number, name in numbered.items()},
        "label2id": {name: number for number, name in numbered.items()},
        "preprocessing": preprocessing(layout),
        "temperature": model.result.temperature,
    }
    return told | ({"columns": list(layout.columns)} if layout and layout.columns else {})


def _task(model: LoadedModel) -> str:
    return "image-classification" if len(model.raw_shape) == 3 else "tabular-classification"


def _front_matter(model: LoadedModel) -> str:
    """YAML, of which JSON is a part: so no name can break out of its value."""
    match = model.match
    named = {"type": match.options.benchmark, "name": match.title}
    metrics = [{"type": "accuracy", "name": name, "value": round(value, 4)} for name, value in _metrics(model)]
    results = [{"task": {"type": _task(model)}, "dataset": named, "metrics": metrics}]
    front: dict[str, object] = {
        "library_name": "flgames",
        "pipeline_tag": _task(model),
        "tags": ["federated-learning", "invariant-learning", "fl-games", match.entry.slug],
        "model-index": [{"name": f"{match.entry.title} on {match.title}", "results": results}],
    }
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in front.items())


def _metrics(model: LoadedModel) -> Iterator[tuple[str, float]]:
    result = model.result
    yield "accuracy at training clients", result.train
    if result.profile:
        yield "accuracy at the unseen client", result.profile.unseen
    for client, figures in result.unseen_clients.items():
        yield f"accuracy at {client}, unseen", figures.accuracy

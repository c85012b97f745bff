"""The model card: what a model was made from, what was measured, and what it must not be used for."""

from __future__ import annotations

from collections.abc import Iterator

import torch

import flgames
from flgames.evaluation.confusion import Rates
from flgames.runs.load import LoadedModel


def model_card(model: LoadedModel, files: dict[str, str]) -> str:
    """The card of a finished model; ``files`` says what each exported file is."""
    return "\n".join(_lines(model, files)) + "\n"


def _lines(model: LoadedModel, files: dict[str, str]) -> Iterator[str]:
    match, layout = model.match, model.layout
    yield f"# Model card: {match.entry.title} on {match.title}"
    yield ""
    yield from (f"- `{name}`: {what}" for name, what in files.items())
    yield ""
    yield "## Inputs and outputs"
    yield ""
    shape = " x ".join(map(str, model.result.input_shape))
    if layout is None:
        yield f"- inputs: images as the benchmark paints them, {shape} numbers from 0 to 1"
    elif layout.kind == "images":
        yield (
            f"- inputs: pixels as they were in the files (0 to 255 for .png and .jpg), as float32, "
            f"channels x height x width = {shape}; other images must be resized to that before"
        )
    else:
        yield f"- inputs: the columns {', '.join(layout.columns)}, in this order, as raw numbers"
    yield f"- outputs: probabilities of {', '.join(model.classes)}, in this order"
    yield "- preprocessing: " + ("none" if layout is None else "a standardisation, inside the model")
    yield ""
    yield "## What it was trained on"
    yield ""
    yield f"- training clients: {', '.join(match.players)}"
    if layout is not None:
        yield f"- held out: {match.holdout or 'nobody'}"
    yield f"- seed {match.seed}; flgames {flgames.__version__}"
    yield ""
    yield "## Measures"
    yield ""
    yield from _measures(model)
    yield ""
    yield "## Settings"
    yield ""
    entry = match.entry
    told = entry.model_dump(exclude_defaults=True, exclude={"slug", "title"}) | {"network": repr(entry.network)}
    yield from (f"- {name}: {value}" for name, value in told.items())
    yield ""
    yield "## What it must not be used for"
    yield ""
    yield "- Decisions about people without somebody who answers for them: it is a statistical model."
    yield "- Inputs that are made in another way than those of the training clients, before it was measured on them."
    yield (
        "- As proof that no shortcut is used: training removes what differs between these clients. A shortcut that "
        "works alike at all of them is as good as the truth to it."
    )
    if layout is not None and match.holdout is None:
        yield "- Places that it has never seen: nobody was held out, so how it does there is not known."


def _measures(model: LoadedModel) -> Iterator[str]:
    result = model.result
    yield "| client | accuracy | balanced accuracy | sensitivity | specificity |"
    yield "|---|---|---|---|---|"
    confusions = dict(result.confusion_of)
    if result.held_out:
        confusions[f"{result.held_out.client} (unseen)"] = result.held_out.confusion
    for client, confusion in confusions.items():
        cells = (f"{100 * value:.1f} %" for value in Rates.of(torch.tensor(confusion)).as_dict().values())
        yield f"| {client} | {' | '.join(cells)} |"
    if profile := result.profile:
        yield ""
        yield (
            f"Unseen client: {profile.unseen:.1%}; {profile.agree:.1%} where the spurious feature agrees, "
            f"{profile.conflict:.1%} where it conflicts; {profile.flip_rate:.1%} of predictions flip with it."
        )

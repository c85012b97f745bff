"""The model card: what a model was made from, what was measured, and what it must not be used for."""

from __future__ import annotations

from collections.abc import Iterator

import torch

import flgames
from flgames.core.rates import Rates
from flgames.data.own.layout import Layout
from flgames.report.clients import COLUMNS, rows_of, summary_cells
from flgames.runs.load import LoadedModel
from flgames.runs.result import Result


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
        yield f"- inputs: the columns {', '.join(layout.columns)}, in this order, as they come; an empty cell is NaN"
        yield from _columns(layout)
    yield f"- outputs: probabilities of {', '.join(model.classes)}, in this order"
    yield "- preprocessing: " + ("none" if layout is None else "inside the model")
    if model.result.held_back:
        yield (
            f"- probabilities: logits are divided by {model.result.temperature:.3g}, fitted on samples that were held "
            "back, inside the model"
        )
    yield ""
    yield "## What it was trained on"
    yield ""
    yield f"- training clients: {', '.join(match.players)}"
    if layout is not None:
        yield f"- held out: {', '.join(model.result.unseen_clients) or 'nobody'}"
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
    if layout is not None and not model.result.unseen_clients:
        yield "- Places that it has never seen: nobody was held out, so how it does there is not known."


def _columns(layout: Layout) -> Iterator[str]:
    """What stands for words, dates and empty cells."""
    for column in (each for each in layout.details if each.kind != "number" or each.tells_missing):
        said = {
            "category": f"words, by their number: {', '.join(column.words)}; all others -1",
            "date": "days since 1970",
        }
        empty = "; a feature says where it is empty" if column.tells_missing else ""
        yield f"    - {column.name}: {said.get(column.kind, 'numbers')}{empty}"
    if layout.categories:
        yield "    - model.onnx takes words as they are: its input `words`, with the columns that its metadata name"


def _measures(model: LoadedModel) -> Iterator[str]:
    result = model.result
    if result.held_back or result.unseen_clients:
        yield from _of_clients(result)
        return
    yield "| client | accuracy | balanced accuracy | sensitivity | specificity |"
    yield "|---|---|---|---|---|"
    for client, confusion in result.confusion_of.items():
        cells = (f"{100 * value:.1f} %" for value in Rates.of(torch.tensor(confusion)).as_dict().values())
        yield f"| {client} | {' | '.join(cells)} |"
    if profile := result.profile:
        yield ""
        yield (
            f"Unseen client: {profile.unseen:.1%}; {profile.agree:.1%} where the spurious feature agrees, "
            f"{profile.conflict:.1%} where it conflicts; {profile.flip_rate:.1%} of predictions flip with it."
        )


def _of_clients(result: Result) -> Iterator[str]:
    where = "samples that were held back" if result.held_back else "the samples that they trained on"
    yield f"Training clients on {where}, and clients that nobody trained on."
    yield ""
    yield f"| {' | '.join(COLUMNS)} |"
    yield f"|{'---|' * len(COLUMNS)}"
    rows = rows_of([result])
    for row in rows:
        first, *rest = row.cells()
        yield f"| {first}{' (unseen)' if row.is_unseen else ''} | {' | '.join(rest)} |"
    for cells in summary_cells(rows):
        yield f"| {' | '.join(cells)} |"

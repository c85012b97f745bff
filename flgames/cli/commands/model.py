"""flgames predict, flgames export, flgames evaluate: what can be done with a finished model."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flgames.cli.ui import options
from flgames.cli.ui.console import make_console
from flgames.cli.ui.errors import exit_codes
from flgames.errors import UserError
from flgames.files import write_atomically

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from torch import Tensor

    from flgames.data.own.layout import Layout
    from flgames.data.own.records import Unseen
    from flgames.runs.load import LoadedModel

WHICH = "Which model"

Run = Annotated[Path, typer.Argument(help="A run folder, as flgames play leaves it.")]
MethodName = Annotated[str | None, typer.Option("--method", help="Another method of that run, such as fedavg. Default: the game.", rich_help_panel=WHICH)]  # fmt: skip
Seed = Annotated[int | None, typer.Option(help="Another seed of that run. Default: the first.", rich_help_panel=WHICH)]
HeldOut = Annotated[str | None, typer.Option("--holdout", help="Which one, of a run that held out each client in turn.", rich_help_panel=WHICH)]  # fmt: skip


class Format(StrEnum):
    """What a model is written as."""

    onnx = "onnx"
    torch_export = "torch-export"
    safetensors = "safetensors"
    huggingface = "huggingface"


FILES = {Format.onnx: "model.onnx", Format.torch_export: "model.pt2", Format.safetensors: "model.safetensors"}


def predict(
    run: Run,
    files: Annotated[list[Path], typer.Argument(help="Images; or tables, whose rows are predicted.")],
    out: Annotated[Path | None, typer.Option(help="Write the table here. Default: to the terminal.")] = None,
    method: MethodName = None,
    seed: Seed = None,
    holdout: HeldOut = None,
) -> None:
    """What a finished model says of new files: one line a picture, or a row, as CSV.

    For example: flgames predict runs/... new-scans/*.png
    """
    from flgames.runs.load import load
    from flgames.waiting.bar import shown

    with exit_codes():
        model = load(run, method, seed, holdout)
        wrong: list[str] = []
        with shown(make_console(stderr=True)):
            rows = list(_predictions(model, files, wrong))
        if len(wrong) == len(files):
            raise UserError(" ".join(wrong))
        header = ["file", "row", "prediction", *(f"p({label})" for label in model.classes)]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
        _write(text.getvalue(), out)
        if wrong:
            raise UserError(f"{len(wrong)} of {len(files)} files were not predicted: {' '.join(wrong)}")


def _write(text: str, out: Path | None) -> None:
    if out is None:
        sys.stdout.write(text)
        return
    try:
        write_atomically(out, text)
    except OSError as error:
        raise UserError(f"{out} can't be written: {error.strerror}.") from None


def _inputs(path: Path, layout: Layout, is_picture: bool, wrong: list[str]) -> Tensor | None:
    """What a model is given of a file; one that can't be read is noted, and the others are predicted."""
    from flgames.data.own.files import read_inputs
    from flgames.data.own.pictures import Pictures

    try:
        if not is_picture:
            return read_inputs(path, layout)
        if not path.is_file():
            raise UserError(f"{path} is not there.")
        return Pictures("the new data", [path], [""], least_bits=layout.bits).rows(layout).values
    except UserError as why:
        wrong.append(str(why))
        return None


def _predictions(model: LoadedModel, files: list[Path], wrong: list[str]) -> Iterator[list[str]]:
    import torch

    from flgames.data.own.files import IMAGES
    from flgames.data.samples import EVALUATED
    from flgames.waiting.told import followed

    layout = model.layout
    if layout is None:
        raise UserError("predict is for models of own data; what a benchmark's model says is in its results.")
    exported = model.exported
    pictures = [path for path in files if path.suffix.lower() in IMAGES]
    if pictures and layout.kind == "table":
        raise UserError(f"{pictures[0]} is a picture, and the model reads tables: {', '.join(layout.columns)}.")
    for path in followed(files, lambda path: f"predicting {path.name}"):
        values = _inputs(path, layout, path in pictures, wrong)
        if values is None:
            continue
        for first in range(0, len(values), EVALUATED):
            with torch.inference_mode():
                rows = exported(values[first : first + EVALUATED])
            for number, row in enumerate(rows, first):
                where = "" if path in pictures else str(number + 1)
                yield [str(path), where, model.classes[int(row.argmax())], *(f"{p:.4f}" for p in row.tolist())]


def export(
    run: Run,
    format_: Annotated[Format, typer.Option("--format", help="onnx, for onnxruntime and others; torch-export, torch's own archive; safetensors, weights alone; huggingface, safetensors with config.json and a README.md that is a model card.")] = Format.onnx,
    out: Annotated[Path | None, typer.Option(help="The folder for the model and its card. Default: RUN/export.")] = None,
    method: MethodName = None,
    seed: Seed = None,
    holdout: HeldOut = None,
) -> None:  # fmt: skip
    """Write the ensemble w_av o phi as one model with its preprocessing, and a model card.

    For example: flgames export runs/... --format onnx
    """
    from flgames.report.huggingface import write_huggingface
    from flgames.runs.load import load

    with exit_codes():
        model = load(run, method, seed, holdout)
        folder = out or run / "export"
        folder.mkdir(parents=True, exist_ok=True)
        if format_ is Format.huggingface:
            for written in write_huggingface(folder, model):
                make_console().print(str(written), soft_wrap=True)
            return
        path = folder / FILES[format_]
        what = f"{format_.value}, inputs -> probabilities"
        match format_:
            case Format.onnx:
                model.exported.write_onnx(path, model.raw_shape, model.classes, model.layout)
            case Format.torch_export:
                model.exported.write_torch_export(path, model.raw_shape)
            case Format.safetensors:
                model.exported.write_safetensors(path)
                what = "weights by player/NAME/..., phi/... and ready/..."
        from flgames.report.card import model_card
        from flgames.sealed import write_sums

        write_atomically(folder / "MODEL_CARD.md", model_card(model, {path.name: what}))
        write_sums(folder, (path.name, "MODEL_CARD.md"))
        console = make_console()
        console.print(f"{path}\n{folder / 'MODEL_CARD.md'}", soft_wrap=True)


@options.takes("device")
def evaluate(
    run: Run,
    data: Annotated[Path | None, typer.Option(help="A folder of clients, or one table, as for flgames play --data.")] = None,
    target: Annotated[str | None, typer.Option(help="The column of tables that has the truth. Default: as in the run.")] = None,
    client_column: Annotated[str | None, typer.Option(help="The column of one table that says whose each row is. Default: as in the run, if the data are one table.")] = None,
    benchmark: Annotated[str | None, typer.Option(help="A benchmark, for a model that was trained on one of the same shape: its unseen client.")] = None,
    method: MethodName = None,
    seed: Seed = None,
    holdout: HeldOut = None,
    **given: object,
) -> None:  # fmt: skip
    """Measure a finished model on other clients, without training.

    For example: flgames evaluate runs/... --data scans-of-2027
    """
    from flgames.runs.load import load
    from flgames.waiting.bar import shown

    with exit_codes():
        model = load(run, method, seed, holdout)
        if (data is None) == (benchmark is None):
            raise UserError("Say on what: `data` FOLDER or `benchmark` NAME.")
        device = str(given["device"] or "auto")
        console = make_console()
        with shown(console):
            table = (
                _on_clients(model, data, target, client_column, device, console)
                if data
                else _on_benchmark(model, str(benchmark), device)
            )
        console.print(table)


def _on_clients(
    model: LoadedModel, data: Path, target: str | None, client_column: str | None, device: str, console: Console
) -> Table:
    from flgames.data.own.files import clients_in, read
    from flgames.data.own.frames import NPZ, ending
    from flgames.data.own.records import LaidOut, Unseen
    from flgames.data.own.source import remarks_on
    from flgames.waiting.told import within

    layout = model.layout
    if layout is None:
        raise UserError("This model was trained on a benchmark: measure it with `benchmark`.")
    ours = model.run.settings.roles
    client = client_column or (ours.client if data.is_file() else None)
    named = {"columns": layout.columns, "categories": tuple(each.name for each in layout.categories), "drop": ()}
    roles = ours.model_copy(update={"target": target or ours.target, "client": client, "group": None})
    found = clients_in(data, roles)
    if layout.columns and not any(ending(path) == NPZ for path in found.values()):
        roles = roles.model_copy(update=named)  # what the model does not need may be as it is
    for remark in remarks_on(str(data), roles):
        console.print(remark, style="yellow", soft_wrap=True)
    clients = []
    for number, (name, path) in enumerate(found.items()):
        with within(number, len(found)):
            clients.append(Unseen(name, LaidOut.of(read(name, path, roles), layout)))
    return _table(model, f"{model.match.entry.title} on {data}", clients, device)


def _table(model: LoadedModel, title: str, clients: Sequence[Unseen], device: str) -> Table:
    """A row a client. Those that were trained on are marked: there a model looks better than it is."""
    from flgames.devices import chosen_device
    from flgames.evaluation.unseen import figures_on
    from flgames.report.clients import ClientRow, empty_table, majority_of
    from flgames.waiting.told import followed

    table = empty_table(f"{title}: accuracy in %")
    for each in followed(clients, lambda client: f"predicting for {client.name}"):
        figures = figures_on(model.ensemble, each, chosen_device(device), model.result.temperature)
        first, *rest = ClientRow(each.name, [figures], majority_of(model.result), is_unseen=True).cells()
        trained = " (trained on)" if each.name in model.match.players else ""
        table.add_row(f"{first}{trained}", *rest)
    return table


def _on_benchmark(model: LoadedModel, name: str, device: str) -> Table:
    from rich.table import Table

    from flgames.data.benchmarks.options import BenchmarkOptions
    from flgames.data.benchmarks.sites import SitesData
    from flgames.devices import chosen_device
    from flgames.evaluation.profile import invariance_profile

    options_ = model.match.options
    if not isinstance(options_, BenchmarkOptions):
        raise UserError("This model was trained on own data: measure it with `data`.")
    other = model.match.entry.benchmark(options_.model_copy(update={"benchmark": name})).data(model.match.seed)
    if other.input_shape != model.result.input_shape or other.classes != len(model.classes):
        raise UserError(f"{other.title} has inputs of another shape, or other classes, than this model.")
    if isinstance(other, SitesData):
        return _table(model, f"{model.match.entry.title} on {other.title}", other.unseen_clients(), device)
    profile = invariance_profile(model.ensemble, other.held_out_client(), chosen_device(device))
    table = Table(title=f"{model.match.entry.title} on {other.title}, in %", title_justify="left")
    values = {
        "unseen client": profile.unseen, "agree": profile.agree, "conflict": profile.conflict,
        "mean": profile.mean, "flip rate": profile.flip_rate,
    }  # fmt: skip
    for column in values:
        table.add_column(column, justify="right")
    table.add_row(*(f"{100 * value:.1f}" for value in values.values()))
    return table

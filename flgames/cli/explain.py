"""flgames explain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flgames.cli import options
from flgames.cli.errors import exit_codes
from flgames.data.catalogue import BenchmarkOptions, benchmark
from flgames.errors import UserError
from flgames.lineup import entries
from flgames.report.console import make_console
from flgames.report.fetching import fetch
from flgames.runs import RunFolder


def explain_runs(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of finished runs, on the same benchmark.")],
    images: Annotated[int, typer.Option(min=1, help="Explain so many held-out images, of every label in turn.")] = 8,
    seed: Annotated[int | None, typer.Option(min=0, help="The seed whose models are explained. Default: each run's first.")] = None,
    out: Annotated[Path, typer.Option(help="The picture.")] = Path("explain.png"),
    offline: options.Offline = False,
) -> None:  # fmt: skip
    """Explain the predictions of finished runs side by side, by LIME, and print what the spurious feature takes of them.

    An image is described by its segments, whose ink is removed, and by its spurious feature, which is moved: the colour to another channel, the patch to the other corner. Every model of every run is a row of masks; the number is |beta_spurious| / sum |beta|, the mean over images.

    For example: flgames explain runs/...
    """
    from flgames.report.explanations import draw_explanations, explain_games, share_table

    console = make_console()
    with exit_codes(), options.network(offline):
        if out.suffix != ".png":
            raise UserError(f"The picture is a PNG: let --out end in .png; {out} was given.")
        folders = [RunFolder.open(path) for path in runs]
        seeds = {folder.settings.seed if seed is None else seed for folder in folders}
        shown = {_options(folder).model_dump_json() for folder in folders}
        if len(shown) > 1 or len(seeds) > 1:
            raise UserError("These runs have different unseen clients: explain runs of one benchmark and one --seed.")
        source, chosen = benchmark(_options(folders[0])), seeds.pop()
        fetch(source, chosen, console)
        games = {}
        for folder in folders:
            if chosen not in folder.settings.all_seeds:
                raise UserError(f"{folder.path} was not played with seed {chosen}.")
            for entry in entries(folder.settings):
                name = entry.title if entry.title not in games else f"{entry.title} ({folder.path})"
                games[name] = (folder.game(entry.slug, chosen), entry)
        explained, flip_rates = explain_games(games, _options(folders[0]), chosen, images, console)
        noun = source.feature.noun
        try:
            draw_explanations(out, f"{source.title}, seed {chosen}: explained by LIME", explained, noun)
        except OSError as error:
            raise UserError(f"{out} can't be written: {error.strerror}.") from None
        console.print(share_table(f"{source.title}: what {noun} takes of a prediction, %", explained, flip_rates, noun))
        console.print(str(out), soft_wrap=True, style="bold")


def _options(folder: RunFolder) -> BenchmarkOptions:
    return BenchmarkOptions(**folder.settings.model_dump(include=set(BenchmarkOptions.model_fields)))

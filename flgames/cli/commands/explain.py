"""flgames explain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flgames.cli.ui import options
from flgames.cli.ui.console import make_console
from flgames.cli.ui.errors import exit_codes
from flgames.errors import UserError


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
    from flgames.cli.ui.fetching import fetch
    from flgames.data.benchmarks.registry import planted
    from flgames.report.explanations import draw_explanations, explain_games, share_table
    from flgames.runs.folder import RunFolder

    console = make_console()
    with exit_codes():
        if out.suffix != ".png":
            raise UserError(f"The picture is a PNG: let `out` end in .png; {out} was given.")
        folders = [RunFolder.open(path) for path in runs]
        seeds = {folder.settings.seed if seed is None else seed for folder in folders}
        if len({folder.settings.source for folder in folders}) > 1 or len(seeds) > 1:
            raise UserError("These runs have different unseen clients: explain runs of one benchmark and one `seed`.")
        source, chosen = planted(folders[0].settings.source), seeds.pop()
        fetch(source, console, offline)
        games = {}
        for folder in folders:
            if chosen not in folder.settings.all_seeds:
                raise UserError(f"{folder.path} was not played with seed {chosen}.")
            for match, game in folder.games():
                if match.seed == chosen:
                    title = match.entry.title
                    games[title if title not in games else f"{title} ({folder.path})"] = (game, match)
        explained, flip_rates = explain_games(games, images, console)
        noun = source.feature.noun
        try:
            draw_explanations(out, f"{source.title}, seed {chosen}: explained by LIME", explained, noun)
        except OSError as error:
            raise UserError(f"{out} can't be written: {error.strerror}.") from None
        console.print(share_table(f"{source.title}: what {noun} takes of a prediction, %", explained, flip_rates, noun))
        console.print(str(out), soft_wrap=True, style="bold")

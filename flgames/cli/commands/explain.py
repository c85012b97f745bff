"""flgames explain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flgames.cli.ui import options
from flgames.cli.ui.console import make_console
from flgames.cli.ui.errors import exit_codes
from flgames.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from flgames.runs.folder import GameFolder, RunFolder
    from flgames.runs.match import Match


def explain_runs(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of finished runs, on the same benchmark.")],
    images: Annotated[int, typer.Option(min=1, help="Explain so many held-out images, of every label in turn.")] = 8,
    seed: Annotated[int | None, typer.Option(min=0, help="The seed whose models are explained. Default: each run's first.")] = None,
    out: Annotated[Path, typer.Option(help="The picture.")] = Path("explain.png"),
    offline: options.Offline = False,
) -> None:  # fmt: skip
    """Explain finished runs: what sites disagree about, and, on a benchmark, what predictions rest on.

    Of tables, RUN/disagreement.png and .csv show every column: how far the players' log-odds move apart by it, how far its effect differs between sites beyond chance (Cochran's Q, with Holm's correction), and how much worse the model is when it is shuffled, on samples that were held back. The training clients' data must be on this machine.

    Of settled games on images RUN/disagreement.png shows the images in which the disagreement is strongest on either side, and where in the picture it sits. On a benchmark its agreement with the planted feature is printed: for eyes only, nothing that trains can see it.

    Predictions of a benchmark's models are explained by LIME, side by side. An image is described by its segments, whose ink is removed, and by its spurious feature, which is moved: the colour to another channel, the patch to the other corner. Every model of every run is a row of masks; the number is |beta_spurious| / sum |beta|, the mean over images.

    For example: flgames explain runs/...
    """
    from flgames.cli.ui.fetching import fetch
    from flgames.data.benchmarks.registry import is_planted, planted
    from flgames.report.explanations import draw_explanations, explain_games, share_table
    from flgames.runs.folder import RunFolder
    from flgames.waiting.bar import shown

    console = make_console()
    with exit_codes():
        if out.suffix != ".png":
            raise UserError(f"The picture is a PNG: let `out` end in .png; {out} was given.")
        folders = [RunFolder.open(path) for path in runs]
        for folder in folders:
            _show_disagreement(folder, images, seed, console, offline)
        folders = [each for each in folders if each.settings.data is None and is_planted(each.settings.source)]
        if not folders:
            return
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
        with shown(console):
            explained, flip_rates = explain_games(games, images)
        noun = source.feature.noun
        try:
            draw_explanations(out, f"{source.title}, seed {chosen}: explained by LIME", explained, noun)
        except OSError as error:
            raise UserError(f"{out} can't be written: {error.strerror}.") from None
        console.print(share_table(f"{source.title}: what {noun} takes of a prediction, %", explained, flip_rates, noun))
        console.print(str(out), soft_wrap=True, style="bold")


def _show_disagreement(folder: RunFolder, images: int, seed: int | None, console: Console, offline: bool) -> None:
    """A picture for every settled game of a run's seed; a run of own data must have one."""
    from flgames.cli.ui.fetching import fetch
    from flgames.data.benchmarks.registry import benchmark, is_planted
    from flgames.report.disagreement import draw, look

    if folder.settings.data is None:
        fetch(benchmark(folder.settings.source), console, offline)
    chosen = folder.settings.seed if seed is None else seed
    shown: list[Path] = []
    last = folder.plan.entries[-1].slug if folder.is_planned else ""
    for match, game in folder.games():
        if match.seed != chosen or not game.has_ended:
            continue
        apart = f"-{match.holdout}" if folder.settings.holds_out_each else ""
        more = f"-{match.entry.slug}" if shown and not apart else ""
        path = folder.path / f"disagreement{apart}{more}.png"
        if match.has_columns:
            if match.entry.slug == last:
                shown.append(path)
                _show_columns(path, match, game, console)
            continue
        seen = look(game, match, images)
        if seen is None:
            continue
        shown.append(path)
        draw(path, seen)
        _say_finding(match, game, console)
        if seen.agreement is not None:
            console.print(
                f"It is the planted feature for {seen.agreement:.1%} of the training samples: for eyes only, nothing "
                "that trains can see that.",
                soft_wrap=True,
            )
        console.print(str(path), soft_wrap=True, style="bold")
    real = folder.settings.data is not None or not is_planted(folder.settings.source)
    if not shown and real:
        raise UserError(f"{folder.path} has no settled game on images, and no table: there is nothing to explain.")


def _say_finding(match: Match, game: GameFolder, console: Console) -> None:
    from flgames.report.sentences import columns_of
    from flgames.runs.evidence import found as sentence

    finding = game.result().finding
    if finding:
        console.print(sentence(finding, columns_of(match)), soft_wrap=True, style="cyan")


def _show_columns(path: Path, match: Match, game: GameFolder, console: Console) -> None:
    """A table, a file and a picture of what the sites of a table disagree about."""
    from flgames.data.benchmarks.sites import SitesData
    from flgames.report.columns import beside_core, column_table, draw, evidence_of, write_csv
    from flgames.waiting.bar import shown

    with shown(console):
        evidence = evidence_of(game, match)
    title = f"{match.title}: {match.entry.title}, seed {match.seed}"
    _say_finding(match, game, console)
    console.print(column_table(title, evidence))
    data = match.data()
    for remark in beside_core(evidence, data.sites.core_columns) if isinstance(data, SitesData) else ():
        console.print(remark, soft_wrap=True)
    draw(path, title, evidence)
    write_csv(path.with_suffix(".csv"), evidence)
    console.print(f"{path}\n{path.with_suffix('.csv')}", soft_wrap=True, style="bold")

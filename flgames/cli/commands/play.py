"""flgames play."""

from __future__ import annotations

from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from flgames.cli.ui import options
from flgames.cli.ui.console import make_console
from flgames.cli.ui.errors import exit_codes
from flgames.core.knobs import PHI
from flgames.errors import UserError
from flgames.runs.resolve import read_file, resolve
from flgames.runs.settings import RUN, Settings, knobs, validated

if TYPE_CHECKING:
    from rich.console import Console

    from flgames.core.callbacks import Callback
    from flgames.data.own.survey import Survey
    from flgames.report.tracked import Tracker
    from flgames.runs.folder import RunFolder

IN_PHI, IN_RUN = str(PHI["panel"]), str(RUN["panel"])


class TrackedBy(StrEnum):
    """Who else hears of every round."""

    tensorboard = "tensorboard"
    mlflow = "mlflow"


@options.takes(*knobs())
def play(
    context: typer.Context,
    fast: Annotated[bool, Option("--fast", help="The same as --phi-batches all: full-batch gradient descent over phi.", rich_help_panel=IN_PHI)] = False,
    offline: options.Offline = False,
    track: Annotated[TrackedBy | None, Option(help="tensorboard: write every measure of every round, figures and settings into RUN/tensorboard; mlflow: the same, the report and the exported model, where MLFLOW_TRACKING_URI says.", rich_help_panel=IN_RUN)] = None,
    config: Annotated[Path | None, Option(help="A TOML file of settings, with the names of these options as keys; the command line wins.", rich_help_panel=IN_RUN)] = None,
    out: Annotated[Path | None, Option(help="The run folder, new or empty. Default: runs/TIME-BENCHMARK-VARIANT.", rich_help_panel=IN_RUN)] = None,
    resume: Annotated[Path | None, Option(help="Go on with the run in this folder.", rich_help_panel=IN_RUN)] = None,
    **given: object,
) -> None:  # fmt: skip
    """Play a game and see what it learnt: a table, and report.html in a run folder.

    For example: flgames play --benchmark colored-mnist --seeds 5
    or, with data of your own: flgames play --data scans --holdout hospital-c
    """
    from flgames.cli.ui.fetching import fetch
    from flgames.data.benchmarks.registry import benchmark
    from flgames.devices import chosen_device, leave_compiler_out
    from flgames.engines.launch import check_engine
    from flgames.runs.folder import RunFolder
    from flgames.runs.plan import likely_entries

    console = make_console()
    leave_compiler_out()
    with exit_codes():
        chosen = options.given(context)
        if fast:
            chosen["phi_batches"] = "all"
        run = _resumed(resume, chosen, config, out, console) if resume is not None else None
        filed = read_file(config, ["track"]) if config else {}
        track = track or _tracker(filed.pop("track", None))
        settings = run.settings if run else resolve(filed | chosen)
        likely_entries(settings)  # refuses a method that is not declared for this benchmark before a folder is made
        chosen_device(settings.device)
        if settings.engine != "local":
            check_engine(settings)
        if track:
            _tracker_of(track).check()
        if run is None:
            surveys = _got_ready(settings, console, offline)
            run = RunFolder.create(out, settings, surveys)
        elif settings.data is None:
            fetch(benchmark(settings.source), console, offline)
        _play(run, console, track)


def _tracker(named: object) -> TrackedBy | None:
    """The tracker of a config file, if it names one."""
    if named not in (None, *TrackedBy):
        raise UserError(f"`track` should be {' or '.join(map(repr, map(str, TrackedBy)))}; {named} was given.")
    return None if named is None else TrackedBy(str(named))


def _got_ready(settings: Settings, console: Console, offline: bool) -> dict[str, Survey] | None:
    """Have the data at hand, and refuse what can't be played, before a folder is made."""
    import torch

    from flgames.cli.ui.fetching import fetch
    from flgames.data.benchmarks.registry import benchmark
    from flgames.data.own.source import OwnOptions, remarks_on, surveys_of
    from flgames.data.own.survey import lacking
    from flgames.engines.sites import known_players
    from flgames.runs.plan import make_plan
    from flgames.waiting.bar import shown

    if settings.data is None:
        fetch(benchmark(settings.source), console, offline)
        return None
    known_players(settings)  # refuses a client to hold out that is not there
    if settings.engine != "local":
        return None  # what its data are is for each client to say
    torch.set_num_threads(settings.threads)  # images are read by as many
    with shown(console):
        surveys = surveys_of(settings.data, settings.roles)
    plan = make_plan(settings, surveys)  # refuses clients that do not fit together
    own = plan.matches[0].options
    taken = own.remarks(surveys) if isinstance(own, OwnOptions) else ()
    for remark in (*remarks_on(settings.data, settings.roles), *taken, *lacking(surveys)):
        console.print(remark, style="yellow", soft_wrap=True)
    return surveys


def _play(run: RunFolder, console: Console, track: TrackedBy | None) -> None:
    from flgames.cli.ui.live import LiveLine
    from flgames.cli.ui.signals import signals
    from flgames.engines.launch import simulate
    from flgames.runs.folder import locked
    from flgames.runs.runner import Interrupted, play_run
    from flgames.waiting.told import telling

    console.print(f"run folder: {run.path}", soft_wrap=True)
    is_local = run.settings.engine == "local"
    with locked(run.path), _tracker_of(track)(run) if track else nullcontext() as tracked:
        if tracked:
            console.print(tracked.where, soft_wrap=True)
        try:
            with signals(console) as interrupted, LiveLine(console, run) as live, telling(live.told):
                callbacks: list[Callback] = [live, tracked] if tracked else [live]
                (play_run if is_local else simulate)(run, callbacks, interrupted)
        except Interrupted:
            console.print(f"Stopped; the state is saved. Go on with: flgames play --resume {run.path}", soft_wrap=True)
            raise typer.Exit(130) from None
        if not is_local:
            _say_columns(run, console)
        # Figures and the page are made at the end: nobody waits for what draws them before.
        from flgames.report.html.run_page import write_report
        from flgames.report.run import summarise
        from flgames.waiting.bar import shown

        summarise(run, console)
        with shown(console):
            page = write_report([run])
        console.print(str(page), soft_wrap=True, style="bold")
        if tracked:
            tracked.on_report(run.path)
            for remark in tracked.remarks:
                console.print(remark, style="yellow", soft_wrap=True)
            console.print(tracked.where, soft_wrap=True)


def _tracker_of(track: TrackedBy) -> type[Tracker]:
    from flgames.report.mlflow_run import MLflowRun
    from flgames.report.tracked import TensorBoardRun

    return {TrackedBy.tensorboard: TensorBoardRun, TrackedBy.mlflow: MLflowRun}[track]


def _say_columns(run: RunFolder, console: Console) -> None:
    """What was made of the columns of tables, where sites have told of them during the run."""
    from flgames.data.own.source import OwnOptions

    own = run.plan.matches[0].options
    for remark in own.remarks(run.surveys or {}) if isinstance(own, OwnOptions) else ():
        console.print(remark, style="yellow", soft_wrap=True)


def _resumed(
    path: Path, given: dict[str, object], config: Path | None, out: Path | None, console: Console
) -> RunFolder:
    from flgames.runs.folder import RunFolder

    run = RunFolder.open(path)
    if config or out:
        raise UserError("`resume` goes on with a run as it was set up: leave out `config` and `out`.")
    ours = run.settings.flat()
    settings = validated(ours | given)
    asked = settings.flat()
    for name in given:
        if asked[name] != ours[name] and name != "threads":
            raise UserError(f"{path} belongs to another run: its `{name}` is {ours[name]}, not {asked[name]}.")
    if settings.threads == run.settings.threads or run.has_ended:
        return run
    said = f"It began with --threads {run.settings.threads} and goes on with {settings.threads}"
    console.print(f"{said}: weights may differ in their last bits.", style="yellow", soft_wrap=True)
    return run.with_threads(settings.threads)

"""flgames play."""

from __future__ import annotations

from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from flgames.baselines import ALL as BASELINES
from flgames.cli import options
from flgames.cli.errors import exit_codes
from flgames.cli.signals import signals
from flgames.contest import Interrupted, contest
from flgames.data.catalogue import NAMES as BENCHMARKS
from flgames.data.catalogue import benchmark as benchmark_of
from flgames.data.own.layout import Survey, lacking
from flgames.data.own.source import surveys_of
from flgames.devices import chosen_device
from flgames.engines.simulation import check_engine, simulate
from flgames.engines.sites import known_players
from flgames.errors import UserError
from flgames.lineup import entries, matches
from flgames.presets import VARIANTS
from flgames.report.console import make_console
from flgames.report.fetching import fetch
from flgames.report.live import LiveLine
from flgames.report.summary import summarise
from flgames.report.tracked import FOLDER, Tracked
from flgames.runs import RunFolder, locked
from flgames.settings import Settings, resolve, validated
from flgames.tracking import check_tensorboard

WHAT = "What is played"
OWN = "Data of your own"
GAME = "The game"
RESPONSE = "A player's response"
PHI = "The representation phi"
STOP = "When it ends"
RUN = options.RUN
ENGINE = "Where the clients are"

Option = typer.Option


class Tracker(StrEnum):
    """Who else hears of every round."""

    tensorboard = "tensorboard"


def play(
    context: typer.Context,
    benchmark: Annotated[str | None, Option(help=f"One of: {', '.join(BENCHMARKS)}. Default: colored-digits, which is embedded.", rich_help_panel=WHAT)] = None,
    variant: Annotated[str | None, Option(help=f"The paper's name for a choice of knobs: {', '.join(VARIANTS)}. F keeps phi fixed at the identity, V learns it; Smooth answers to the opponents' memory; Fast moves phi by full-batch gradients. Each knob below overrides it. Default: f-fl-games-smooth.", rich_help_panel=WHAT)] = None,
    against: Annotated[str | None, Option(help=f"Play this method first on the same clients, to compare: none, or one of {', '.join(BASELINES)}. Default: fedavg. For all of them, see flgames compare.", rich_help_panel=WHAT)] = None,
    against_rounds: Annotated[int | None, Option(help="Its rounds. Default: as declared for the benchmark.", rich_help_panel=WHAT)] = None,
    data: Annotated[str | None, Option(help="A folder with data of your own, instead of a benchmark: for each client a folder of images, CLIENT/CLASS/*.png or .jpg, or a table, CLIENT.csv, .parquet or .npz.", rich_help_panel=OWN)] = None,
    target: Annotated[str | None, Option(help="The column of the tables that is to be predicted. Default for .npz: y.", rich_help_panel=OWN)] = None,
    holdout: Annotated[str | None, Option(help="The client that nobody trains on, to see how the model does where it has never been; each holds out every client in turn. Default: none.", rich_help_panel=OWN)] = None,
    clients: options.Clients = None,
    flips: options.Flips = None,
    sizes: options.Sizes = None,
    classes: options.Classes = None,
    pixels: options.Pixels = None,
    side: options.Side = None,
    sprites: options.Sprites = None,
    offline: options.Offline = False,
    initialisation: Annotated[str | None, Option(help="torch (default), or glorot, as Keras starts and so IRM Games did.", rich_help_panel=WHAT)] = None,
    schedule: Annotated[str | None, Option(help="Best response dynamics: clockwise, one player at a time in a fixed order (the paper's sequential); simultaneous, all players at once against the round before (the paper's parallel, default); random, one player drawn at a time.", rich_help_panel=GAME)] = None,
    participation: Annotated[float | None, Option(help="Fraction of players that move in a simultaneous round; the others keep their last action. Default: 1.", rich_help_panel=GAME)] = None,
    memory: Annotated[int | None, Option(help="Size of the buffer of each opponent's played actions, first in first out; 0 answers to current actions only. Smooth means 5.", rich_help_panel=GAME)] = None,
    memory_mode: Annotated[str | None, Option(help="How memory enters the loss: history, the mean of each opponent's buffer in its place (default); paper, as printed, on top of the current action; normalised, as printed and divided by its weights.", rich_help_panel=GAME)] = None,
    local_steps: Annotated[str | None, Option(help="Gradient steps a move: a number, a percentage of the client's batches, all, or a range such as 1-10 from which every client draws its own number once. More steps come nearer to an exact best response. Default: 1.", rich_help_panel=RESPONSE)] = None,
    full_batch: Annotated[bool | None, Option("--full-batch/--mini-batch", help="Take each step on all of the client's samples: gradient descent. Default: mini-batch.", rich_help_panel=RESPONSE)] = None,
    batch_size: Annotated[int | None, Option(help="Samples a mini-batch. Default: 256.", rich_help_panel=RESPONSE)] = None,
    learning_rate: Annotated[float | None, Option(help="Of the players' optimiser. Default: the paper's for the benchmark; 0.003 for data of your own.", rich_help_panel=RESPONSE)] = None,
    optimiser: Annotated[str | None, Option(help="adam, kept by the client across rounds (default), or sgd.", rich_help_panel=RESPONSE)] = None,
    representation: Annotated[str | None, Option(help="fixed or variable; the variant says which.", rich_help_panel=PHI)] = None,
    phi_batches: Annotated[str | None, Option(help="Batches in a client's gradient of phi: a number, a percentage, or all. Default: 1.", rich_help_panel=PHI)] = None,
    fast: Annotated[bool, Option("--fast", help="The same as --phi-batches all: full-batch gradient descent over phi.", rich_help_panel=PHI)] = False,
    phi_every: Annotated[str | None, Option(help="Predictor rounds between two moves of phi: a number, or sweep, once all players have moved, as IRM Games does. Default: 1.", rich_help_panel=PHI)] = None,
    phi_learning_rate: Annotated[float | None, Option(help="Of the server's optimiser. Default: the paper's for the benchmark.", rich_help_panel=PHI)] = None,
    phi_rounds: Annotated[int | None, Option(help="Train phi by so many rounds of FedAvg before the game begins; a fixed phi then stays as it is, and what it makes of the samples is computed once. Default: 10 for images of your own, else 0.", rich_help_panel=PHI)] = None,
    phi_optimiser: Annotated[str | None, Option(help="adam (default) or sgd, plain FedSGD.", rich_help_panel=PHI)] = None,
    stop_below: Annotated[str | None, Option(help="Stop when training accuracy has been above this and falls below it, or never. Default: the preset of benchmark and variant.", rich_help_panel=STOP)] = None,
    stop_spread: Annotated[float | None, Option(help="A guard that the paper does not have: stop only while the best and the worst client differ by at most this much, for example 0.01. While a shortcut is used they differ. Default: 1, no guard.", rich_help_panel=STOP)] = None,
    stop_bias: Annotated[float | None, Option(help="The other guard: stop only while labels are said nearly as often as they occur, for example 0.1. Default: 1, no guard.", rich_help_panel=STOP)] = None,
    patience: Annotated[int | None, Option(help="Another rule, for those who know no threshold: return the model of the round with the highest score, and stop when no round has been better for so many. Default for own data: 100.", rich_help_panel=STOP)] = None,
    spread_penalty: Annotated[float | None, Option(help="That score is training accuracy minus this many times the difference between the best and the worst client: while a shortcut is used they differ. Default: 6.", rich_help_panel=STOP)] = None,
    bias_penalty: Annotated[float | None, Option(help="And minus this many times the share of predictions that are off the labels' frequencies: one that says the same of everything differs nowhere. Default: 0.5.", rich_help_panel=STOP)] = None,
    warm_start: Annotated[int | None, Option(help="Rounds in which it can't stop. Default: the number of players if phi is fixed, else the batches of an epoch; at least 88 for spurious-cifar10 and 59 for colored-dsprites.", rich_help_panel=STOP)] = None,
    rounds: Annotated[int | None, Option(help="Rounds at most. Default: 500, or 1000 for a variant that learns phi and is not Fast.", rich_help_panel=STOP)] = None,
    measure_samples: Annotated[int | None, Option(help="Training samples that a measure looks at first; more are counted, to the last one, where these can't decide. 0: always all. Default: 2048.", rich_help_panel=STOP)] = None,
    seed: Annotated[int | None, Option(help="Drives data, initialisation, batches and schedule. Default: 0.", rich_help_panel=RUN)] = None,
    seeds: Annotated[int | None, Option(help="Play so many seeds, from --seed on, and show mean and standard deviation. Default: 1.", rich_help_panel=RUN)] = None,
    probe_every: Annotated[int | None, Option(help="Show the unseen client every so many rounds, for the curves only; nothing that trains or stops can see it. 0: at the end only (default).", rich_help_panel=RUN)] = None,
    checkpoint_every: Annotated[int | None, Option(help="Save the whole state every so many rounds. Default: 0, by time.", rich_help_panel=RUN)] = None,
    checkpoint_seconds: Annotated[float | None, Option(help="Save the whole state this often; 0: after every round. Default: 20.", rich_help_panel=RUN)] = None,
    engine: Annotated[str | None, Option(help="What carries the messages between server and clients: local, in this process (default); nvflare or flower, in their simulators, with a process a client. The weights are the same.", rich_help_panel=ENGINE)] = None,
    timeout: Annotated[float | None, Option(help="Seconds that a client has for an answer over nvflare or flower; one that is late is skipped, and keeps its last action. Default: 120.", rich_help_panel=ENGINE)] = None,
    min_clients: Annotated[int | None, Option(help="How many clients must be there for the game to go on. Default: 2.", rich_help_panel=ENGINE)] = None,
    device: options.Device = "auto",
    threads: options.Threads = None,
    track: Annotated[Tracker | None, Option(help="tensorboard: write every measure of every round, figures and settings into RUN/tensorboard.", rich_help_panel=RUN)] = None,
    config: Annotated[Path | None, Option(help="A TOML file of settings, with the names of these options as keys; the command line wins.", rich_help_panel=RUN)] = None,
    out: Annotated[Path | None, Option(help="The run folder, new or empty. Default: runs/TIME-BENCHMARK-VARIANT.", rich_help_panel=RUN)] = None,
    resume: Annotated[Path | None, Option(help="Go on with the run in this folder.", rich_help_panel=RUN)] = None,
) -> None:  # fmt: skip
    """Play a game and see what it learnt: a table, curves.png and profile.png in a run folder.

    For example: flgames play --benchmark colored-mnist --seeds 5
    or, with data of your own: flgames play --data scans --holdout hospital-c
    """
    console = make_console()
    with exit_codes(), options.network(offline):
        chosen = options.given(context, Settings)
        if fast:
            chosen["phi_batches"] = "all"
        run = _resumed(resume, chosen, config, out) if resume is not None else None
        settings = run.settings if run else resolve(chosen, config)
        entries(settings)  # refuses a method that is not declared for this benchmark before a folder is made
        chosen_device(settings.device)
        if settings.engine != "local":
            check_engine(settings)
        if track:
            check_tensorboard()
        surveys = run.surveys if run else _got_ready(settings, console)
        run = run or RunFolder.create(out, settings)
        if surveys:
            run.save_surveys(surveys)
        _play(run, console, track)


def _got_ready(settings: Settings, console: Console) -> dict[str, Survey] | None:
    """Have the data at hand, and refuse what can't be played, before a folder is made."""
    if settings.data is None:
        fetch(benchmark_of(settings), settings.seed, console)
        return None
    known_players(settings)  # refuses a client to hold out that is not there
    if settings.engine != "local":
        return None  # what its data are is for each client to say
    with console.status("reading the clients' data ..."):
        surveys = surveys_of(settings.data, settings.target)
    matches(settings, surveys)  # refuses clients that do not fit together
    for remark in lacking(surveys):
        console.print(remark, style="yellow", soft_wrap=True)
    return surveys


def _play(run: RunFolder, console: Console, track: Tracker | None) -> None:
    console.print(f"run folder: {run.path}", soft_wrap=True)
    with locked(run.path) if run.settings.engine == "local" else nullcontext():  # an engine's server locks it
        try:
            with signals(console) as interrupted, LiveLine(console) as live:
                tracked = Tracked(run, live) if track else None
                play_all = contest if run.settings.engine == "local" else simulate
                play_all(run, tracked or live, interrupted)
        except Interrupted:
            console.print(f"Stopped; the state is saved. Go on with: flgames play --resume {run.path}", soft_wrap=True)
            raise typer.Exit(130) from None
        summarise(run, console)
        if tracked:
            tracked.finish()
            console.print(f"tensorboard --logdir {run.path / FOLDER}", soft_wrap=True)


def _resumed(path: Path, given: dict[str, Any], config: Path | None, out: Path | None) -> RunFolder:
    run = RunFolder.open(path)
    if config or out:
        raise UserError("--resume goes on with a run as it was set up: leave out --config and --out.")
    asked = validated(run.settings.model_dump() | given)
    for name in given:
        theirs, ours = getattr(run.settings, name), getattr(asked, name)
        if theirs != ours:
            raise UserError(f"{path} belongs to another run: its --{name.replace('_', '-')} is {theirs}, not {ours}.")
    return run

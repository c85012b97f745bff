"""What was set, and how to have the same again."""

from __future__ import annotations

from collections.abc import Sequence

from flgames.report.html.gather import Gathered, Played, names_of
from flgames.report.html.page import Block, Cell, Command, Section, Table
from flgames.runs.command import command_of, spelled
from flgames.runs.folder import RunFolder
from flgames.runs.settings import Settings


def several_seeds(methods: Sequence[Played]) -> bool:
    return any(len(method.games) > 1 for method in methods)


def settings_section(gathered: Gathered) -> Section:
    """Every setting of the runs, first those that differ."""
    runs = gathered.runs
    names = names_of([run.path for run in runs])
    flat = [_told(run.settings) for run in runs]
    every = list(dict.fromkeys(name for each in flat for name in each))
    blocks: list[Block] = []
    if len(runs) > 1:
        blocks.append(differing(runs))
    rows = [[Cell(name.replace("_", "-")), *(Cell(each.get(name, "")) for each in flat)] for name in every]
    columns = ["setting", *(names[run.path] for run in runs)] if len(runs) > 1 else ["setting", "value"]
    blocks.append(Table("As on the command line", columns, rows, folded=f"All {len(every)} settings"))
    methods = {
        (name, value): None
        for source in gathered.sources
        for method in source.methods
        for name, value in [(method.title, _entry(method))]
    }
    if methods:
        cells = [[Cell(name), Cell(value)] for name, value in methods]
        blocks.append(
            Table(
                "What decides a match, but for the data",
                ["method", "settings"],
                cells,
                folded="Every method's own settings",
            )
        )
    return Section("Settings", blocks)


def differing(runs: Sequence[RunFolder]) -> Table:
    """The settings in which runs differ."""
    names = names_of([run.path for run in runs])
    flat = [_told(run.settings) for run in runs]
    every = list(dict.fromkeys(name for each in flat for name in each))
    differ = [name for name in every if len({each.get(name) for each in flat}) > 1]
    rows = [[Cell(name.replace("_", "-")), *(Cell(each.get(name, "")) for each in flat)] for name in differ]
    caption = "Settings that differ" if differ else "No setting differs"
    return Table(caption, ["setting", *(names[run.path] for run in runs)], rows)


def repeat_section(gathered: Gathered) -> Section:
    """The command of every run, and the code that it was."""
    blocks: list[Block] = [Command(command_of(run.settings)) for run in gathered.runs]
    return Section(
        "Have it again",
        blocks,
        "The same command on the same data gives the same weights, with the same versions and number of threads.",
    )


def _told(settings: Settings) -> dict[str, str]:
    return {name: spelled(value) for name, value in settings.flat().items() if value not in (None, (), [], "")}


def _entry(method: Played) -> str:
    told = method.entry.model_dump(exclude_defaults=True, exclude={"slug", "title"})
    return "; ".join(f"{name.replace('_', '-')} {value}" for name, value in told.items())

"""The command that plays a run again: as short as it can be said."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from flgames.errors import UserError
from flgames.runs.resolve import resolve
from flgames.runs.settings import Settings, knobs

NAMED_FIRST = ("benchmark", "data", "target", "variant")


def command_of(settings: Settings) -> str:
    """`flgames play` with every option that it takes to get these settings, and no other."""
    given = chosen_of(settings)
    order = sorted(given, key=lambda name: (name not in NAMED_FIRST, list(knobs()).index(name)))
    return shlex.join(["flgames", "play", *(word for name in order for word in _words(name, given[name]))])


def compare_command(what: Sequence[str], given: Mapping[str, object]) -> str:
    """`flgames compare` with these options."""
    words = [word for name, value in given.items() for word in _words(name, value)]
    return shlex.join(["flgames", "compare", *what, *words])


def chosen_of(settings: Settings) -> dict[str, object]:
    """The fewest settings that all the others follow from."""
    wanted: dict[str, object] = dict(settings.flat())
    first = {name: wanted[name] for name in ("benchmark", "data") if wanted[name] is not None}
    if settings.data is not None:
        first.pop("benchmark")
    try:
        implied = resolve(first).flat()
    except UserError:
        implied = {}
    chosen = first | {name: value for name, value in wanted.items() if implied.get(name) != value and name not in first}
    if settings.data is not None:
        chosen.pop("benchmark", None)
    for name in [each for each in chosen if each not in first]:
        without = {each: value for each, value in chosen.items() if each != name}
        if _gives(without, settings):
            chosen = without
    return chosen


def _gives(chosen: dict[str, object], settings: Settings) -> bool:
    try:
        return resolve(chosen) == settings
    except UserError:
        return False


def _words(name: str, value: object) -> list[str]:
    """An option as it is typed."""
    option = f"--{name.replace('_', '-')}"
    extra = knobs()[name].json_schema_extra if name in knobs() else None
    if isinstance(value, bool):
        otherwise = extra.get("otherwise") if isinstance(extra, dict) else None
        return [option] if value else [f"--{otherwise}"] if otherwise else []
    if isinstance(extra, dict) and extra.get("several") and isinstance(value, tuple | list):
        return [word for each in value for word in (option, str(each))]
    return [option, spelled(value)]


def spelled(value: object) -> str:
    """A setting as it is typed on a command line."""
    if isinstance(value, tuple | list):
        return ",".join(map(spelled, value))
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)

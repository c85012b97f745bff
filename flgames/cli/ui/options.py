"""Options of commands, made from the knobs that are declared elsewhere; and those that only commands have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args, get_origin

import click
import typer
from click.core import ParameterSource
from pydantic.fields import FieldInfo
from typer.core import TyperCommand, TyperGroup

from flgames.core.knobs import GAME, PHI, RESPONSE, SETTLING, STOP
from flgames.core.stopping.rule import rules
from flgames.data.benchmarks.options import DATA, WHAT, BenchmarkOptions
from flgames.data.variables import OFFLINE_VARIABLE
from flgames.errors import UserError
from flgames.runs.own_settings import OWN
from flgames.runs.settings import ENGINE, RUN, Settings, checked, knobs

if TYPE_CHECKING:
    import torch

Command = TypeVar("Command", bound=Callable[..., None])

PANELS = [str(panel["panel"]) for panel in (WHAT, OWN, DATA, GAME, RESPONSE, PHI, SETTLING, STOP, ENGINE, RUN)]
"""In the order of the help."""

OF_A_BENCHMARK = tuple(name for name in BenchmarkOptions.model_fields if name != "benchmark")
OF_OWN_DATA = ("data", "target", "group_column", "client_column", "columns", "drop", "categories", "side")
"""What describes data of one's own to a command that holds out each client by itself."""
OF_THE_MACHINE = ("device", "threads")

Offline = Annotated[
    bool,
    typer.Option(
        "--offline",
        help="Never touch the network: own folder, cache and copies on the machine only. The same as "
        f"{OFFLINE_VARIABLE}=1.",
        rich_help_panel=str(DATA["panel"]),
    ),
]
Results = Annotated[Path, typer.Option("--out", help="The folder of results.", rich_help_panel=str(RUN["panel"]))]


def takes(*names: str) -> Callable[[Command], Command]:
    """Give a command with ``**given`` an option for each of these knobs; one may be named twice."""

    def with_options(command: Command) -> Command:
        declared = knobs()
        order = sorted(dict.fromkeys(names), key=lambda name: PANELS.index(_panel(declared[name])))
        made = [_parameter(name, declared[name]) for name in order]
        signature = inspect.signature(command, eval_str=True)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        first = [each for each in own if each.default is each.empty]
        rest = [each for each in own if each.default is not each.empty]
        command.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[each.replace(kind=each.KEYWORD_ONLY) for each in (*first, *made, *rest)]
        )
        command.__annotations__ = {each.name: each.annotation for each in (*own, *made)} | {"return": None}
        return command

    return with_options


class Commands(TyperGroup):
    """Commands whose errors name an option only: click 8.2 adds an environment variable, though ours have none."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        for command in self.commands.values():
            for each in command.params:
                if isinstance(each, click.Option):
                    each.show_envvar = each.envvar is not None


class BareOptions(TyperCommand):
    """A command some of whose options may stand without a value: a knob says what that means."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        bare = {f"--{name.replace('_', '-')}": str(value) for name, value in _bare()}
        spelled: list[str] = []
        for arg, following in zip(args, [*args[1:], None], strict=True):
            spelled.append(arg)
            if arg in bare and (following is None or following.startswith("-")):
                spelled.append(bare[arg])
        return super().parse_args(ctx, spelled)


def _bare() -> Iterator[tuple[str, object]]:
    for name, info in knobs().items():
        if isinstance(info.json_schema_extra, dict) and "bare" in info.json_schema_extra:
            yield name, info.json_schema_extra["bare"]


def _parameter(name: str, info: FieldInfo) -> inspect.Parameter:
    kind = str if name in {each.chosen_by for each in rules().values()} else _plain_type(info.annotation)
    extra = info.json_schema_extra
    otherwise = extra.get("otherwise") if isinstance(extra, dict) else None
    spelled = (f"--{name.replace('_', '-')}/--{otherwise}",) if otherwise else ()
    option = typer.Option(*spelled, help=help_of(info), rich_help_panel=_panel(info), show_default=False)
    told = list[str] if isinstance(extra, dict) and extra.get("several") else kind
    annotation = Annotated[told | None, option]  # type: ignore[valid-type]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _panel(info: FieldInfo) -> str:
    assert isinstance(info.json_schema_extra, dict), "a knob says in which panel of the help it stands"
    return str(info.json_schema_extra["panel"])


def help_of(info: FieldInfo) -> str:
    """What a knob does, and its default."""
    assert info.description, "a knob has a help text"
    default = info.default
    if "efault" in info.description or info.is_required() or default is None or info.default_factory:
        return info.description
    shown = f"{default:g}" if isinstance(default, float) else default
    return f"{info.description} Default: {shown}."


def _plain_type(annotation: object) -> type:
    """What a terminal can check by itself; all else is text, which the knob's own type checks."""
    parts = [part for part in get_args(annotation) or (annotation,) if part is not NoneType]
    if get_origin(annotation) is Literal:
        return int if all(isinstance(part, int) for part in parts) else str
    return parts[0] if len(parts) == 1 and parts[0] in (bool, int, float) else str


def names(text: str | None, default: Iterable[str]) -> tuple[str, ...]:
    """Names with commas between them, each once."""
    found = [name.strip() for name in text.split(",")] if text else default
    return tuple(dict.fromkeys(name for name in found if name))


@contextmanager
def results_folder(out: Path) -> Iterator[None]:
    """The folder of results, made if need be, for this process alone."""
    from flgames.runs.folder import locked

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{out} can't be used for results: {error.strerror}.") from None
    with locked(out):
        yield


def machine(given: Mapping[str, object]) -> torch.device:
    """Compute as the command was told: the device, and so many threads from now on."""
    import torch

    from flgames.devices import chosen_device

    told = checked(Settings, {name: given[name] for name in OF_THE_MACHINE if given[name] is not None})
    device = chosen_device(told.device)
    torch.set_num_threads(told.threads)
    return device


def given(context: click.Context, *only: str) -> dict[str, object]:
    """The knobs that were given by hand; ``only``: of these."""
    return {
        name: value
        for name, value in context.params.items()
        if name in (only or knobs()) and context.get_parameter_source(name) is not ParameterSource.DEFAULT
    }

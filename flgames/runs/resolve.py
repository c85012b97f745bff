"""From what a person says to settings: presets of the data, then a file, then what was given by hand."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from flgames.core.stopping.rule import NEVER, rules
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.own import OWN_DATA
from flgames.data.own.roles import Kind
from flgames.errors import UserError, unknown
from flgames.runs import presets
from flgames.runs.own_settings import EACH, REST
from flgames.runs.settings import NONE, Settings, checked, knobs, validated


def resolve(given: Mapping[str, object], file: Path | None = None) -> Settings:
    """Presets of the benchmark and variant, overridden by a TOML file, overridden by what was given by hand."""
    chosen = (read_file(file) if file else {}) | dict(given)
    own = chosen.get("data") is not None
    if own and "benchmark" in chosen and chosen["benchmark"] != OWN_DATA:
        raise UserError("`data` is instead of `benchmark`: leave one of them out.")
    settings = _on_own_data(chosen) if own else _on_benchmark(chosen)
    unusual = settings.training.model_dump(exclude_defaults=True) | ({"network": 0} if settings.network else {})
    if unusual and not settings.settles_games:
        raise UserError(f"`{next(iter(unusual))}` is for games that are settled, and this one is not: give `settle`.")
    return settings


def _has_rule(values: Mapping[str, object], usual: str) -> bool:
    """Whether something is said of the usual rule, if only never, or another one is chosen."""
    return usual in values or any(values.get(each.chosen_by) not in (None, NEVER) for each in rules().values())


def _variant(chosen: Mapping[str, object]) -> str:
    return str(chosen.get("variant", Settings.model_fields["variant"].default))


def _on_benchmark(chosen: Mapping[str, object]) -> Settings:
    from flgames.data.benchmarks.registry import benchmark as benchmark_of
    from flgames.data.benchmarks.sites import Sites

    for name in (*FOR_OWN_DATA, "holdout"):
        if chosen.get(name):
            raise UserError(f"`{name}` is for data of your own: give `data` too.")
    options = {name: value for name, value in chosen.items() if name in BenchmarkOptions.model_fields}
    source = benchmark_of(checked(BenchmarkOptions, options))  # refuses options that this benchmark does not have
    if isinstance(source, Sites):
        return validated({**_implied(source.kind, chosen), **chosen, "benchmark": source.name})
    if chosen.get("class_weight", NONE) != NONE:
        raise UserError(f"`class_weight` is for real data, such as your own, and {source.name} has a planted shortcut.")
    variant, settles = _variant(chosen), _settles(chosen)
    implied = _as_the_variant(presets.on_benchmark(source.name, variant, settles, _is_balanced(chosen)), chosen)
    values = {**_without_other_rule(implied, chosen), **chosen, "benchmark": source.name}
    of_rules = {name for each in rules().values() for name in each.knobs()}
    bare = validated({name: value for name, value in values.items() if name not in of_rules})
    if not (_has_rule(values, "stop_below") or settles or _is_balanced(chosen)):
        values |= {"stop_below": presets.stop_below(bare.source, bare.game)}
    return validated(values)


def _settles(chosen: Mapping[str, object]) -> bool | None:
    """What was said of settling games, if anything: linear players are settled without one."""
    settle = chosen.get("settle")
    if chosen.get("predictor") == "linear":
        return False
    if settle is None and (_is_balanced(chosen) or chosen.get("full_batch")):
        return False
    return None if settle is None else settle not in ("never", False)


def _is_balanced(chosen: Mapping[str, object]) -> bool:
    return chosen.get("ensemble") == "balanced"


def _implied(kind: Kind, chosen: Mapping[str, object]) -> dict[str, object]:
    """What real data imply; of its rule nothing, if another one is chosen."""
    predictor = chosen.get("predictor")
    implied = presets.on_real_data(kind, _variant(chosen), str(predictor) if predictor else None, _settles(chosen))
    if chosen.get("full_batch") or _is_balanced(chosen):
        implied.pop("settle", None)
    if _is_balanced(chosen):
        implied |= presets.BALANCED
    return _without_other_rule(_as_the_variant(implied, chosen), chosen)


def _as_the_variant(implied: dict[str, object], chosen: Mapping[str, object]) -> dict[str, object]:
    """A variant that was asked for by name keeps its memory, also where a settled game has none."""
    return implied | ({"memory": presets.VARIANTS[_variant(chosen)].knobs["memory"]} if "variant" in chosen else {})


def _without_other_rule(implied: Mapping[str, object], chosen: Mapping[str, object]) -> dict[str, object]:
    """What is implied, but for its rule, if another one is chosen, or if none is needed."""
    usual = [each.chosen_by for each in rules().values() if each.chosen_by in implied]
    idle = {name for name in usual if _has_rule(chosen, name) or _is_balanced(chosen)}
    return {name: value for name, value in implied.items() if name not in idle}


FOR_BENCHMARKS = ("flips", "sizes", "classes", "pixels", "sprites", "draw", "states")

FOR_OWN_DATA = ("target", "group_column", "client_column", "columns", "drop", "categories")
"""What is said of tables."""


def _on_own_data(chosen: Mapping[str, object]) -> Settings:
    from flgames.data.own.files import likely_kind

    for name in FOR_BENCHMARKS:
        if name in chosen:
            raise UserError(f"`{name}` is for benchmarks; your own data are as they are.")
    folder = Path(str(chosen["data"]))
    said = {name: chosen[name] for name in FOR_OWN_DATA if chosen.get(name) is not None}
    roles = validated(said).roles
    kind = likely_kind(folder, roles)
    if kind == "images" and said:
        name, value = next(iter(said.items()))
        raise UserError(f"`{name}` {value!r} is for tables, and {folder} has images.")
    if kind == "table" and chosen.get("side") is not None:
        raise UserError(f"`side` is for images, and {folder} has tables.")
    settings = validated({**_implied(kind, chosen), **chosen, "benchmark": OWN_DATA})
    for word, what in ((EACH, "every client in turn"), (REST, "all but those that `train` names")):
        if word in settings.holdout and settings.holdout != (word,):
            raise UserError(f"`holdout` {word} is for {what}: name no others beside it.")
    if settings.holdout == (REST,) and settings.source.train is None:
        raise UserError(f"`holdout` {REST} is for all clients but those that `train` names: name them.")
    if settings.holds_out_each and settings.source.train is not None:
        raise UserError(f"`holdout` {EACH} trains on all others in turn: leave `train` out.")
    return settings.model_copy(update={"data": str(folder.absolute())}) if folder.exists() else settings


def read_file(path: Path, beside: Sequence[str] = ()) -> dict[str, object]:
    """Settings from a TOML file; keys are spelled as on the command line. ``beside`` are keys that are no settings."""
    try:
        content = tomllib.loads(path.read_text())
    except OSError as error:
        raise UserError(f"The config file {path} can't be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"The config file {path} is not TOML: {error}.") from None
    values = {key.replace("-", "_"): value for key, value in content.items()}
    known = (*knobs(), *beside)
    for key in values:
        if key not in known:
            raise unknown(f"key in {path}:", key.replace("_", "-"), [name.replace("_", "-") for name in known])
    return values

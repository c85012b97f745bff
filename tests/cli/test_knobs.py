"""A knob is declared once, and so is an option, a key of a file, a line of the help, and a key of Flower's table."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
import typer
from typer.testing import CliRunner

from flgames.cli import app
from flgames.cli.commands.knobs import flower_table
from flgames.cli.ui.options import PANELS, help_of
from flgames.runs.resolve import resolve
from flgames.runs.settings import knobs

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"

UNLIKE_DEFAULTS: dict[str, tuple[object, dict[str, object]]] = {
    "clients": (3, {}),
    "flips": ("0.3,0.1", {}),
    "sizes": ("300,200", {}),
    "side": (14, {"benchmark": "colored-mnist"}),
    "classes": (5, {}),
    "train": ("OR,TX", {"benchmark": "fars"}),
    "draw": (1, {"benchmark": "fars"}),
    "states": (5, {"benchmark": "fars", "draw": 1}),
    "participation": (0.5, {}),
    "local_steps": ("10%", {}),
    "full_batch": (True, {}),
    "phi_batches": ("all", {"variant": "v-fl-games"}),
    "stop_below": (0.5, {}),
    "patience": (5, {}),
    "early": (5, {}),
    "early_errors": (1, {"early": 5}),
    "spread_penalty": (3.0, {"patience": 5}),
    "bias_penalty": (1, {"patience": 5}),
    "against": ("none", {}),
    "against_rounds": (3, {}),
    "data": ("somewhere", {}),
    "target": ("sick", {"data": "somewhere"}),
    "group_column": ("patient", {"data": "somewhere", "target": "sick"}),
    "client_column": ("site", {"data": "somewhere", "target": "sick"}),
    "holdout": (["a", "b"], {"data": "somewhere"}),
    "validation": (0.1, {}),
    "class_weight": ("balanced", {"data": "somewhere"}),
    "share_cap": (0.5, {}),
    "phi_merged_by": ("median", {"variant": "v-fl-games"}),
    "player_clip": (2.0, {}),
    "phi_clip": (2.0, {"variant": "v-fl-games"}),
    "score_by": ("median", {"patience": 5}),
    "predictor": ("linear", {}),
    "settle": ("always", {"predictor": "linear"}),
    "network": ("cnn", {"settle": "auto"}),
    "found_by": ("local", {"settle": "auto"}),
    "train_steps": (3, {"settle": "auto"}),
    "train_rate": (0.01, {"settle": "auto"}),
    "ensemble": ("balanced", {}),
    "settle_after": (40, {"settle": "auto"}),
    "train_by": ("fedsgd", {"settle": "auto"}),
    "phi_rounds": (4, {}),
    "warm_start": (7, {}),
    "device": ("cpu", {}),
}
"""Values of some knobs, and what must be given beside them; of the others their defaults are tried."""


def play_options() -> dict[str, click.Parameter]:
    commands = typer.main.get_command(app)
    assert isinstance(commands, click.Group)
    return {str(each.name): each for each in commands.commands["play"].params}


@pytest.mark.parametrize("name", knobs())
def test_every_knob_is_an_option_with_a_help_text_in_a_panel(name: str) -> None:
    info, option = knobs()[name], play_options()[name]
    assert info.description
    assert isinstance(info.json_schema_extra, dict)
    assert info.json_schema_extra["panel"] in PANELS
    assert f"--{name.replace('_', '-')}" in option.opts
    assert str(vars(option)["help"]).startswith(info.description)
    assert vars(option)["rich_help_panel"] == info.json_schema_extra["panel"]


@pytest.mark.parametrize("name", knobs())
def test_every_knob_is_a_key_of_a_config_file(name: str, tmp_path: Path) -> None:
    value, beside = UNLIKE_DEFAULTS.get(name) or (resolve({}).flat()[name], {})
    assert value is not None, "a knob that is unset by default needs a value in the table above"
    file = tmp_path / "game.toml"
    file.write_text(f"{name.replace('_', '-')} = {json.dumps(value)}\n")
    told = resolve(beside, file)
    assert told == resolve(beside | {name: value}), "as if it had been given by hand"
    if name in UNLIKE_DEFAULTS:
        assert told != resolve(beside)


def test_all_knobs_that_have_a_value_fit_into_one_file(tmp_path: Path) -> None:
    chosen = resolve({"variant": "v-fl-games-smooth-fast", "benchmark": "colored-mnist", "seeds": 3})
    file = tmp_path / "game.toml"
    values = {name: value for name, value in chosen.flat().items() if value is not None}
    file.write_text("".join(f"{name.replace('_', '-')} = {json.dumps(value)}\n" for name, value in values.items()))
    assert resolve({}, file) == chosen


def flower_config(text: str) -> list[tuple[str, Any]]:
    return list(tomllib.loads(text)["tool"]["flwr"]["app"]["config"].items())


def test_flower_s_table_in_pyproject_is_made_of_the_knobs() -> None:
    assert flower_config(PYPROJECT.read_text()) == flower_config(flower_table()), "flgames knobs --form flower"


def test_knobs_are_listed() -> None:
    lines = CliRunner().invoke(app, ["knobs"]).output.splitlines()
    assert lines == [f"{name.replace('_', '-')}: {help_of(info)}" for name, info in knobs().items()]
    assert CliRunner().invoke(app, ["knobs", "--form", "flower"]).output == flower_table()

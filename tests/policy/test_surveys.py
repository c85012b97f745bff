"""What a site tells of its data, by its rules."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flgames.data.own.roles import Roles
from flgames.data.own.survey import Survey
from flgames.engines.sites import SiteData
from flgames.errors import UserError
from flgames.policy.codes import Refused
from flgames.policy.rules import OPEN, SIMULATED_VARIABLE, SITE_VARIABLE, Rules, read_rules, rules_of_site
from tests.own_data import pictures, table


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    """300 patients with a name each, an age, a ward, and who is sick."""
    generator = np.random.default_rng(0)
    lines = [
        f"patient-{row},{generator.integers(20, 34)},{'green' if row < 290 else 'blue'},{generator.normal():.3f},"
        f"{generator.integers(0, 2)}"
        for row in range(300)
    ]
    (tmp_path / "a.csv").write_text("name,age,ward,dose,sick\n" + "\n".join(lines) + "\n")
    return tmp_path / "a.csv"


def survey(path: Path | None, rules: dict[str, Any], data: str = "/data", **roles: Any) -> Survey:
    return SiteData("a", path, Rules.model_validate(rules)).survey(data, Roles(**roles))


def test_the_target_is_the_one_that_the_site_names(patients: Path) -> None:
    told = survey(patients, {"data": {"target": "sick"}}, target="sick")
    assert set(told.samples) == {"0", "1"}
    with pytest.raises(Refused, match="'age' can't be asked for here: `target` is pinned to another column"):
        survey(patients, {"data": {"target": "sick"}}, target="age")
    with pytest.raises(Refused, match=r"'sick' can't be asked for here: site\.toml names no `target`"):
        survey(patients, {}, target="sick")
    with pytest.raises(Refused, match="`client_column`"):
        survey(patients, {"data": {"target": "sick"}}, target="sick", client="ward")


def test_no_class_is_named_that_few_samples_have(patients: Path) -> None:
    with pytest.raises(Refused, match=r"more than 100 classes") as names:
        survey(patients, {"data": {"any_column": True}}, target="name")
    assert "patient" not in str(names.value)
    with pytest.raises(Refused, match="a class has fewer than 12 samples"):
        survey(patients, {"data": {"any_column": True}, "survey": {"min_count": 12}}, target="ward")
    assert survey(patients, {"data": {"any_column": True}}, target="ward").samples == {"green": 290, "blue": 10}


def test_classes_of_few_images_are_not_told(tmp_path: Path) -> None:
    pictures(tmp_path, a={"healthy": 8, "ill": 4})
    with pytest.raises(Refused, match="fewer than 5"):
        survey(tmp_path / "a", {})
    assert survey(tmp_path / "a", {"survey": {"min_count": 4}}).samples == {"healthy": 8, "ill": 4}


def test_words_that_few_samples_have_are_not_told(patients: Path) -> None:
    rules = {"data": {"target": "sick"}, "survey": {"min_count": 12}}
    told = survey(patients, rules, target="sick").details["ward"]
    assert (told.words, told.rare) == ({"green": 290}, 10)


def test_only_the_columns_that_the_site_names_are_told(patients: Path) -> None:
    rules = {"data": {"target": "sick", "columns": ["age", "dose"]}}
    assert survey(patients, rules, target="sick").columns == ("age", "dose")
    assert survey(patients, rules, target="sick", drop=("age",)).columns == ("dose",)
    assert survey(patients, rules, target="sick", columns=("dose",)).columns == ("dose",)
    for roles in ({"columns": ("age", "name")}, {"categories": ("name",)}):
        with pytest.raises(Refused, match="the column 'name' is none of those"):
            survey(patients, rules, target="sick", **roles)


def test_a_folder_that_a_server_names_is_not_looked_at(patients: Path) -> None:
    rules = {"data": {"target": "sick"}}
    for data in ("/", str(patients.parent)):
        with pytest.raises(Refused, match="looks into no folder that a server names"):
            survey(None, rules, data, target="sick")
    named = {"data": {"target": "sick", "from_server": True}}
    assert survey(None, named, str(patients.parent), target="sick").count == 300


# The file.

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["trust.md", "across-sites.md"])
def test_the_files_that_the_docs_show_can_be_read(page: str, tmp_path: Path) -> None:
    shown = [
        text for text in re.findall(r"```toml\n(.*?)```", (DOCS / page).read_text(), re.DOTALL) if "[data]" in text
    ]
    (tmp_path / "site.toml").write_text(shown[0])
    rules = read_rules(tmp_path / "site.toml")
    assert (len(shown), rules.data.target) == (1, "sick")
    if page == "trust.md":
        written = tomllib.loads(shown[0])
        known = {part: set(values) for part, values in Rules().model_dump().items() if isinstance(values, dict)}
        assert {part: set(written[part]) for part in known} == known, "all keys are shown"
        examples = {"methods", "settings", "plans", "max_threads"}
        assert rules.game.model_dump(exclude=examples) == Rules().game.model_dump(exclude=examples)
        assert (rules.survey, rules.errors, rules.journal) == (Rules().survey, "codes", True)


def test_rules_are_read_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table(tmp_path / "a.csv")
    file = tmp_path / "site.toml"
    file.write_text('[data]\npath = "a.csv"\ntarget = "sick"\n[survey]\nmin_count = 7\n')
    rules = read_rules(file)
    assert (rules.data.path, rules.data.target, rules.survey.min_count) == (tmp_path / "a.csv", "sick", 7)
    assert SiteData("a", rules=rules).survey("/data", Roles(target="sick")).count == 40
    monkeypatch.delenv(SIMULATED_VARIABLE, raising=False)
    assert rules_of_site() == Rules()
    monkeypatch.setenv(SITE_VARIABLE, str(file))
    assert rules_of_site() == rules
    monkeypatch.setenv(SIMULATED_VARIABLE, "1")
    assert rules_of_site() == OPEN, "in a simulation nobody is a site"
    assert rules_of_site(file) == rules


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[survey]\nmincount = 7\n", "survey.mincount: Extra inputs"),
        ("[survey]\nmin_count = 0\n", "survey.min_count: Input should be greater"),
        ("min_count 5", "is no TOML"),
        (None, "can't be read: No such file"),
    ],
)
def test_a_file_that_is_wrong_is_refused(content: str | None, why: str, tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UserError, match=why):
        read_rules(file)

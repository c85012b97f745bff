"""Every stopping rule, by what all rules have in common: they are chosen by knobs and kept in files."""

from __future__ import annotations

import itertools

import pytest
from pydantic import TypeAdapter, ValidationError

from flgames.core.knobs import Plain
from flgames.core.stopping.best_round import BestRound
from flgames.core.stopping.rule import NEVER, SavedRule, StoppingRule, rule_from, rules
from flgames.core.stopping.stop_below import StopBelow
from flgames.errors import UserError

SAVED: TypeAdapter[StoppingRule] = TypeAdapter(SavedRule)

CANDIDATES: tuple[Plain, ...] = (0.25, 7, True, "all", "median")
"""One of them is a value of any knob, and no default."""

GUARDS = [(each, name) for each in rules().values() for name in each.knobs()[1:]]


def is_possible(rule: type[StoppingRule], name: str, value: Plain) -> bool:
    try:
        rule.model_validate({name: value})
    except ValidationError as error:
        return all(fault["loc"] != (name,) for fault in error.errors())
    return True


def example(rule: type[StoppingRule], *names: str) -> dict[str, Plain]:
    """Values of these knobs, none of them as it is by default."""
    return {
        name: next(
            value for value in CANDIDATES if is_possible(rule, name, value) and value != rule.model_fields[name].default
        )
        for name in names
    }


def examples() -> list[StoppingRule]:
    """Every rule as it is when it is chosen, and with every knob changed."""
    return [
        each.model_validate(example(each, *names))
        for each in rules().values()
        for names in ((each.chosen_by,), each.knobs())
    ]


def test_the_rules_of_the_folder_are_found() -> None:
    assert rules()["stop-below"] is StopBelow
    assert rules()["best-round"] is BestRound
    assert all(each.chosen_by in each.model_fields for each in rules().values())
    names = [name for each in rules().values() for name in each.knobs()]
    assert len(set(names)) == len(names), "a knob belongs to one rule"


@pytest.mark.parametrize("rule", examples(), ids=str)
def test_a_rule_comes_back_from_a_file(rule: StoppingRule) -> None:
    dumped = rule.model_dump()
    assert dumped == {"name": rule.name} | {name: getattr(rule, name) for name in rule.knobs()}
    for again in (
        SAVED.validate_python(dumped),
        SAVED.validate_python(rule.model_dump(mode="json")),
        SAVED.validate_python(rule.model_dump(exclude_defaults=True)),
        SAVED.validate_json(SAVED.dump_json(rule)),
        SAVED.validate_python(rule),
    ):
        assert again == rule
        assert type(again) is type(rule)


@pytest.mark.parametrize("rule", examples(), ids=str)
def test_the_warm_start_is_no_part_of_a_file(rule: StoppingRule) -> None:
    later = rule.after(5)
    assert later.warm_start == 5
    assert later != rule
    assert later.model_dump() == rule.model_dump()
    assert SAVED.validate_python(later.model_dump()) == rule


@pytest.mark.parametrize("rule", examples(), ids=str)
def test_a_rule_says_what_it_does(rule: StoppingRule) -> None:
    assert str(rule)
    assert rule.brief
    assert rule.reason


@pytest.mark.parametrize(
    ("saved", "said"),
    [
        ({"name": "stop-belo", "stop_below": 0.7}, "Unknown stopping rule 'stop-belo'. Did you mean 'stop-below'?"),
        ({"stop_below": 0.7}, "Unknown stopping rule ''"),
        ({"name": "stop-below"}, "Field required"),
        ({"name": "stop-below", "stop_below": 0.7, "patience": 5}, "Extra inputs are not permitted"),
        ({"name": "stop-below", "stop_below": 1.5}, "is a training accuracy between 0 and 1, or never"),
        ("stop-below", "should be a valid dictionary or instance of StoppingRule"),
    ],
)
def test_what_is_no_rule_is_refused(saved: object, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        SAVED.validate_python(saved)
    assert said in str(caught.value)


@pytest.mark.parametrize("rule", examples(), ids=str)
def test_knobs_choose_the_rule(rule: StoppingRule) -> None:
    assert rule_from(rule.values()) == rule
    others = [each.chosen_by for each in rules().values() if each is not type(rule)]
    for unchosen in (None, NEVER):
        assert rule_from(rule.values() | dict.fromkeys(others, unchosen)) == rule
    assert rule_from(rule.values() | {"learning_rate": 0.1}) == rule, "other knobs are nothing to it"


def test_no_knob_chooses_no_rule() -> None:
    assert rule_from({}) is None
    assert rule_from({each.chosen_by: NEVER for each in rules().values()}) is None
    assert rule_from({each.chosen_by: None for each in rules().values()}) is None


@pytest.mark.parametrize("two", list(itertools.combinations(rules().values(), 2)))
def test_two_rules_are_refused(two: tuple[type[StoppingRule], type[StoppingRule]]) -> None:
    one, other = two
    first, second = sorted(f"`{each.chosen_by}`" for each in two)
    with pytest.raises(UserError, match=f"^{first} and {second} are two rules: choose one"):
        rule_from(example(one, one.chosen_by) | example(other, other.chosen_by))


@pytest.mark.parametrize(("rule", "guard"), GUARDS)
def test_a_guard_without_its_rule_is_refused(rule: type[StoppingRule], guard: str) -> None:
    given = example(rule, guard)
    with pytest.raises(UserError, match=f"^`{guard}` is for `{rule.chosen_by}`: give that too"):
        rule_from(given)
    with pytest.raises(UserError, match=f"^`{guard}` is for `{rule.chosen_by}`: give that too"):
        rule_from(given | {rule.chosen_by: NEVER})
    for other in rules().values():
        if other is not rule:
            with pytest.raises(UserError, match=f"^`{guard}` is for `{rule.chosen_by}`: give that too"):
                rule_from(given | example(other, other.chosen_by))
    assert rule_from({guard: rule.model_fields[guard].default}) is None, "as it is by default it asks for nothing"

"""What a site's rules leave of what a server wants to know of its data."""

from __future__ import annotations

from flgames.data.own.columns import ColumnTold
from flgames.data.own.roles import Roles
from flgames.data.own.survey import Survey
from flgames.policy.codes import Refused
from flgames.policy.rules import DataRules, SurveyRules


def allowed(rules: DataRules, roles: Roles) -> Roles:
    """The roles of columns as this site has them; those that it does not have are refused.

    Rows without a target, or of another client, are left out. Whoever could choose these columns freely could leave
    out one row at a time, and see by how much sums differ.
    """
    if not rules.any_column:
        _check_pinned("target", roles.target, rules.target)
        _check_pinned("client_column", roles.client, rules.client_column)
    if not rules.columns:
        return roles
    if strange := [name for name in (*roles.columns, *roles.categories) if name not in rules.columns]:
        raise Refused(f"the column {strange[0]!r} is none of those that site.toml allows")
    unused = (*roles.no_inputs, *roles.drop)
    inputs = roles.columns or tuple(name for name in rules.columns if name not in unused)
    return roles.model_copy(update={"columns": inputs})


def _check_pinned(what: str, asked: str | None, pinned: str | None) -> None:
    if asked is not None and asked != pinned:
        why = f"`{what}` is pinned to another column" if pinned else f"site.toml names no `{what}`"
        raise Refused(f"{asked!r} can't be asked for here: {why}")


def told(rules: SurveyRules, survey: Survey) -> Survey:
    """What may be told of a survey; refused, if it would name what few samples have."""
    if len(survey.samples) > rules.most_classes:
        raise Refused(f"the target has more than {rules.most_classes} classes here (`most_classes`)")
    if min(survey.samples.values()) < rules.min_count:
        raise Refused(f"a class has fewer than {rules.min_count} samples here (`min_count`)")
    details = {name: _often(each, rules.min_count) for name, each in survey.details.items()}
    return survey.model_copy(update={"details": details})


def _often(column: ColumnTold, least: int) -> ColumnTold:
    """The same column, without words that are rare here."""
    words = {word: count for word, count in column.words.items() if count >= least}
    rare = column.rare + sum(column.words.values()) - sum(words.values())
    return column.model_copy(update={"words": words, "rare": rare})

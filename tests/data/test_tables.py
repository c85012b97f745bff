"""Tables as they come: what columns are taken for, what sites tell of them, and what a model sees."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import torch

from flgames.data.own.cells import Unusable, cells_of
from flgames.data.own.files import clients_in, inputs_of, likely_kind, read, read_inputs
from flgames.data.own.layout import Layout, taken
from flgames.data.own.records import LaidOut
from flgames.data.own.roles import Roles
from flgames.data.own.source import OwnOptions, remarks_on, surveys_of
from flgames.data.own.table import Table
from flgames.errors import UserError
from tests.own_data import messy_table

SICK = Roles(target="sick")
MESSY = Roles(target="ill", client="site")


def written(folder: Path, **tables: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


def column(*values: object) -> pandas.Series:
    return pandas.Series(list(values))


def laid_out(folder: Path, roles: Roles = SICK) -> Layout:
    return Layout.of(surveys_of(str(folder), roles), kept=roles.columns)


def seen(folder: Path, client: str, layout: Layout, roles: Roles = SICK) -> dict[str, list[float]]:
    """Features of a client before they are standardised, by name."""
    records = read(client, clients_in(folder, roles)[client], roles)
    features = LaidOut.of(records, layout).rows.take(torch.arange(len(records.labels)))
    return dict(zip(layout.features, features.T.tolist(), strict=True))


@pytest.mark.parametrize(
    ("values", "kind", "numbers"),
    [
        (("1", " 2.5", "", "?", "NA"), "number", [1, 2.5, None, None, None]),
        ((1, None, 3), "number", [1, None, 3]),
        (("True", "false", "", "TRUE"), "truth", [1, 0, None, 1]),
        ((True, False), "truth", [1, 0]),
        (("1970-01-02", "", "1970-01-01T12:00:00"), "date", [1, None, 0.5]),
        (("red", "blue", "", " red "), "category", [1, 0, None, 1]),
        (("", None, "n/a"), "empty", [None, None, None]),
    ],
)
def test_what_cells_are(values: tuple[object, ...], kind: str, numbers: list[float | None]) -> None:
    found = cells_of(column(*values))
    assert found.kind == kind
    assert [None if np.isnan(each) else each for each in found.values] == numbers


def test_numbers_that_are_names_are_said_to_be() -> None:
    assert cells_of(column("2", "10", "2.0"), named=True).words == ("2", "10")
    assert cells_of(pandas.Series([1, 2, 1], dtype="category")).words == ("1", "2")


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (("1", "2", "3", "many"), "has numbers in 3 rows and text in 1"),
        (("31.12.2024", "01.01.2025"), "has dates that are not written YYYY-MM-DD"),
        (("2024-02-30", "2024-01-01"), "has dates that there are none of"),
        (("2024-02-03", "2024-01-01", "soon"), "has dates in 2 rows and text in 1"),
        (("2024-2-3", "2024-1-1"), "has dates that are not written YYYY-MM-DD"),
        (("Jan 3, 2024", "Feb 1 2024"), "has dates that are not written YYYY-MM-DD"),
        (("1,234", "2,500"), "has numbers with separators, % or <: write them plainly"),
        (("12%", "7 %"), "has numbers with separators, % or <: write them plainly"),
        (("9e37", "35e38"), "has numbers beyond 1e+30"),
        (("1", "inf"), "has infinity"),
    ],
)
def test_what_can_not_be_an_input_is_said_without_a_cell(values: tuple[str, ...], why: str) -> None:
    with pytest.raises(Unusable) as error:
        cells_of(column(*values))
    assert str(error.value) == why


def test_columns_go_by_name(tmp_path: Path) -> None:
    written(tmp_path, a="age,dose,sick\n" + "1,10,0\n2,20,1\n" * 3, b="dose,sick,age\n" + "30,1,3\n40,0,4\n" * 3)
    layout = laid_out(tmp_path)
    assert layout.columns == ("age", "dose")
    assert seen(tmp_path, "b", layout) == {"age": [3, 4] * 3, "dose": [30, 40] * 3}
    assert read_inputs(tmp_path / "b.csv", layout).tolist() == [[3, 30], [4, 40]] * 3


def test_words_have_a_vocabulary_in_common(tmp_path: Path) -> None:
    some = {"a": ["red"] * 6 + ["blue"] * 5 + ["odd"], "b": ["red"] * 5 + ["green"] * 7, "c": ["pink", "red", ""]}
    tables = {
        name: "c,sick\n" + "".join(f"{word},{row % 2}\n" for row, word in enumerate(words))
        for name, words in some.items()
    }
    written(tmp_path, **tables)
    told = surveys_of(str(tmp_path), SICK)
    assert told["a"].details["c"].words == {"blue": 5, "red": 6}
    assert told["a"].details["c"].rare == 1
    assert "odd" not in told["a"].model_dump_json(), "a word with fewer than five samples is nobody's business"
    layout = Layout.of({name: told[name] for name in "ab"})
    assert layout.features == ("c=blue", "c=green", "c=red", "c=other")
    features = seen(tmp_path, "a", layout)
    assert [row[-1] for row in features.values()] == [0, 0, 0, 1], "odd"
    unseen = seen(tmp_path, "c", layout)
    assert list(unseen["c=other"]) == [1, 0, 0], "what only an unseen client has is other"
    assert list(unseen["c=red"]) == [0, 1, 1], "an empty cell counts as the most frequent word"


def test_empty_cells_count_as_the_mean_of_all_clients(tmp_path: Path) -> None:
    written(
        tmp_path,
        a="age,old,sick\n"
        + "".join(f"{age},{int(row > 2)},{row % 2}\n" for row, age in enumerate([1, 2, 3, 4, 5]))
        + ",,1\n",
        b="age,old,sick\n" + "".join(f"{age},1,{row % 2}\n" for row, age in enumerate([10, 10, 10, 10, 10])),
    )
    layout = laid_out(tmp_path)
    assert layout.features == ("age", "age is missing", "old", "old is missing")
    features = seen(tmp_path, "a", layout)
    assert features["age"][-1] == pytest.approx(65 / 10)
    assert features["age is missing"] == [0, 0, 0, 0, 0, 1]
    assert features["old"][-1] == 1, "the more frequent of 0 and 1"
    ready = LaidOut.of(read("a", tmp_path / "a.csv", SICK), layout).batch(torch.arange(6))[0]
    assert ready[-1].tolist() == pytest.approx([0, 1, 1, 1], abs=1e-6)


def test_sums_of_few_values_are_not_told(tmp_path: Path) -> None:
    written(tmp_path, a="age,dose,sick\n" + "7,1,1\n" * 4 + ",2,0\n" * 4)
    told = surveys_of(str(tmp_path), SICK)["a"]
    assert told.details["age"].kind == "empty"
    assert told.sums == (0, 12)


def test_what_sites_tell_of_a_messy_table(tmp_path: Path) -> None:
    """All that leaves a site: names of columns, counts, sums, and words with five samples or more."""
    told = surveys_of(str(messy_table(tmp_path / "all.csv")), MESSY)["north"]
    said = json.loads(told.model_dump_json())
    assert set(said) == {
        "kind", "shape", "columns", "samples", "count", "sums", "squares", "indicators", "details", "bits",
    }  # fmt: skip
    for details in said["details"].values():
        assert set(details) == {"kind", "missing", "distinct", "words", "rare"}
        assert all(count >= 5 for count in details["words"].values())
    assert "Bombay" not in told.model_dump_json()
    assert "P0-7" not in told.model_dump_json(), "names of patients stay, all of them being rare"


def test_what_numbers_or_names_rows_is_left_out_and_said(tmp_path: Path) -> None:
    path = messy_table(tmp_path / "all.csv")
    told = surveys_of(str(path), MESSY)
    layout = Layout.of(told)
    assert layout.columns == ("age", "sex", "smoker", "visit", "ward", "blood")
    said = [*remarks_on(str(path), MESSY), *taken(told, layout)]
    assert said[0] == "north: the column '' numbers the rows and is left out."
    assert "The column 'patient' has another value in each row and is left out; `columns` can keep it." in said
    assert "Dates are days since 1970: visit." in said
    whole = Roles(target="sick", columns=("id", "age"))
    rows = "".join(f"{row},{row % 7},{row % 2}\n" for row in range(30))
    written(tmp_path / "t", a=f"id,age,sick\n{rows}", b=f"id,age,sick\n{rows}")
    assert laid_out(tmp_path / "t").columns == ("age",)
    assert laid_out(tmp_path / "t", whole).columns == ("id", "age"), "unless it is asked for"


def test_roles_of_columns(tmp_path: Path) -> None:
    written(tmp_path, a="age,dose,ward,sick\n" + "1,2,3,0\n4,5,6,1\n" * 5)
    assert laid_out(tmp_path, Roles(target="sick", drop=("dose",))).columns == ("age", "ward")
    assert laid_out(tmp_path, Roles(target="sick", columns=("dose", "age"))).columns == ("dose", "age")
    named = laid_out(tmp_path, Roles(target="sick", categories=("ward",)))
    assert named.features == ("age", "dose", "ward=3", "ward=6")
    with pytest.raises(UserError, match=r"a: a.csv has no column 'doze'; it has age, dose, ward, sick"):
        read("a", tmp_path / "a.csv", Roles(target="sick", columns=("doze",)))


def test_rows_without_a_label_are_left_out_and_said(tmp_path: Path) -> None:
    written(tmp_path, a="age,sick\n1,0\n2,\n3,1\n4,nan\n")
    records = read("a", tmp_path / "a.csv", SICK)
    assert isinstance(records, Table)
    assert records.labels == ["0", "1"]
    assert records.remarks == ("a: 2 of 4 rows have no 'sick' and are left out.",)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["yes", "Yes", "no"], "labels differ only in case or blanks, 'sick' in a.csv: 'yes' and 'Yes'"),
        (["yes", "yes ", "no"], "labels differ only in case or blanks, 'sick' in a.csv: 'yes' and 'yes '"),
        (
            [f"{row / 3:.2f}" for row in range(40)],
            "40 different numbers: it looks continuous, and regression is not sup",
        ),
        ([str(row) for row in range(40)], "40 different numbers: it looks continuous"),
    ],
)
def test_labels_that_are_none(tmp_path: Path, labels: list[str], message: str) -> None:
    written(tmp_path, a="age,sick\n" + "".join(f"{row},{label}\n" for row, label in enumerate(labels)))
    with pytest.raises(UserError, match=message):
        read("a", tmp_path / "a.csv", SICK)


def test_many_classes_with_many_rows_are_classes(tmp_path: Path) -> None:
    written(tmp_path, a="age,sick\n" + "".join(f"{row},{row % 30}\n" for row in range(600)))
    assert len(set(read("a", tmp_path / "a.csv", SICK).labels)) == 30


def test_labels_of_two_clients_that_differ_in_case(tmp_path: Path) -> None:
    written(tmp_path, a="age,sick\n1,yes\n2,no\n", b="age,sick\n1,Yes\n2,no\n")
    with pytest.raises(UserError, match="Clients' labels differ only in case or blanks: 'Yes' and 'yes'"):
        laid_out(tmp_path)


def test_clients_that_differ_in_what_columns_are(tmp_path: Path) -> None:
    written(tmp_path, a="age,day,sick\n1,2024-01-01,0\n2,2024-01-02,1\n" * 1, b="age,day,sick\nx,1,0\ny,2,1\n")
    more = {name: "".join((tmp_path / f"{name}.csv").read_text().splitlines(keepends=True)[1:]) * 4 for name in "ab"}
    for name, rows in more.items():
        with open(tmp_path / f"{name}.csv", "a") as file:
            file.write(rows)
    with pytest.raises(UserError, match="'age' has numbers at a and words at b; 'day' has dates at a and numbers at b"):
        laid_out(tmp_path)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_are_found(tmp_path: Path, separator: str) -> None:
    text = ("age,dose,sick\n" + "1,2.5,0\n3,4,1\n" * 3).replace(",", separator)
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert read("a", path, SICK).survey().sums == (12, 19.5)


def test_decimal_commas_go_with_semicolons(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("age;dose;self;sick\n" + "1;2,5;1.000,5;0\n3;4;NA;1\n" * 3 + "n/a;?;2,0;1\n" * 5)
    assert read("a", path, SICK).survey().sums == (12, 19.5, 3011.5)


def test_other_files(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"age": [1.0, 2.0] * 4, "who": ["x", "y"] * 4, "sick": [0, 1] * 4})
    text = frame.to_csv(index=False)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "b.tsv").write_text(text.replace(",", "\t"))
    frame.to_parquet(tmp_path / "c.parquet")
    keel = "@relation t\n@attribute age real [1,2]\n@attribute who {x,y}\n@attribute sick {0,1}\n@data\n"
    (tmp_path / "d.dat").write_text(keel + frame.to_csv(index=False, header=False))
    (tmp_path / "._a.csv").write_text("not a table")
    (tmp_path / "~$b.csv").write_text("nor this")
    assert list(clients_in(tmp_path)) == ["a", "b", "c", "d"]
    surveys = surveys_of(str(tmp_path), SICK)
    assert len({survey.model_dump_json() for survey in surveys.values()}) == 1


def test_one_table_has_the_rows_of_all_clients(tmp_path: Path) -> None:
    path = messy_table(tmp_path / "all.csv", rows=30)
    assert list(clients_in(path, MESSY)) == ["north", "south", "west"]
    assert likely_kind(path, MESSY) == "table"
    assert read("south", path, MESSY).labels == [
        line.rsplit(",", 1)[1] for line in path.read_text().splitlines() if ",south," in line
    ]
    with pytest.raises(UserError, match="is one table: say by `client_column`"):
        clients_in(path)
    with pytest.raises(UserError, match=r"Unknown column of all.csv: 'sitte'"):
        clients_in(path, Roles(target="ill", client="sitte"))
    with pytest.raises(UserError, match="is for one table with the rows of all clients"):
        clients_in(tmp_path, MESSY)


def test_who_trains_is_said(tmp_path: Path) -> None:
    path = messy_table(tmp_path / "all.csv", rows=30)
    surveys = surveys_of(str(path), MESSY)
    options = OwnOptions.of(str(path), MESSY, None, ("west",), surveys, ("north", "south"))
    assert (options.players, options.holdout) == (("north", "south"), ("west",))
    with pytest.raises(UserError, match="south can't train and be held out"):
        OwnOptions.of(str(path), MESSY, None, ("south",), surveys, ("north", "south"))
    with pytest.raises(UserError, match="Unknown client to train on: 'n'"):
        OwnOptions.of(str(path), MESSY, None, (), surveys, ("n", "south"))


def test_new_rows_need_the_columns_of_the_model(tmp_path: Path) -> None:
    layout = Layout.of(surveys_of(str(messy_table(tmp_path / "all.csv", rows=30)), MESSY))
    frame = pandas.DataFrame({"age": [40.0], "sex": ["F"], "smoker": [True], "visit": ["2024-03-01"], "ward": ["blue"]})
    with pytest.raises(UserError, match=r"new.csv lacks blood, which the model needs"):
        inputs_of("new.csv", frame, layout)
    row = inputs_of("new.csv", frame.assign(blood="Z", more=1), layout)
    assert row[0, layout.columns.index("blood")] == -1
    with pytest.raises(UserError, match="'visit' has dates that are not written YYYY-MM-DD"):
        inputs_of("new.csv", frame.assign(blood="A", visit="1.3.2024"), layout)
    with pytest.raises(UserError, match="has words in 'age', and the model needs numbers there"):
        inputs_of("new.csv", frame.assign(blood="A", age="old"), layout)


def test_a_cell_that_is_empty_for_the_first_time_counts_as_the_mean(tmp_path: Path) -> None:
    written(tmp_path, a="age,dose,sick\n" + "1,1,0\n3,5,1\n" * 3, b="age,dose,sick\n,2,0\n4,2,1\n")
    layout = Layout.of({"a": surveys_of(str(tmp_path), SICK)["a"]})
    assert seen(tmp_path, "b", layout)["age"] == [2, 4]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (pandas.to_timedelta([1, 2], "D"), "has durations"),
        ([[1], [2]], "has lists"),
        ([b"a", b"b"], "has bytes"),
        ([1j, 2j], "has complex numbers"),
    ],
)
def test_what_is_no_single_value(values: Any, why: str) -> None:
    with pytest.raises(Unusable, match=why):
        cells_of(pandas.Series(values))


def test_truths_and_dates_find_their_words(tmp_path: Path) -> None:
    """Where training clients have words, a client that has true and false only has those words too."""
    known = ["true", "False", "unknown"] * 5
    days = ["2024-01-01", "2024-01-02", "soon"] * 5
    rows = "".join(f"{word},{day},{row % 2}\n" for row, (word, day) in enumerate(zip(known, days, strict=True)))
    written(tmp_path, a=f"z,day,sick\n{rows}", b="z,day,sick\n" + "TRUE,2024-01-02,1\nfalse,2024-01-01,0\n" * 3)
    roles = Roles(target="sick", categories=("z", "day"))
    layout = Layout.of({"a": read("a", tmp_path / "a.csv", roles).survey()})
    features = seen(tmp_path, "b", layout)
    assert (features["z=true"], features["z=False"]) == ([1, 0] * 3, [0, 1] * 3)
    assert features["day=2024-01-02"] == [1, 0] * 3


def test_dates_are_no_numbers(tmp_path: Path) -> None:
    written(tmp_path, a="day,sick\n" + "2024-01-01,0\n2024-01-05,1\n" * 3, b="day,sick\n" + "2024,0\n2025,1\n" * 3)
    layout = Layout.of({"a": surveys_of(str(tmp_path), SICK)["a"]})
    with pytest.raises(UserError, match="b has numbers in 'day', and the model needs dates there"):
        seen(tmp_path, "b", layout)


def test_ids_are_told_from_numbers_however_long_they_are(tmp_path: Path) -> None:
    def rows(first: int, many: int) -> str:
        return "".join(f"{first + row},{row % 5},{row % 2}\n" for row in range(many))

    written(tmp_path, a="id,age,sick\n" + rows(900000000, 30), b="id,age,sick\n" + rows(910000000, 8) + ",3,1\n")
    assert laid_out(tmp_path).columns == ("age",)


def test_a_column_without_words_can_be_kept(tmp_path: Path) -> None:
    names = "".join(f"name {row},{row % 5},{row % 2}\n" for row in range(30))
    written(tmp_path, a=f"who,age,sick\n{names}", b=f"who,age,sick\n{names}")
    assert laid_out(tmp_path, Roles(target="sick", columns=("who", "age"))).features == ("who=other", "age")


def test_a_column_that_one_site_left_empty_stays_an_indicator(tmp_path: Path) -> None:
    written(tmp_path, a="old,age,sick\n" + "1,2,0\n1,3,1\n0,4,1\n" * 3, b="old,age,sick\n" + ",2,0\n,3,1\n" * 3)
    layout = laid_out(tmp_path)
    assert (layout.mean[0], layout.deviation[0]) == (0, 1)
    assert seen(tmp_path, "b", layout)["old"] == [1] * 6, "the more frequent of 0 and 1"


def test_few_rows_tell_nothing_of_their_values(tmp_path: Path) -> None:
    written(tmp_path, a="age,sick\n77.125,1\n")
    assert "77.125" not in surveys_of(str(tmp_path), SICK)["a"].model_dump_json()


def test_a_column_to_drop_must_be_somewhere(tmp_path: Path) -> None:
    written(tmp_path, a="age,race,sick\n" + "1,2,0\n2,3,1\n" * 3, b="age,sick\n" + "1,0\n2,1\n" * 3)
    assert laid_out(tmp_path, Roles(target="sick", drop=("race",))).columns == ("age",)
    with pytest.raises(UserError, match="Unknown column to drop: 'rcae'"):
        surveys_of(str(tmp_path), Roles(target="sick", drop=("race", "rcae")))


def test_leading_zeros_are_part_of_a_name(tmp_path: Path) -> None:
    path = tmp_path / "all.csv"
    path.write_text("site,age,sick\n" + "01,1,0\n1,2,1\n" * 5)
    assert set(clients_in(path, Roles(target="sick", client="site"))) == {"01", "1"}
    assert cells_of(column("01", "1"), named=True).words == ("01", "1")


def test_rows_of_nobody_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "all.csv"
    path.write_text("site,age,sick\na,1,0\n,2,1\n")
    with pytest.raises(UserError, match=r"all.csv: 1 rows have nothing in 'site'"):
        clients_in(path, Roles(target="sick", client="site"))
    path.write_text("site,age,sick\n")
    with pytest.raises(UserError, match=r"all.csv has a header and no rows"):
        clients_in(path, Roles(target="sick", client="site"))


def test_a_column_has_one_role(tmp_path: Path) -> None:
    written(tmp_path, a="age,sick\n1,0\n2,1\n")
    with pytest.raises(UserError, match="'sick' is no input: it has another role"):
        read("a", tmp_path / "a.csv", Roles(target="sick", columns=("sick", "age")))


def test_what_was_read_is_read_again_when_it_changes(tmp_path: Path) -> None:
    written(tmp_path, a="age,sick\n1,0\n2,1\n")
    assert read("a", tmp_path / "a.csv", SICK).labels == ["0", "1"]
    written(tmp_path, a="age,sick\n1,1\n2,0\n3,0\n")
    assert read("a", tmp_path / "a.csv", SICK).labels == ["1", "0", "0"]


def test_old_line_ends_and_an_index_of_parquet(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"age,sick\r" + b"1,0\r2,1\r" * 3)
    frame = pandas.DataFrame({"age": [1, 2] * 3, "sick": pandas.array([0, 1, None] * 2, dtype="Int64")})
    frame.set_index("age").to_parquet(tmp_path / "b.parquet")
    assert read("a", tmp_path / "a.csv", SICK).survey().sums == (9,)
    records = read("b", tmp_path / "b.parquet", SICK)
    assert isinstance(records, Table)
    assert (records.columns, len(records.labels)) == (("age",), 4)


def test_empty_cells_are_filled_inside_the_model_too(tmp_path: Path) -> None:
    """A column that was never empty in training, beside one of the same name as a feature."""
    written(tmp_path, a="c,c=x,sick\n" + "x,10,0\ny,20,1\n" * 5)
    layout = laid_out(tmp_path)
    ready = layout.ready(torch.tensor([[0.0, float("nan")]]))
    assert ready.tolist() == [[1, 0, 0]]

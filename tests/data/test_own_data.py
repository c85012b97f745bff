"""Data that people bring: how they are read, what is told of them, and what goes wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from flgames.data.names import natural
from flgames.data.own.bitmaps import LARGEST_SIDE
from flgames.data.own.files import clients_in, likely_kind, read
from flgames.data.own.layout import Layout
from flgames.data.own.records import LaidOut, Records
from flgames.data.own.roles import Roles
from flgames.data.own.source import OwnData, OwnOptions, surveys_of
from flgames.data.own.survey import Survey, lacking
from flgames.errors import UserError
from tests.own_data import SIDE, pictures, table, three_hospitals

NONE, SICK = Roles(), Roles(target="sick")


def layout(folder: Path, roles: Roles = NONE, side: int | None = None) -> Layout:
    return Layout.of(surveys_of(str(folder), roles), side)


def inputs_of(records: Records, found: Layout) -> torch.Tensor:
    """All raw inputs of a client."""
    rows = records.rows(found)
    return rows.take(torch.arange(len(rows)))


def test_names_are_in_the_order_that_a_person_expects() -> None:
    assert natural({"b", "a10", "a9", "10", "9"}) == ("9", "10", "a9", "a10", "b")


def test_a_folder_a_client_and_a_folder_a_class(tmp_path: Path) -> None:
    folder = three_hospitals(tmp_path / "scans")
    (folder / "notes.txt").touch()
    (folder / ".hidden").mkdir()
    (folder / "a" / "ill" / "thumbs.db").touch()
    assert list(clients_in(folder)) == ["a", "b", "c"]
    found = layout(folder)
    assert (found.kind, found.shape, found.classes) == ("images", (3, SIDE, SIDE), ("healthy", "ill"))
    samples = LaidOut.of(read("a", folder / "a"), found)
    inputs, targets = samples.batch(torch.tensor([0, 59]))
    assert targets.tolist() == [0, 1]
    assert inputs[0, :, :, :6].mean() > 0 > inputs[0, :, :, 6:].mean(), "bright to the left"


def test_a_table_in_every_format_is_the_same_table(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    path = table(tmp_path / "a.csv")
    content = arrow_csv.read_csv(path)
    parquet.write_table(content, tmp_path / "a.parquet")
    columns = {name: np.array(content[name]) for name in ("age", "dose", "sick")}
    np.savez(tmp_path / "a.npz", X=np.stack([columns["age"], columns["dose"]], 1), y=columns["sick"])
    assert pyarrow is not None
    one, other = read("a", path, SICK), read("a", tmp_path / "a.parquet", SICK)
    found = Layout.of({"a": one.survey()})
    assert found.columns == ("age", "dose")
    assert torch.equal(inputs_of(one, found), inputs_of(other, found))
    assert one.labels == other.labels
    third = read("a", tmp_path / "a.npz")
    assert third.labels == one.labels
    assert torch.equal(inputs_of(third, Layout.of({"a": third.survey()})), inputs_of(one, found))


def test_images_in_an_array(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    pixels = generator.integers(0, 255, (20, 8, 8, 3)).astype(np.uint8)
    np.savez(tmp_path / "a.npz", X=pixels, y=np.arange(20) % 2)
    np.savez(tmp_path / "b.npz", X=pixels[..., 0], y=np.arange(20) % 2)
    colour, grey = read("a", tmp_path / "a.npz"), read("b", tmp_path / "b.npz")
    assert Layout.of({"a": colour.survey()}).shape == (3, 8, 8)
    assert Layout.of({"b": grey.survey()}).shape == (1, 8, 8)
    with pytest.raises(UserError, match="Inputs of b"):
        Layout.of({"a": colour.survey(), "b": grey.survey()})


def test_images_of_many_sizes_become_one(tmp_path: Path) -> None:
    for client, size in {"a": (200, 100), "b": (30, 40)}.items():
        for label in ("x", "y"):
            (tmp_path / client / label).mkdir(parents=True)
            Image.new("L", size, 100 if label == "x" else 20).save(tmp_path / client / label / "1.jpg")
    found = layout(tmp_path)
    assert found.shape == (1, 40, LARGEST_SIDE), "grey, as high as the highest and as wide as the widest, in reason"
    assert inputs_of(read("a", tmp_path / "a"), found).shape == (2, 1, 40, LARGEST_SIDE)
    assert layout(tmp_path, side=16).shape == (1, 16, 16)


def test_standardisation_is_that_of_pooled_samples(tmp_path: Path) -> None:
    for seed, name in enumerate("ab"):
        table(tmp_path / f"{name}.csv", rows=30 + 20 * seed, seed=seed)
    found = layout(tmp_path, SICK)
    pooled = torch.cat([inputs_of(read(name, tmp_path / f"{name}.csv", SICK), found) for name in "ab"]).double()
    assert torch.tensor(found.mean).double().allclose(pooled.mean(0), rtol=1e-6)
    assert torch.tensor(found.deviation).double().allclose(pooled.std(0, correction=0), rtol=1e-5)
    samples = [LaidOut.of(read(name, tmp_path / f"{name}.csv", SICK), found) for name in "ab"]
    ready = torch.cat([each.batch(torch.arange(len(each)))[0] for each in samples])
    assert ready.mean(0).abs().max() < 1e-5


def test_a_column_that_never_changes_does_no_harm(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=np.array([[1.0, 5.0], [2.0, 5.0]] * 3), y=[0, 1] * 3)
    samples = LaidOut.of(read("a", tmp_path / "a.npz"), layout(tmp_path))
    assert samples.batch(torch.arange(2))[0][:, 1].tolist() == [0.0, 0.0]


def test_only_counts_and_sums_are_told() -> None:
    told = {"kind", "shape", "columns", "samples", "count", "sums", "squares", "indicators", "details", "bits"}
    assert set(Survey.model_fields) == told


def test_who_is_held_out_has_no_say(tmp_path: Path) -> None:
    folder = three_hospitals(tmp_path / "scans")
    surveys = surveys_of(str(folder), NONE)
    options = OwnOptions.of(str(folder), NONE, None, ("c",), surveys)
    assert options.players == ("a", "b")
    without = {name: survey for name, survey in surveys.items() if name != "c"}
    assert options.layout == Layout.of(without)
    source = OwnData(options)
    assert list(source.training_clients()) == ["a", "b"]
    (held_out,) = source.unseen_clients()
    assert (held_out.name, len(held_out.samples)) == ("c", 60)
    assert not hasattr(held_out, "batch"), "nothing can train on it"


def test_numbers_name_classes(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=np.zeros((6, 2)), y=np.array([10.0, 9.0, 2.0] * 2))
    assert layout(tmp_path).classes == ("2", "9", "10")


def test_a_class_that_a_client_lacks_is_said(tmp_path: Path) -> None:
    pictures(tmp_path, a={"x": 3, "y": 3}, b={"x": 3})
    assert list(lacking(surveys_of(str(tmp_path), NONE))) == ["b has no sample of y."]


def test_what_kind_of_data_it_may_be(tmp_path: Path) -> None:
    assert likely_kind(Path("/nowhere"), NONE) == "images"
    assert likely_kind(Path("/nowhere"), SICK) == "table"
    assert likely_kind(three_hospitals(tmp_path / "scans", 1), NONE) == "images"
    assert likely_kind(table(tmp_path / "tables" / "a.csv").parent, SICK) == "table"


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"age": "old"}, r"a, in a.csv: 'age' has numbers in 39 rows and text in 1. Mend that, or leave it out"),
        ({"age": "old", "dose": "inf"}, r"'age' has numbers in 39 rows and text in 1; 'dose' has infinity"),
    ],
)
def test_all_bad_columns_are_named_at_once_without_their_cells(
    tmp_path: Path, cells: dict[str, str], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        read("a", table(tmp_path / "a.csv", first=cells), SICK)


def test_a_bad_table_is_named(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv")
    with pytest.raises(UserError, match=r"say which column of a.csv is to be predicted: `target` COLUMN"):
        read("a", path)
    with pytest.raises(UserError, match=r"a: a.csv has no column 'ill'; it has age, dose, sick"):
        read("a", path, Roles(target="ill"))
    (tmp_path / "b.csv").write_text("age,dose,sick\n")
    with pytest.raises(UserError, match=r"b has no samples: b.csv has a header and no rows"):
        read("b", tmp_path / "b.csv", SICK)
    (tmp_path / "c.csv").write_text("age,dose,sick\n1,2\n")
    with pytest.raises(UserError, match=r"c: row 2 of c.csv has not as many cells as its header, 3"):
        read("c", tmp_path / "c.csv", SICK)
    np.savez(tmp_path / "d.npz", X=np.array([[np.inf]]), y=[0])
    with pytest.raises(UserError, match=r"d: 'X' in d.npz has infinity"):
        read("d", tmp_path / "d.npz")
    np.savez(tmp_path / "e.npz", X=np.zeros((2, 1)), y=[0])
    with pytest.raises(UserError, match=r"e: e.npz has 2 inputs and 1 targets"):
        read("e", tmp_path / "e.npz")


def test_a_bad_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no folder"):
        clients_in(tmp_path / "nowhere")
    with pytest.raises(UserError, match="has no clients"):
        clients_in(tmp_path)
    (tmp_path / "a").mkdir()
    with pytest.raises(UserError, match="a has no samples"):
        read("a", tmp_path / "a")
    table(tmp_path / "a.csv")
    with pytest.raises(UserError, match="which of them is the client a"):
        clients_in(tmp_path)
    (tmp_path / "b" / "x").mkdir(parents=True)
    (tmp_path / "b" / "x" / "1.png").write_text("not a picture")
    with pytest.raises(UserError, match=r"b: .*1.png can't be read as PNG, JPEG, TIFF, BMP"):
        read("b", tmp_path / "b").survey()


def test_clients_that_differ_are_named(tmp_path: Path) -> None:
    one = read("a", table(tmp_path / "a.csv"), SICK).survey()
    fewer = one.model_copy(update={"columns": ("age",), "shape": (1,)})
    with pytest.raises(UserError, match="b lacks dose, compared with the columns of a"):
        Layout.of({"a": one, "b": fewer})
    with pytest.raises(UserError, match="a has dose too, compared with the columns of b"):
        Layout.of({"b": fewer, "a": one})
    scans = read("c", pictures(tmp_path / "scans", c={"0": 2, "1": 2}) / "c").survey()
    with pytest.raises(UserError, match="c has a folder of images, and a a table"):
        Layout.of({"a": one, "c": scans})


def test_what_is_not_a_class_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"a: 'age' in a.csv has 40 different numbers: it looks continuous, and regr"):
        read("a", table(tmp_path / "a.csv"), Roles(target="age"))
    one = read("a", tmp_path / "a.csv", SICK).survey()
    many = one.model_copy(update={"samples": {str(number / 7): 1 for number in range(2000)}})
    with pytest.raises(UserError, match=r"There are 2000 classes, .* is the target a number"):
        Layout.of({"a": many})
    with pytest.raises(UserError, match="All samples are of the class '1'"):
        Layout.of({"a": one.model_copy(update={"samples": {"1": 40}})})


def test_an_unknown_class_of_an_unseen_client_is_said(tmp_path: Path) -> None:
    folder = pictures(tmp_path, a={"x": 2, "y": 2}, b={"x": 2, "y": 2}, c={"x": 2, "z": 2})
    surveys = surveys_of(str(folder), NONE)
    with pytest.raises(UserError, match="c is held out and has 2 of the class 'z', which no training client has"):
        OwnOptions.of(str(folder), NONE, None, ("c",), surveys)
    with pytest.raises(UserError, match="c has samples of the class 'z'; the model knows x, y"):
        LaidOut.of(read("c", folder / "c"), Layout.of({"a": surveys["a"], "b": surveys["b"]}))


def test_two_must_play(tmp_path: Path) -> None:
    folder = pictures(tmp_path, a={"x": 2, "y": 2}, b={"x": 2, "y": 2})
    with pytest.raises(UserError, match="A game needs two clients at least, and there is 1 but b"):
        OwnOptions.of(str(folder), NONE, None, ("b",), surveys_of(str(folder), NONE))


def test_sixteen_bits_a_pixel_are_scaled(tmp_path: Path) -> None:
    for place, label in enumerate("xy"):
        (tmp_path / "a" / label).mkdir(parents=True)
        pixels = np.full((4, 4), 257 * (100 + 50 * place), dtype=np.uint16)
        Image.fromarray(pixels).save(tmp_path / "a" / label / "1.png")
    found = layout(tmp_path)
    assert found.shape == (1, 4, 4)
    assert inputs_of(read("a", tmp_path / "a"), found)[:, 0, 0, 0].tolist() == [100, 150]


def test_rounding_is_not_a_deviation(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=np.tile([0.1, 123.456], (1000, 1)), y=np.arange(1000) % 2)
    assert layout(tmp_path).deviation == (1.0, 1.0)


def test_what_can_not_be_read_names_the_client(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("age,sick\n1,caf\xe9\n".encode("latin-1"))
    (tmp_path / "b.npz").write_bytes(b"PK\x03\x04 cut short")
    (tmp_path / "c.csv").write_text("age,age,sick\n1,2,3\n")
    for name, words in {
        "a.csv": "as CSV in UTF-8",
        "b.npz": "can't be read",
        "c.csv": "more than one column 'age'",
    }.items():
        with pytest.raises(UserError, match=f"{name[0]}: {name} .*{words}"):
            read(name[0], tmp_path / name, SICK)

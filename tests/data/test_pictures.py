"""Images as they come: at any depth of folders, upright, of any depth of pixels, and nothing else is opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from flgames.cli import app
from flgames.data.own.files import read
from flgames.data.own.layout import Layout
from flgames.data.own.pictures import Pictures, left_out, pictures_in
from flgames.errors import UserError
from tests.own_data import three_hospitals


def written(path: Path, pixels: np.ndarray, **how: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **how)
    return path


def layout(shape: tuple[int, int, int]) -> Layout:
    ones = (1.0,) * shape[0]
    return Layout(kind="images", shape=shape, classes=("x", "y"), mean=(0.0,) * shape[0], deviation=ones)


def pixels_of(pictures: Pictures, shape: tuple[int, int, int]) -> np.ndarray:
    found: np.ndarray = pictures.rows(layout(shape)).values.numpy()
    return found


GREY = np.full((4, 4), 100, dtype=np.uint8)


@pytest.mark.parametrize("ending", ["png", "PNG", "jpg", "jpeg", "tif", "tiff", "bmp"])
def test_all_of_these_are_images(tmp_path: Path, ending: str) -> None:
    written(tmp_path / "x" / f"1.{ending}", GREY)
    found = pixels_of(pictures_in("a", tmp_path), (1, 4, 4))
    assert found == pytest.approx(np.full((1, 1, 4, 4), 100), abs=2)


def test_the_first_folder_is_the_class_however_deep_an_image_lies(tmp_path: Path) -> None:
    for path in ("x/1.png", "x/patient-7/left/2.png", "y/patient-7/3.tif"):
        written(tmp_path / path, GREY)
    assert sorted(pictures_in("a", tmp_path).labels) == ["x", "x", "y"]


def test_what_was_skipped_is_said_with_the_reason(tmp_path: Path) -> None:
    written(tmp_path / "x" / "1.png", GREY)
    written(tmp_path / "stray.png", GREY)
    for name in ("x/notes.txt", "x/more.txt", "x/scan.dcm", "x/.DS_Store", "x/~$1.png", "x/Thumbs.db"):
        (tmp_path / name).write_text("no picture")
    found = pictures_in("a", tmp_path)
    assert len(found.files) == 1
    said = " ".join(left_out(found))
    assert "a: 2 files skipped, .txt: images are .png," in said
    assert "1 file skipped, .dcm" in said
    assert "3 files skipped, which the system made" in said
    assert "1 file skipped, which are in no class's folder" in said


def test_a_run_says_what_it_skipped(tmp_path: Path) -> None:
    scans = three_hospitals(tmp_path / "scans", 4)
    (scans / "a" / "ill" / "report.pdf").write_text("no picture")
    few = ["--rounds", "2", "--settle-after", "1", "--against", "none", "--threads", "1"]
    result = CliRunner().invoke(app, ["play", "--data", str(scans), "--out", str(tmp_path / "run"), *few])
    assert result.exit_code == 0, result.output
    assert "a: 1 file skipped, .pdf" in " ".join(result.output.split())


def test_only_named_formats_are_opened_whatever_a_file_is_called(tmp_path: Path) -> None:
    """An EPS that is called .png would be handed to Ghostscript."""
    eps = tmp_path / "x" / "1.png"
    eps.parent.mkdir()
    Image.fromarray(np.stack([GREY] * 3, 2)).save(tmp_path / "picture.eps")
    (tmp_path / "picture.eps").rename(eps)
    with pytest.raises(UserError, match=r"a: .*1.png can't be read as PNG, JPEG, TIFF, BMP"):
        pictures_in("a", tmp_path).survey()
    written(tmp_path / "x" / "2.gif", GREY)
    assert len(pictures_in("a", tmp_path).files) == 1


def test_a_photograph_stands_upright(tmp_path: Path) -> None:
    """Orientation 6: the camera was turned, and what is stored is to be turned by a quarter."""
    stored = np.zeros((8, 8), dtype=np.uint8)
    stored[:, :4] = 200
    turned = Image.Exif()
    turned[0x0112] = 6
    written(tmp_path / "x" / "1.jpg", stored, exif=turned, quality=100)
    (found,) = pixels_of(pictures_in("a", tmp_path), (1, 8, 8))
    assert found[0, :4].mean() > 190
    assert found[0, 4:].mean() < 10


def test_twelve_bits_in_sixteen_are_scaled_by_what_the_site_uses(tmp_path: Path) -> None:
    for number, brightest in enumerate((1000, 4000)):
        values = np.linspace(0, brightest, 16).reshape(4, 4).astype(np.uint16)
        written(tmp_path / "x" / f"{number}.png", values)
    found = pictures_in("a", tmp_path)
    assert found.survey().bits == 12, "4000 takes twelve bits, in whichever file it is"
    dark, bright = pixels_of(found, (1, 4, 4))
    assert bright.max() == 4000 * 255 // 4095
    assert dark.max() == 1000 * 255 // 4095, "a dark scan stays dark"


def test_whole_sixteen_bits_and_tiff_too(tmp_path: Path) -> None:
    written(tmp_path / "x" / "1.tif", np.full((4, 4), 65535, dtype=np.uint16))
    found = pictures_in("a", tmp_path)
    assert found.survey().bits == 16
    assert pixels_of(found, (1, 4, 4)).min() == 255


def test_what_is_transparent_shows_white(tmp_path: Path) -> None:
    """What lies under it is nobody's business: programs leave anything there."""
    coloured = np.zeros((4, 4, 4), dtype=np.uint8)
    coloured[:2] = (10, 20, 30, 255)
    coloured[2:] = (250, 0, 0, 0)
    written(tmp_path / "x" / "1.png", coloured)
    (found,) = pixels_of(pictures_in("a", tmp_path), (3, 4, 4))
    assert found[:, 0, 0].tolist() == [10, 20, 30]
    assert found[:, 3, 0].tolist() == [255, 255, 255]


def test_grey_stays_grey_with_an_alpha_channel(tmp_path: Path) -> None:
    written(tmp_path / "x" / "1.png", np.stack([GREY, np.full_like(GREY, 255)], 2))
    assert pictures_in("a", tmp_path).survey().shape == (1, 4, 4)


def test_pixels_with_fractions_are_refused(tmp_path: Path) -> None:
    written(tmp_path / "x" / "1.tif", GREY.astype(np.float32))
    with pytest.raises(UserError, match="pixels with fractions: write them as whole numbers"):
        pictures_in("a", tmp_path).survey()


def test_a_folder_without_images_says_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "1.dcm").write_text("no picture")
    with pytest.raises(UserError, match=r"a has no samples: .*; 1 file skipped, \.dcm"):
        read("a", tmp_path)


def test_hidden_folders_are_no_classes_and_links_are_followed(tmp_path: Path) -> None:
    written(tmp_path / "a" / "x" / "1.png", GREY)
    written(tmp_path / "a" / ".ipynb_checkpoints" / "1.png", GREY)
    written(tmp_path / "a" / "x" / ".thumbnails" / "1.png", GREY)
    written(tmp_path / "elsewhere" / "2.png", GREY)
    (tmp_path / "a" / "y").symlink_to(tmp_path / "elsewhere")
    assert pictures_in("a", tmp_path / "a").labels == ["x", "y"]


def test_images_of_one_patient_stay_together(tmp_path: Path) -> None:
    for path in ("x/p1/1.png", "x/p1/2.png", "y/p1/3.png", "y/p2/4.png", "x/5.png"):
        written(tmp_path / path, GREY)
    found = pictures_in("a", tmp_path)
    assert found.groups is not None
    by_file = {path.name: group for path, group in zip(found.files, found.groups, strict=True)}
    assert by_file["1.png"] == by_file["2.png"] == by_file["3.png"]
    assert len(set(by_file.values())) == 3
    written(tmp_path / "flat" / "x" / "1.png", GREY)
    assert pictures_in("a", tmp_path / "flat").groups is None


def test_new_files_are_scaled_by_the_bits_of_the_training_sites(tmp_path: Path) -> None:
    dark = written(tmp_path / "1.png", np.full((4, 4), 900, dtype=np.uint16))
    alone, trained = Pictures("new", [dark], [""]), Pictures("new", [dark], [""], least_bits=12)
    assert (alone.survey().bits, trained.survey().bits) == (10, 12)
    assert pixels_of(trained, (1, 4, 4)).max() == 900 * 255 // 4095

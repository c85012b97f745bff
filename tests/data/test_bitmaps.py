"""Images are decoded once, by several threads, with the same pixels as one by one; and what is kept is never stale."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

from flgames.data.own import bitmaps, kept, reader
from flgames.data.own.bitmaps import LARGEST_SIDE, Shape
from flgames.data.own.files import read
from flgames.data.own.kept import Kept
from flgames.data.own.pictures import pictures_in
from flgames.data.own.reader import Reader
from flgames.data.own.roles import Roles
from flgames.data.variables import KEEP_VARIABLE
from flgames.engines.sites import SiteData
from flgames.errors import UserError
from flgames.policy.rules import DataRules, Rules, SurveyRules
from flgames.waiting.told import telling

DRAW = np.random.default_rng(0)


def drawn(*shape: int, top: int = 256, dtype: type = np.uint8) -> np.ndarray:
    return DRAW.integers(0, top, shape).astype(dtype)


def album(folder: Path) -> list[Path]:
    """Images of every sort that there is, of many sizes."""
    turned = Image.Exif()
    turned[0x0112] = 6
    grey, colour = Image.fromarray(drawn(40, 30)), Image.fromarray(drawn(64, 64, 3))
    made: dict[str, tuple[Image.Image, dict[str, Any]]] = {
        "grey.png": (grey, {}),
        "colour.png": (colour, {}),
        "wide.png": (Image.fromarray(drawn(50, 200, 3)), {}),
        "large.bmp": (Image.fromarray(drawn(300, 190)), {}),
        "photo.jpg": (Image.fromarray(drawn(120, 80, 3)), {"exif": turned}),
        "turned.png": (colour.crop((0, 0, 20, 64)), {"exif": turned}),
        "palette.png": (colour.quantize(16), {}),
        "alpha.png": (Image.fromarray(drawn(30, 30, 4)), {}),
        "black.png": (grey.convert("1"), {}),
        "deep.png": (Image.fromarray(drawn(70, 70, top=4096, dtype=np.uint16)), {}),
        "dark.tif": (Image.fromarray(drawn(20, 20, top=600, dtype=np.uint16)), {}),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, (image, how) in made.items():
        image.save(folder / name, **how)
    return sorted(folder.iterdir())


def one_by_one(files: list[Path], shape: Shape | None) -> list[np.ndarray]:
    """What docs/own-data.md says, file by file: the image as a whole, and then its size."""
    opened = [ImageOps.exif_transpose(Image.open(path)) for path in files]
    deep = [int(np.asarray(image).max()) for image in opened if image.mode.startswith("I")]
    top = 2 ** max(deep, default=0).bit_length() - 1
    found = []
    for image in opened:
        if image.mode.startswith("I"):
            image = Image.fromarray((np.asarray(image).astype(float) * (255 / top)).astype(np.uint8))
        elif image.has_transparency_data:
            front = image.convert("RGBA")
            image = Image.alpha_composite(Image.new("RGBA", front.size, "white"), front).convert("RGB")
        grey = image.mode in ("1", "L")
        if shape is None:
            shrink = min(1.0, LARGEST_SIDE / max(image.size))
            size = (max(1, round(image.width * shrink)), max(1, round(image.height * shrink)))
        else:
            grey, size = shape[0] == 1, (shape[2], shape[1])
        image = image.convert("L" if grey else "RGB")
        image = image if image.size == size else image.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)
        found.append(np.asarray(image)[None] if grey else np.asarray(image).transpose(2, 0, 1))
    return found


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Which files are decoded from now on."""
    decoded: list[Path] = []
    bitmap = bitmaps.bitmap

    def watched(client: str, path: Path, *how: object) -> bitmaps.Bitmap:
        decoded.append(path)
        return bitmap(client, path, *how)  # type: ignore[arg-type]

    monkeypatch.setattr(reader, "bitmap", watched)
    return decoded


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kept, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache" / "images"


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(reader, "AT_ONCE", 2)
    monkeypatch.setattr(reader, "SMALL", 0)
    monkeypatch.setattr(torch, "get_num_threads", lambda: request.param)
    return int(request.param)


@pytest.mark.parametrize("shape", [(1, 64, 64), (3, 64, 64), (3, 20, 90), (1, 40, 30)])
def test_pixels_are_those_of_files_one_by_one(tmp_path: Path, shape: Shape, threads: int) -> None:
    files = album(tmp_path)
    fresh, surveyed = Reader("a", files), Reader("a", files)
    told = surveyed.survey()
    expected = one_by_one(files, None)
    assert told.bits == 12
    assert [tuple(each) for each in told.shapes] == [each.shape for each in expected]
    assert (told.values == np.concatenate([each.ravel() for each in expected])).all()
    for each in (fresh, surveyed):
        assert (each.fitted(shape).numpy() == np.stack(one_by_one(files, shape))).all()


def test_what_is_small_enough_is_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever shape comes out, if nothing was made smaller; and if all became what comes out."""
    for number in range(4):
        Image.fromarray(drawn(30 + number, 32, 3)).save(tmp_path / f"{number}.png")
    files = sorted(tmp_path.iterdir())
    decoded = counted(monkeypatch)
    source = Reader("a", files)
    source.survey()
    for shape in ((3, 33, 32), (1, 20, 20)):
        assert (source.fitted(shape).numpy() == np.stack(one_by_one(files, shape))).all()
    assert sorted(decoded) == files


def test_sums_of_a_survey_are_those_of_its_pixels(tmp_path: Path) -> None:
    files = album(tmp_path / "x")
    pixels = [np.broadcast_to(each, (3, *each.shape[1:])).astype(float) for each in one_by_one(files, None)]
    told = pictures_in("a", tmp_path).survey()
    assert told.sums == tuple(sum(each[channel].sum() for each in pixels) for channel in range(3))
    assert told.squares == tuple(sum((each[channel] ** 2).sum() for each in pixels) for channel in range(3))
    assert told.count == sum(each[0].size for each in pixels)


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("clock", ["as it is", "coarse", "none"])
def test_a_file_that_is_written_again_is_read_again(
    tmp_path: Path, cache: Path, keeps: bool, clock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Same name and same size: a bitmap without compression has as many bytes whatever it shows."""
    path = tmp_path / "data" / "1.bmp"
    path.parent.mkdir()
    shown = {"coarse": time.time_ns(), "none": 0}
    if clock in shown:  # what a file system may show of a file: a time that is not exact, or what a copy was told
        monkeypatch.setattr(reader, "_stamp", lambda _, path: (1, path.stat().st_size, shown[clock], shown[clock]))
    store = Kept(path.parent) if keeps else None
    source = Reader("a", [path], kept=store)
    for value in (10, 20, 30):
        Image.new("L", (4, 4), value).save(path)
        os.utime(path, (0, 0))
        if clock != "none":
            assert int(source.fitted((1, 4, 4)).max()) == value, "in the same process"
        assert int(Reader("a", [path], kept=store).fitted((1, 4, 4)).max()) == value, "in the next one"


def test_files_that_lie_still_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = album(tmp_path)
    monkeypatch.setattr(reader, "COARSE", -60.0)  # as if they had been written a minute ago
    source = Reader("a", files)
    source.survey()
    monkeypatch.setattr(reader, "_content", lambda *_: pytest.fail("read again"))
    source.survey()


def test_what_is_kept_is_not_decoded_again(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = album(tmp_path / "data")
    first = Reader("a", files, kept=Kept(tmp_path / "data"))
    told, small = first.survey(), first.fitted((3, 64, 64))
    decoded = counted(monkeypatch)
    for _ in range(2):
        again = Reader("a", files, kept=Kept(tmp_path / "data"))
        assert (again.survey().values == told.values).all()
        assert torch.equal(again.fitted((3, 64, 64)), small)
    assert not decoded
    assert cache.stat().st_mode & 0o777 == 0o700, "pixels are for their owner alone"


def test_who_is_deleted_is_deleted_from_the_cache(tmp_path: Path, cache: Path) -> None:
    files = album(tmp_path / "data")
    other = Reader("b", album(tmp_path / "other"), kept=Kept(tmp_path / "other"))
    for source in (Reader("a", files, kept=Kept(tmp_path / "data")), other):
        source.survey()
    before = set(cache.iterdir())
    files.pop().unlink()
    Reader("a", files, kept=Kept(tmp_path / "data")).survey()
    after = set(cache.iterdir())
    assert len(after) == len(before) == 2
    assert len(after & before) == 1, "what is kept of another folder stays"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        lambda content: b"",
        lambda content: content[:80] + bytes([content[80] ^ 1]) + content[81:],
    ],
    ids=["torn", "a pixel", "empty", "its head"],
)
def test_a_spoilt_cache_is_noticed_and_made_whole(
    tmp_path: Path, cache: Path, spoil: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    files = album(tmp_path / "data")
    told = Reader("a", files, kept=Kept(tmp_path / "data")).survey()
    (path,) = cache.iterdir()
    whole = path.read_bytes()
    path.write_bytes(spoil(whole))
    again = Reader("a", files, kept=Kept(tmp_path / "data")).survey()
    assert (again.values == told.values).all()
    assert f"{path} is damaged" in caplog.text
    assert "decoded again" in caplog.text
    assert path.read_bytes() == whole


def test_another_version_of_what_decodes_decodes_again(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = album(tmp_path / "data")
    Reader("a", files, kept=Kept(tmp_path / "data")).survey()
    monkeypatch.setattr("PIL.__version__", "0.1")
    decoded = counted(monkeypatch)
    Reader("a", files, kept=Kept(tmp_path / "data")).survey()
    assert set(decoded) == set(files)


def test_a_cache_that_cant_be_written_is_said(tmp_path: Path, cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache.parent.write_text("no folder")
    files = album(tmp_path / "data")
    assert Reader("a", files, kept=Kept(tmp_path / "data")).survey().bits == 12
    assert "images are not kept" in caplog.text


def test_the_first_bad_file_is_what_is_told(tmp_path: Path, threads: int) -> None:
    files = album(tmp_path)
    for path in (files[7], files[3]):
        path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(UserError, match=rf"^a: {files[3]} can't be read as PNG, JPEG, TIFF, BMP\.$"):
        Reader("a", files).survey()


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    files = album(tmp_path)
    files[2].unlink()
    with pytest.raises(UserError, match=rf"^a: {files[2]} can't be read"):
        Reader("a", files).survey()


def test_who_waits_is_told(tmp_path: Path, threads: int) -> None:
    heard: list[tuple[str, int, int]] = []
    files = album(tmp_path)
    with telling(lambda *what: heard.append(what)):
        Reader("a", files).survey()
    assert [done for _, done, _ in heard] == [2, 4, 6, 8, 10, 11]
    assert {(what, total) for what, _, total in heard} == {("reading the images of a", 11)}


def test_nothing_is_kept_unless_somebody_said_so(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On one's own machine the environment says it; at a site its rules, whatever the environment says."""
    monkeypatch.delenv(KEEP_VARIABLE, raising=False)
    album(tmp_path / "data" / "x")
    read("a", tmp_path / "data").survey()
    monkeypatch.setenv(KEEP_VARIABLE, "1")
    few = SurveyRules(min_count=1, most_classes=2)
    SiteData("a", tmp_path / "data", Rules(survey=few)).survey("", Roles())
    assert not cache.exists()
    SiteData("a", tmp_path / "data", Rules(survey=few, data=DataRules(keep_images=True))).survey("", Roles())
    (by_rule,) = cache.iterdir()
    by_rule.unlink()
    read("b", tmp_path / "data").survey()
    assert len(list(cache.iterdir())) == 1

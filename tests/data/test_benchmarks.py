"""Every benchmark is what it says: labels, noise, spurious feature, clients, sizes."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from flgames.core.stopping.stop_below import StopBelow
from flgames.data.benchmarks.benchmark import HELD_OUT, Benchmark, Portion
from flgames.data.benchmarks.digits import FILE, digits
from flgames.data.benchmarks.images import ImageSet
from flgames.data.benchmarks.registry import by_name
from flgames.data.benchmarks.spurious import Colour, Patch
from flgames.data.samples import ArraySamples
from flgames.errors import UserError
from flgames.runs.entries import entries
from flgames.runs.resolve import resolve
from flgames.runs.runner import set_up
from tests.benchmarks import PLANTED, RENDERED, at_hand

SIZES = {
    "colored-digits": ([650, 650], 497),
    "colored-mnist": ([30_000, 30_000], 10_000),
    "colored-fashion-mnist": ([27_000, 27_000], 9_000),
    "spurious-cifar10": ([22_500, 22_500], 9_000),
    "colored-dsprites": ([15_000, 15_000], 5_000),
}

SHAPES = {
    "colored-digits": (2, 8, 8),
    "colored-mnist": (2, 28, 28),
    "colored-fashion-mnist": (2, 28, 28),
    "spurious-cifar10": (3, 32, 32),
    "colored-dsprites": (2, 64, 64),
}

EXTENDED: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in PLANTED] + [
    ("colored-mnist", {"classes": 5}),
    ("colored-mnist", {"classes": 10, "clients": 10}),
    ("colored-fashion-mnist", {"classes": 5, "flips": "5-uneven"}),
    ("colored-fashion-mnist", {"classes": 10}),
    ("colored-dsprites", {"clients": 3}),
    ("spurious-cifar10", {"flips": (0.5, 0.0, 1.0), "sizes": (4000, 400, 40)}),
]


def portions(source: Benchmark, seed: int = 0) -> dict[str, Portion]:
    data = source.data(seed)
    return data.training_portions() | {HELD_OUT: data.held_out_portion()}


def close(measured: float, intended: float, samples: int) -> bool:
    """Within four and a half standard deviations of a binomial share."""
    return abs(measured - intended) <= 4.5 * math.sqrt(intended * (1 - intended) / samples)


@pytest.mark.parametrize("name", PLANTED)
def test_sizes_and_shapes(name: str) -> None:
    source = at_hand(name)
    clients, held_out = source.training_clients(0), source.held_out_client(0)
    train, test = SIZES[name]
    assert [len(samples) for samples in clients.values()] == train
    assert len(held_out.labels) == test
    assert source.available == (sum(train), test)
    inputs, targets = clients["client-1"].batch(torch.arange(5))
    assert inputs.shape == (5, *SHAPES[name])
    assert held_out.input_shape == source.data(0).input_shape == SHAPES[name]
    assert inputs.dtype == torch.float32
    assert 0 <= inputs.min() < inputs.max() <= 1
    assert targets.dtype == torch.int64


@pytest.mark.parametrize(("name", "options"), EXTENDED, ids=str)
def test_noise_and_flips_are_as_intended(name: str, options: dict[str, Any]) -> None:
    source = at_hand(name, **options)
    for client, portion in portions(source, seed=1).items():
        flip = source.flips.get(client, 0.9)
        assert close(portion.noise, 0.25, len(portion.rows)), client
        assert close(portion.flip, flip, len(portion.rows)), client
        # Both are independent of what is shown, and of each other.
        for label in range(source.classes):
            of_label = portion.clean == label
            if of_label.sum() > 200:
                assert close(float(np.mean((portion.labels != portion.clean)[of_label])), 0.25, int(of_label.sum()))
        noisy = portion.labels != portion.clean
        if noisy.sum() > 200:
            assert close(float(np.mean((portion.codes != portion.labels)[noisy])), flip, int(noisy.sum()))


@pytest.mark.parametrize(("name", "options"), EXTENDED, ids=str)
def test_labels_and_codes_move_to_the_next_class_only(name: str, options: dict[str, Any]) -> None:
    source = at_hand(name, **options)
    for portion in portions(source).values():
        assert set(np.unique((portion.labels - portion.clean) % source.classes)) <= {0, 1}
        assert set(np.unique((portion.codes - portion.labels) % source.classes)) <= {0, 1}
        assert set(np.unique(portion.labels)) == set(range(source.classes))


@pytest.mark.parametrize("name", PLANTED)
def test_train_and_test_share_no_image_and_clients_share_no_row(name: str) -> None:
    data = at_hand(name).data(0)
    train = {image.tobytes() for image in data.images.train_images}
    assert not any(image.tobytes() in train for image in data.images.test_images)
    rows = np.concatenate([portion.rows for portion in data.training_portions().values()])
    assert len(np.unique(rows)) == len(rows)


LABELS: dict[tuple[str, int], list[int | None]] = {
    ("colored-digits", 2): [0, 0, 0, 0, 0, 1, 1, 1, 1, 1],
    ("colored-mnist", 2): [0, 0, 0, 0, 0, 1, 1, 1, 1, 1],
    ("colored-mnist", 5): [0, 0, 1, 1, 2, 2, 3, 3, 4, 4],
    ("colored-mnist", 10): [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    # t-shirt, trouser, pullover, dress, coat | sandal | shirt | sneaker | bag | ankle boot
    ("colored-fashion-mnist", 2): [0, 0, 0, 0, 0, 1, 0, 1, None, 1],
    ("colored-fashion-mnist", 5): [0, 0, 1, 1, 2, 2, 3, 3, 4, 4],
    ("colored-fashion-mnist", 10): [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    # airplane, automobile | bird, cat, deer, dog | frog | horse | ship, truck
    ("spurious-cifar10", 2): [0, 0, 1, 1, 1, 1, None, 1, 0, 0],
    # square, ellipse
    ("colored-dsprites", 2): [1, 0],
}


@pytest.mark.parametrize(("name", "classes"), LABELS, ids=str)
def test_the_label_of_every_kind(name: str, classes: int) -> None:
    source = at_hand(name, classes=classes)
    images = source.data(0).images
    for part in portions(source).items():
        kinds = images.test_kinds if part[0] == HELD_OUT else images.train_kinds
        seen = {(int(kind), int(label)) for kind, label in zip(kinds[part[1].rows], part[1].clean, strict=True)}
        assert seen == {(kind, label) for kind, label in enumerate(LABELS[name, classes]) if label is not None}


def test_dropped_kinds_leave_ten_percent_less() -> None:
    for name in ("colored-fashion-mnist", "spurious-cifar10"):
        source = at_hand(name)
        images = source.images(0)
        assert sum(len(portion.rows) for portion in portions(source).values()) == 0.9 * (
            len(images.train_images) + len(images.test_images)
        )


def test_red_is_channel_0_and_means_1() -> None:
    images = torch.tensor([[[255, 51]], [[0, 255]]], dtype=torch.uint8)
    inputs = Colour().paint(images, torch.tensor([1, 0]))
    torch.testing.assert_close(inputs, torch.tensor([[[[1.0, 0.2]], [[0, 0]]], [[[0, 0]], [[0, 1]]]]))
    binary = Colour(binary=True).paint(images, torch.tensor([1, 0]))
    assert binary[0, 0].tolist() == [[1, 1]]
    assert Colour().names == ["green", "red"]
    picture = Colour().picture(inputs)
    assert picture[0, 0, 0].argmax() == 0
    assert picture[1, 0, 1].argmax() == 1


@pytest.mark.parametrize("classes", [5, 10])
def test_more_classes_have_a_channel_each(classes: int) -> None:
    images = torch.full((classes, 2, 3), 255, dtype=torch.uint8)
    inputs = Colour(classes).paint(images, torch.arange(classes))
    assert torch.equal(inputs, torch.eye(classes)[:, :, None, None].expand(-1, -1, 2, 3))
    colours = {tuple(picture[0, 0]) for picture in Colour(classes).picture(inputs)}
    assert len(colours) == len(set(Colour(classes).names)) == classes


def test_the_patch_is_black_5_by_5_and_in_the_corner_of_its_code() -> None:
    images = torch.full((2, 3, 32, 32), 255, dtype=torch.uint8)
    inputs = Patch().paint(images, torch.tensor([0, 1]))
    for place, columns in enumerate((slice(0, 5), slice(27, 32))):
        expected = torch.ones(3, 32, 32)
        expected[:, :5, columns] = 0
        assert torch.equal(inputs[place], expected)
    assert Patch().names == ("left", "right")
    grey = Patch(2).paint(images[:, 0], torch.tensor([0, 1]))
    assert grey.shape == (2, 1, 32, 32)
    assert int((grey == 0).sum()) == 8


def test_agree_and_conflict_differ_in_the_feature_only() -> None:
    held_out = at_hand("spurious-cifar10").held_out_client(0)
    agreeing, conflicting, labels, agrees = next(held_out.pairs(50))
    assert torch.equal(agreeing[:, :, 5:], conflicting[:, :, 5:])
    assert torch.equal(agreeing[:, :, :, 5:27], conflicting[:, :, :, 5:27])
    left_is_black = (agreeing[:, :, :5, :5] == 0).flatten(1).all(1)
    assert left_is_black[labels == 0].all()
    assert torch.equal(agrees, held_out.codes[:50] == labels)


def test_half_the_side_and_binary_pixels() -> None:
    whole, half = at_hand("colored-mnist"), at_hand("colored-mnist", side=14, pixels="binary")
    data = half.data(0)
    assert np.array_equal(data.images.train_images, whole.data(0).images.train_images[:, ::2, ::2])
    inputs, _ = data.training_clients()["client-1"].batch(torch.arange(20))
    assert inputs.shape == (20, *data.input_shape) == (20, 2, 14, 14)
    assert set(inputs.flatten().tolist()) == {0, 1}


def test_clients_are_spaced_evenly_and_vectors_are_taken_as_given() -> None:
    assert list(by_name("colored-digits", clients=2).flips.values()) == [0.3, 0.1]
    assert list(by_name("colored-digits", clients=3).flips.values()) == [0.3, 0.2, 0.1]
    assert list(by_name("colored-digits", clients=5).flips.values()) == [0.3, 0.25, 0.2, 0.15, 0.1]
    ten = by_name("colored-digits", clients=10)
    assert list(ten.flips) == [f"client-{k}" for k in range(1, 11)]
    assert np.allclose(np.diff(list(ten.flips.values())), -0.2 / 9, atol=1e-6)
    assert list(by_name("colored-digits", flips="5-uneven").flips.values()) == [0.3, 0.2, 0.19, 0.12, 0.1]
    assert tuple(by_name("colored-digits", flips="0.4,0.05").flips.values()) == (0.4, 0.05)


def test_uneven_sizes() -> None:
    source = by_name("colored-digits", clients=3, sizes="700,90,10")
    assert [len(samples) for samples in source.training_clients(0).values()] == [700, 90, 10]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"clients": 3, "flips": "0.1,0.2,0.3"}, "give one of the two"),
        ({"sizes": "10,20,30"}, "`sizes` names 3 clients, and there are 2"),
        ({"sizes": "1000,1000"}, "`sizes` asks for 2000 images, and Colored Digits has 1300"),
        ({"clients": 5000}, "1300 images to train on, too few for 5000 clients"),
        ({"benchmark": "spurious-cifar10", "classes": 10}, "spurious-cifar10 has no `classes` 10"),
        ({"benchmark": "colored-dsprites", "pixels": "binary"}, "colored-dsprites has no `pixels` binary"),
        ({"benchmark": "colored-mnist", "side": 20}, "a side of 28 or 14 pixels; `side` 20 can't be had"),
        ({"benchmark": "colored-mnist", "train": "CA,TX"}, "colored-mnist has no `train` CA,TX: leave it out"),
        ({"draw": 1}, "colored-digits has no `draw` 1"),
        ({"states": 3}, "colored-digits has no `states` 3"),
        ({"benchmark": "fars"}, "fars has real sites and no planted feature"),
        ({"benchmark": "coloured-mnist"}, "Did you mean 'colored-mnist'?"),
    ],
)
def test_what_can_not_be_had_is_said(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError) as error:
        by_name(**({"name": options.pop("benchmark", "colored-digits")} | options))
    assert sentence in str(error.value)


def test_a_benchmark_of_ones_own_is_checked() -> None:
    source = by_name("colored-digits")
    changes: list[tuple[dict[str, Any], str]] = [
        ({"flips": {"a": 1.5, "b": 0.1}}, "1.5 is not a probability"),
        ({"noise": -0.1}, "-0.1 is not a probability"),
        ({"flips": {"a": 0.1, HELD_OUT: 0.1}}, "held-out is the name of the client that nobody trains on"),
        ({"sizes": (100, -5)}, "every client needs a sample"),
        ({"flips": {}}, "has no training client"),
        ({"labels": {"zero": 0, "one": 2}}, r"without a gap, and two at least; not \[0, 2\]"),
        ({"labels": {"a": 0, "b": 1, "c": 2}}, "has 3 labels, and its feature 2 codes"),
    ]
    for change, sentence in changes:
        with pytest.raises(UserError, match=sentence):
            dataclasses.replace(source, **change)
    unlabelled = dataclasses.replace(source, labels={"zero": 0, "one": 1})
    with pytest.raises(UserError, match="images of kind 9, and labels for 2 kinds"):
        unlabelled.data(0)


def test_own_images_are_checked() -> None:
    images, kinds = np.zeros((4, 2, 2), dtype=np.uint8), np.zeros(4, dtype=int)
    with pytest.raises(UserError, match="The train images are float32: give bytes"):
        ImageSet.split(images.astype(np.float32), kinds, 2)
    with pytest.raises(UserError, match="There are 0 test images"):
        ImageSet.split(images, kinds, 4)
    with pytest.raises(UserError, match="There are 2 test images and 1 kinds"):
        ImageSet(images[:2], kinds[:2], images[2:], kinds[3:])


def test_few_samples_do_not_shorten_the_warm_start() -> None:
    for benchmark, rounds in {"spurious-cifar10": 88, "colored-dsprites": 59, "colored-mnist": 2}.items():
        entry = entries(resolve({"benchmark": benchmark, "sizes": "200,200"}))[1]
        clients = {name: ArraySamples(torch.zeros(200, 2, 1, 1), torch.arange(200) % 2) for name in "ab"}
        play = set_up(entry, clients, 2, seed=0, device=torch.device("cpu"))
        play.start()
        assert isinstance(play.rule, StopBelow)
        assert play.rule.warm_start == rounds


def test_the_stop_rule_depends_on_the_clients_not_on_how_they_were_named() -> None:
    def threshold(**given: Any) -> object:
        return resolve({"benchmark": "colored-fashion-mnist"} | given).flat()["stop_below"]

    assert threshold() == threshold(flips="0.2,0.1")
    assert threshold(clients=3) == threshold(flips="0.3,0.2,0.1") != threshold()


def test_generators_are_separate() -> None:
    """Changing the flips leaves partition and labels alone; changing the noise leaves the partition alone."""
    one, two = by_name("colored-digits"), by_name("colored-digits", flips=(0.4, 0.4))
    ours, theirs = one.data(0).training_portions(), two.data(0).training_portions()
    for client in one.flips:
        left, right = ours[client], theirs[client]
        assert np.array_equal(left.rows, right.rows)
        assert np.array_equal(left.labels, right.labels)
        assert not np.array_equal(left.codes, right.codes)
    first, other = ours["client-1"], one.data(1).training_portions()["client-1"]
    assert not np.array_equal(first.rows, other.rows)
    assert not np.array_equal(first.labels - first.clean, other.labels - other.clean)


PINNED = ["8bc66bd1cbffcb91", "7c1a4a76566a25e3"]

SCRIPT = """
from tests.data.test_benchmarks import digest
print(digest("colored-digits"), digest("colored-dsprites"))
"""


def digest(name: str) -> str:
    """Of everything that a seed decides."""
    source = by_name(name, classes=2, clients=3, **RENDERED.get(name, {}))
    found = hashlib.sha256()
    for client, portion in portions(source, seed=7).items():
        found.update(client.encode())
        for values in (portion.rows, portion.clean, portion.labels, portion.codes):
            found.update(values.astype(np.int64).tobytes())
    return found.hexdigest()[:16]


def test_the_same_seed_gives_the_same_clients_in_every_process_and_on_every_machine() -> None:
    ours = [digest("colored-digits"), digest("colored-dsprites")]
    assert ours == PINNED
    environment = os.environ | {"PYTHONHASHSEED": "123", "PYTHONPATH": os.getcwd()}
    theirs = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env=environment
    ).stdout.split()
    assert theirs == ours


def test_training_data_stay_bytes_and_are_shared() -> None:
    source = at_hand("colored-mnist", clients=10)
    clients = source.training_clients(0)
    storages = {}
    for samples in clients.values():
        for tensor in (samples.images, samples.rows, samples.labels, samples.codes):
            storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        assert samples.images.dtype == torch.uint8
    assert sum(storages.values()) < 60e6


MEMORY = """
import resource
from flgames.data.benchmarks.registry import by_name
import torch
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
before = resident()
clients = by_name("colored-mnist").training_clients(0)
print((resident() - before) / 1e6)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="resident memory is read from /proc")
def test_all_of_colored_mnist_takes_less_than_100_megabytes() -> None:
    at_hand("colored-mnist")
    said = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True).stdout
    assert float(said) < 100


def test_digits_are_scikit_learns_whichever_way_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    bunch = load_digits()
    for file in (FILE, Path("moved")):
        monkeypatch.setattr("flgames.data.benchmarks.digits.FILE", file)
        images = digits()
        read = np.concatenate([images.train_images, images.test_images])
        assert np.array_equal(read, bunch.images)
        assert np.array_equal(np.concatenate([images.train_kinds, images.test_kinds]), bunch.target)

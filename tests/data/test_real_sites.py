"""The data of real sites: what is read out of published files, and what is kept of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from flgames.data.benchmarks.catalogue import fars, rand_health
from flgames.data.benchmarks.resize import resized
from flgames.data.benchmarks.sites import correlation
from flgames.data.keel import read_keel
from tests.benchmarks import OF_SITES, sites_at_hand


def write_fars(path: Path, *rows: dict[str, str]) -> Path:
    """A small file as KEEL has it: what a row does not say is Other."""
    columns = ["CASE_STATE", "AGE", "PERSON_TYPE", *fars.CORE, *fars.PAPERWORK, "RACE", "INJURY_SEVERITY"]
    usual = {"CASE_STATE": "Texas", "AGE": "40", "PERSON_TYPE": "Driver", "INJURY_SEVERITY": "No_Injury"}
    lines = [f"@attribute {name} " + ("real [0,99]" if name == "AGE" else "{Other,Yes}") for name in columns]
    body = [",".join((usual | row).get(name, "Other") for name in columns) for row in rows]
    path.write_text("\r\n".join(["@relation fars", *lines, "@data", *body, ""]))
    return path


def test_fars_keeps_drivers_whose_severity_is_known(tmp_path: Path) -> None:
    write_fars(
        tmp_path / "fars.dat",
        {"INJURY_SEVERITY": "Fatal_Injury", "EJECTION": "Yes", "AGE": "99"},
        {"AGE": "20", "RACE": "Not_a_Fatality", "CASE_STATE": "Oregon"},
        {"PERSON_TYPE": "Pedestrian", "SEX": "Yes"},
        *({"INJURY_SEVERITY": severity} for severity in fars.NOT_KNOWN),
    )
    read = fars.read(tmp_path)
    assert read.labels.tolist() == [1, 0]
    assert [read.sites[place] for place in read.places] == ["Texas", "Oregon"]
    columns = {name: read.values[:, place].tolist() for place, name in enumerate(read.columns)}
    assert columns["AGE"] == [pytest.approx(57 / 20), -1.0], "99 is unknown and counts as 97"
    assert columns["AGE_SQUARED"] == [pytest.approx((57 / 20) ** 2), 1.0]
    assert columns["EJECTION=Yes"] == [1, 0]
    assert columns["EJECTION=Other"] == [0, 1]
    assert "SEX=Yes" not in columns, "no driver has it"
    assert not [name for name in columns if name.startswith(("RACE", "INJURY"))]


def test_a_keel_file_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "fars.dat"
    path.write_text("a,b\n")
    with pytest.raises(ValueError, match="has no @data"):
        read_keel(path)
    path.write_text("@attribute A {x,y}\n@attribute B {x}\n@data\nx,y\nx\n")
    with pytest.raises(ValueError, match="rows with other columns than its header"):
        read_keel(path)


def test_rand_health_drops_rows_with_something_missing(tmp_path: Path) -> None:
    names = [*rand_health.COLUMNS, "ghindx", "mdvis", "site", "zper"]
    rows = [dict.fromkeys(names, "1") | change for change in ({}, {"educdec": ""}, {"ghindx": "", "mdvis": "0"})]
    lines = [",".join(names), *(",".join(row[name] for name in names) for row in rows)]
    (tmp_path / "randhie.csv").write_text("\n".join(lines))
    read = rand_health.read(tmp_path)
    assert read.labels.tolist() == [1, 0]
    assert read.groups.tolist() == [1, 1]
    assert len(read.columns) == 24


def test_images_are_resized_by_area_and_by_interpolation() -> None:
    whole = np.full((2, 22, 22), 255)
    assert set(resized(whole, 16, 255).ravel()) == {255}
    corner = np.zeros((1, 22, 22))
    corner[0, 0, 0] = 255
    small = resized(corner, 16, 255)
    assert small[0, 0, 0] == round(255 / 1.375**2)
    assert small.sum() == small[0, 0, 0]
    assert resized(np.array([[[0, 16]]]), 2, 16)[0, 0].tolist() == [0, 255]


@pytest.mark.parametrize("name", OF_SITES)
def test_real_sites_are_as_declared(name: str) -> None:
    source = sites_at_hand(name)
    data = source.data(0)
    assert data.layout.kind == source.kind
    assert data.layout.classes == source.class_names
    clients, unseen = data.training_clients(), data.unseen_clients()
    found = clients | {each.name: each.samples for each in unseen}
    sizes = {site: len(samples) for site, samples in found.items()}
    assert sizes == {site: source.sizes[site] for site in (*source.players, *source.unseen)}
    for samples in found.values():
        inputs, targets = samples.batch(torch.arange(len(samples)))
        assert inputs.shape[1:] == data.input_shape
        assert torch.isfinite(inputs).all()
        assert set(targets.tolist()) == set(range(source.classes))


def test_fars_as_described() -> None:
    source = sites_at_hand("fars")
    samples = source.load(0)
    assert {site: len(samples.rows(site)) for site in samples.sites} == dict(source.sizes), "all 51 of them"
    assert (len(samples), len(samples.columns)) == (56_640, 73)
    assert source.core().data(0).input_shape == (37,)
    assert samples.labels.mean() == pytest.approx(0.456, abs=0.001)
    core, paperwork = ([correlation(samples, site, column) for site in source.unseen] for column in source.shown)
    assert np.std(core) < 0.07 < 0.25 < np.std(paperwork)
    assert min(paperwork) < -0.9
    assert max(paperwork) > 0.2


def test_rand_health_knows_whose_each_sample_is() -> None:
    data = sites_at_hand("rand-health").data(0)
    clients = data.training_clients().values()
    people = [set(samples.groups.tolist()) for samples in clients if samples.groups is not None]
    assert len(people) == 5
    assert len(set.union(*people)) == sum(map(len, people)), "a person is at one site"
    assert sum(map(len, people)) < sum(map(len, clients)) / 3, "and has several years there"


def test_another_seed_has_other_digits_of_mnist_and_the_same_of_all_others() -> None:
    source = sites_at_hand("digits-across-sources")
    one, two = source.load(0), source.load(1)
    assert one.values.shape == (25_918, 16, 16)
    for site in one.sites:
        ours, theirs = one.values[one.rows(site)], two.values[two.rows(site)]
        assert np.array_equal(ours, theirs) == (site != "mnist")
        assert (ours.min(), ours.max()) == (0, 255)
    assert source.load(0).sha256() == one.sha256()

"""Digits across sources: which digit is it? Four publishers, each with its own people, pens and scanners."""

from __future__ import annotations

import numpy as np

from flgames.data.benchmarks.compose import DIGITS, training_sites
from flgames.data.benchmarks.digit_sets import MFEAT, OPTDIGITS, USPS
from flgames.data.benchmarks.image_sets import MNIST
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.registry import GamePreset, NamedBenchmark
from flgames.data.benchmarks.resize import resized
from flgames.data.benchmarks.site_set import SiteSet
from flgames.data.benchmarks.sites import Sites
from flgames.seeds import generator

SIDE = 16

SIZES = {"mnist": 9_000, "usps": 9_298, "optdigits": 5_620, "mfeat": 2_000}
"""Images of each source. Of MNIST's 60,000 a random part, so that it does not outweigh the others."""

MARGIN = 3
"""Pixels that are cut off MNIST's images on every side: others fill their frame. 1% of the ink is lost."""

OTHERS = {USPS: 255, OPTDIGITS: 16, MFEAT: 6}
"""And the brightest level that each has."""


def load(seed: int) -> SiteSet:
    """All of them as bytes of 16 x 16 pixels, from black to white."""
    mnist = MNIST.fetch()
    rows = np.sort(generator(seed, "digits of MNIST").permutation(len(mnist.train_images))[: SIZES["mnist"]])
    cut = mnist.train_images[rows, MARGIN:-MARGIN, MARGIN:-MARGIN]
    parts = [SiteSet(resized(cut, SIDE, 255), mnist.train_kinds[rows], ("mnist",), np.zeros(len(rows), np.uint8))]
    for published, white in OTHERS.items():
        found = published.fetch()
        parts.append(SiteSet(resized(found.values, SIDE, white), found.labels, found.sites, found.places))
    return SiteSet.joined(parts)


def build(options: BenchmarkOptions) -> Sites:
    names = tuple(SIZES)
    players = training_sites(options, names, names[:3])
    return Sites(
        name=options.benchmark,
        title="Digits across sources",
        load=load,
        players=players,
        unseen=tuple(site for site in names if site not in players),
        class_names=DIGITS,
        kind="images",
        published=(MNIST, *OTHERS),
        sizes=SIZES,
        origin="forms (MNIST), US mail (USPS), forms of 43 people (optdigits), Dutch utility maps (mfeat)",
    )


BENCHMARK = NamedBenchmark(build, GamePreset())

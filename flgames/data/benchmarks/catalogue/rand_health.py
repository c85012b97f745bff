"""RAND's health insurance experiment: does a person see a physician this year? Six sites, with a mild shift.

Nothing here is known to mislead. It is the counterpart of a benchmark with a shortcut: a method that learns only what
holds everywhere should lose little on it, and has little to win.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from flgames.data.benchmarks.compose import training_sites
from flgames.data.benchmarks.mirrors import PythonPackage
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.published import Published
from flgames.data.benchmarks.registry import GamePreset, NamedBenchmark
from flgames.data.benchmarks.site_set import SiteSet
from flgames.data.benchmarks.sites import Sites

COLUMNS = (
    "coins", "tookphys", "year", "xage", "educdec", "disea", "physlm", "hlthg", "hlthf", "hlthp", "female", "child",
    "black", "linc", "lfam", "lpi", "idp", "logc", "fmde", "xghindx", "mhi", "income", "num", "fchild",
)  # fmt: skip
"""What is known of a person without this year's bills. xghindx is the general health index with RAND's own
imputations: without them, ghindx, it is missing for all of site 1, and would tell the site."""

SIZES = {"site-1": 4462, "site-2": 4036, "site-3": 2432, "site-4": 3090, "site-5": 2595, "site-6": 3571}


def read(folder: Path) -> SiteSet:
    """A row a person and year. Four rows, of one site, lack the years of education and are dropped."""
    with (folder / "randhie.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if all(row[name].strip() for name in COLUMNS)]
    return SiteSet(
        np.array([[row[name] for name in COLUMNS] for row in rows], dtype=np.float32),
        np.array([float(row["mdvis"]) > 0 for row in rows], dtype=np.uint8),
        tuple(SIZES),
        np.array([int(row["site"]) - 1 for row in rows], dtype=np.uint8),
        COLUMNS,
        np.array([int(row["zper"]) for row in rows], dtype=np.int64),
    )


RAND_HEALTH = Published(
    name="rand-health",
    title="RAND's health insurance experiment",
    sha256="5ad3f7b40c1b13f6cf2a2beda2370d1be7f224e0d4fd896995dadf97b8e45215",
    read=read,
    load=SiteSet.load,
    files="randhie.csv as statsmodels has it in datasets/randhie/src (20,190 rows, 45 columns)",
    sign="randhie.csv",
    homes=("rand-health",),
    elsewhere=(PythonPackage("statsmodels==0.15.0", "statsmodels/datasets/randhie/src/randhie.csv", 12_100_000),),
)


def build(options: BenchmarkOptions) -> Sites:
    names = tuple(SIZES)
    players = training_sites(options, names, names[:5])
    return Sites(
        name=options.benchmark,
        title="RAND health insurance",
        load=RAND_HEALTH,
        players=players,
        unseen=tuple(site for site in names if site not in players),
        class_names=("no visit", "visit"),
        kind="table",
        published=(RAND_HEALTH,),
        sizes=SIZES,
        shown=("disea", "income"),
        origin="the RAND health insurance experiment, via Cameron and Trivedi, and statsmodels",
    )


BENCHMARK = NamedBenchmark(build, GamePreset())

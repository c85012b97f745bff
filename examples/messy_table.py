"""A table as it comes: one file with the rows of all sites, words, dates, empty cells and a patient's name in each row.

    python examples/messy_table.py patients.csv

writes the table, and what follows from it through pandas. On the command line the same table plays by

    flgames play --data patients.csv --client-column site --target ill --holdout west
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from flgames import FLGames

FLIPS = {"north": 0.05, "south": 0.25, "west": 0.9}
"""How often the ward does not tell who is ill. In the west it tells the opposite."""


def visits(site: str, patients: int, generator: np.random.Generator) -> pd.DataFrame:
    """Age and smoking tell who is ill everywhere; the ward tells more where the model is trained."""
    ill = generator.integers(0, 2, patients)
    blue = ill ^ (generator.random(patients) < FLIPS[site])
    age = generator.normal(50 + 8 * ill, 10).round(1)
    table = pd.DataFrame({
        "patient": [f"{site}-{number:04}" for number in range(patients)],
        "site": site,
        "age": np.where(generator.random(patients) < 0.1, np.nan, age),
        "sex": generator.choice(["F", "M", ""], patients, p=[0.5, 0.45, 0.05]),
        "smoker": generator.random(patients) < 0.3 + 0.3 * ill,
        "visit": pd.to_datetime("2025-01-01") + pd.to_timedelta(generator.integers(0, 300, patients), "D"),
        "ward": np.where(blue == 1, "blue", "green"),
        "blood": generator.choice(["A", "B", "AB", "0"], patients),
        "ill": np.where(ill == 1, "yes", "no"),
    })  # fmt: skip
    table.loc[0, "blood"] = "Bombay"
    return table


def main(path: str = "patients.csv", rounds: str = "600") -> None:
    generator = np.random.default_rng(0)
    table = pd.concat([visits(site, 600, generator) for site in FLIPS], ignore_index=True)
    table.to_csv(path)
    print(f"{path}: {len(table)} rows")

    known, unseen = table[table.site != "west"], table[table.site == "west"]
    inputs = ["patient", "age", "sex", "smoker", "visit", "ward", "blood"]
    model = FLGames(rounds=int(rounds)).fit(known[inputs], known.ill, groups=known.site)
    print(f"as it comes, in the west: {model.score(unseen[inputs[::-1]], unseen.ill):.3f}")
    print(model.disagreement_.round(3))

    # Whoever prepares columns in a pipeline of scikit-learn passes the client of every row beside it.
    prepared = make_column_transformer(
        (SimpleImputer(), ["age"]),
        (OneHotEncoder(handle_unknown="ignore"), ["sex", "ward", "blood"]),
        ("passthrough", ["smoker"]),
        sparse_threshold=0,
    )
    pipeline = make_pipeline(prepared, FLGames(rounds=int(rounds)))
    pipeline.fit(known[inputs], known.ill, flgames__groups=known.site)
    print(f"by a pipeline, in the west: {pipeline.score(unseen[inputs], unseen.ill):.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])

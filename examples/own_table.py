"""Your own table: arrays, and the site that every row is from.

python examples/own_table.py
"""

from __future__ import annotations

import sys

import numpy as np

from flgames import FLGames


def trial(patients: int, flip: float, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Age and dose tell who recovers, with a quarter of mistakes; which ward it was tells more, but not everywhere."""
    age, dose = generator.normal(size=(2, patients))
    recovers = (dose - age > 0) ^ (generator.random(patients) < 0.25)
    ward = recovers ^ (generator.random(patients) < flip)
    return np.stack([age, dose, ward + 0.1 * generator.normal(size=patients)], axis=1), recovers.astype(int)


def main(rounds: str = "500") -> None:
    generator = np.random.default_rng(0)
    north, south, unseen = (trial(2000, flip, generator) for flip in (0.2, 0.1, 0.9))
    inputs = np.concatenate([north[0], south[0]])
    recovers = np.concatenate([north[1], south[1]])
    site = ["north"] * 2000 + ["south"] * 2000
    model = FLGames(rounds=int(rounds), seed=0).fit(inputs, recovers, groups=site)
    for name, (rows, truth) in {"north": north, "south": south, "unseen": unseen}.items():
        print(f"{name}: {model.score(rows, truth):.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])

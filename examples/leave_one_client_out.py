"""Leave one client out: how the model does at each site when it has been trained at the others.

The same from the shell: flgames play --data trials --target recovers --holdout each

    python examples/leave_one_client_out.py
"""

from __future__ import annotations

import sys

import numpy as np
from own_table import trial

from flgames import FLGames


def main(rounds: str = "500") -> None:
    generator = np.random.default_rng(0)
    sites = {f"site-{number}": trial(1000, flip, generator) for number, flip in enumerate((0.3, 0.2, 0.1, 0.9))}
    for name, (inputs, truth) in sites.items():
        others = {other: data for other, data in sites.items() if other != name}
        model = FLGames(rounds=int(rounds), seed=0).fit(others)
        print(f"{name}: {model.score(inputs, truth):.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])

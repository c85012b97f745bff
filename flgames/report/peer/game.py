"""F-FL Games (Smooth) of flgames over one of its engines, by its own command; the engine is the fourth argument."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from flgames.report.peer.work import BATCH, MEMORY, RATE, SAMPLES, main, samples


def play(kind: str, clients: int, rounds: int) -> list[float]:
    """When the rounds ended, moves and counts, as the run's folder tells it."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        told = {
            "engine": sys.argv[4], "out": run, "rounds": rounds + 1, "predictor": kind.lower(),
            "variant": "f-fl-games-smooth", "memory": MEMORY, "batch-size": BATCH, "learning-rate": RATE,
            "settle": "never", "stop-below": "never", "against": "none", "threads": 1,
        } | (_table(Path(folder) / "data", clients) if kind == "linear" else _images(clients))  # fmt: skip
        options = [each for name, value in told.items() for each in (f"--{name}", str(value))]
        subprocess.run([sys.executable, "-m", "flgames.cli", "play", *options], check=True, stdout=sys.stderr)
        lines = next(run.rglob("measures.jsonl")).read_text().splitlines()
        return [float(json.loads(line)["seconds"]) for line in lines]


def _table(data: Path, clients: int) -> dict[str, object]:
    data.mkdir()
    for client in range(clients):
        inputs, targets = samples("linear", client)
        np.savez(data / f"client-{client}.npz", X=inputs.numpy(), y=targets.numpy())
    return {"data": data, "validation": 0}


def _images(clients: int) -> dict[str, object]:
    """The paper's, of the same size and number as those that others are given."""
    return {"benchmark": "colored-mnist", "clients": clients, "sizes": ",".join([str(SAMPLES)] * clients)}


if __name__ == "__main__":
    main(play)

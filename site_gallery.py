"""The reports of the documentation's gallery, made anew: `make gallery` writes them into build/gallery.

Two are made of the committed matches, and `make docs` makes these alone (``--stored``). The third plays a game on scans
that it draws, as docs/own-data.md does, which takes some minutes.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent
GALLERY = ROOT / "build" / "gallery"

FARS, MNIST, SCANS = "fars.html", "colored-mnist.html", "scans.html"

METHODS = "fedavg,parallel-f-fl-games-smooth,balanced,settled,no-shortcut-oracle"


def main(stored: bool) -> None:
    GALLERY.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        results = Path(folder) / "results"
        shutil.copytree(ROOT / "results" / "runs", results / "runs")
        _flgames("reproduce", "real-fars", "--no-play", "--out", results)
        _keep(results / "real-fars.html", FARS)
        _flgames("compare", "colored-mnist", "--methods", METHODS, "--out", results)
        (page,) = results.glob("compare-colored-mnist-*.html")
        _keep(page, MNIST)
        if stored:
            return
        scans = Path(folder) / "scans"
        subprocess.run([sys.executable, ROOT / "examples" / "make_scans.py", scans], check=True)
        _flgames("play", "--data", scans, "--holdout", "hospital-c", "--out", Path(folder) / "run")
        _keep(Path(folder) / "run" / "report.html", SCANS)


def _flgames(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "flgames.cli", *map(str, words)], check=True, cwd=ROOT)


def _keep(page: Path, name: str) -> None:
    shutil.move(page, GALLERY / name)
    print(GALLERY / name)


if __name__ == "__main__":
    main("--stored" in sys.argv)

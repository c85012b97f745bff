"""Draw three hospitals' scans, for people who want to try flgames before they bring data of their own.

A scan shows one cell: round if it is healthy, long if it is ill. A quarter of the diagnoses are wrong, as they are in
life. And every scanner has a filter, reddish or bluish, which tells the diagnosis better than the cell does: it is
wrong for 20 % of the scans of hospital-a and 10 % of hospital-b. In hospital-c it is wrong for 90 %: whoever learnt
the filter is lost there.

    python examples/make_scans.py scans
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from PIL import Image

SIDE = 32
DIAGNOSES = ("healthy", "ill")
HOSPITALS = ("hospital-a", "hospital-b", "hospital-c")
FILTERS = np.array([[1.0, 0.55, 0.55], [0.55, 0.55, 1.0]])
"""What a reddish and a bluish filter leave of red, green and blue."""


def cell(long: bool, generator: np.random.Generator) -> np.ndarray:
    """A grey picture of one cell, anywhere and turned anyhow, with noise."""
    x, y = np.meshgrid(np.arange(SIDE), np.arange(SIDE))
    centre, angle = generator.uniform(0.35 * SIDE, 0.65 * SIDE, 2), generator.uniform(0, np.pi)
    across = (x - centre[0]) * np.cos(angle) + (y - centre[1]) * np.sin(angle)
    along = (y - centre[1]) * np.cos(angle) - (x - centre[0]) * np.sin(angle)
    area, stretch = generator.uniform(28, 45), generator.uniform(1.9, 2.6) if long else generator.uniform(1.0, 1.25)
    distance = across**2 * stretch + along**2 / stretch
    grey = 0.35 + 0.5 / (1 + np.exp((distance - area) / 6))
    noisy: np.ndarray = np.clip(grey + generator.normal(0, 0.06, grey.shape), 0, 1)
    return noisy


def hospital(folder: Path, scans: int, flip: float, label_noise: float, generator: np.random.Generator) -> None:
    """Write one hospital's scans as FOLDER/DIAGNOSIS/NUMBER.png."""
    for number in range(scans):
        ill = int(generator.random() < 0.5)
        diagnosis = ill ^ int(generator.random() < label_noise)
        filter_ = diagnosis ^ int(generator.random() < flip)
        pixels = cell(bool(ill), generator)[..., None] * FILTERS[filter_]
        path = folder / DIAGNOSES[diagnosis] / f"{number:05}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray((255 * pixels).astype(np.uint8)).save(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the hospitals' folders are made")
    parser.add_argument("--scans", type=int, default=4000, help="of each hospital")
    parser.add_argument("--flips", type=float, nargs=3, default=(0.2, 0.1, 0.9), help="how often filters are wrong")
    parser.add_argument("--label-noise", type=float, default=0.25, help="how often diagnoses are wrong")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for number, (name, flip) in enumerate(zip(HOSPITALS, given.flips, strict=True)):
        generator = np.random.default_rng([given.seed, number])
        hospital(given.folder / name, given.scans, flip, given.label_noise, generator)


if __name__ == "__main__":
    main()

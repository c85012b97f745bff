"""Your own images: a dataset a hospital, read from disk as batches need them.

python examples/make_scans.py scans && python examples/own_images.py scans
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset

from flgames import FLGames


class Scans(Dataset[tuple[torch.Tensor, str]]):
    """One hospital's scans, as FOLDER/DIAGNOSIS/NUMBER.png."""

    def __init__(self, folder: Path) -> None:
        self.paths = sorted(folder.glob("*/*.png"))

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, number: int) -> tuple[torch.Tensor, str]:
        path = self.paths[number]
        return torch.from_numpy(np.array(Image.open(path))).permute(2, 0, 1), path.parent.name


def main(folder: str, rounds: str = "400", settle_after: str = "100") -> None:
    seen = {name: Scans(Path(folder, name)) for name in ("hospital-a", "hospital-b")}
    model = FLGames(rounds=int(rounds), settle_after=int(settle_after), seed=0).fit(seen, progress=True)
    print("chose round", model.result_.chosen_round + 1, "of", model.result_.rounds)
    if found := model.result_.finding:
        print("settled" if found.settled else "not settled", "- what players disagree about is right for", found.told)

    unseen = Scans(Path(folder, "hospital-c"))
    scans, diagnoses = zip(*(unseen[number] for number in range(len(unseen))), strict=True)
    print(f"accuracy in hospital-c: {model.score(torch.stack(scans), diagnoses):.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])

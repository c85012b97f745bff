"""What reading image files costs, beside decoding each of them once, which can't be avoided the first time."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from rich.console import Console
from rich.table import Table

from flgames.data.own.bitmaps import Shape
from flgames.data.own.kept import Kept
from flgames.data.own.pictures import pictures_in
from flgames.data.own.reader import Reader
from flgames.waiting.told import followed, telling

SIDES = {32: 1, 256: 20}
"""Sides of images, and which part of the files is drawn of each: the larger ones take longer."""


def run_images(console: Console, files: int) -> None:
    """Draw files, read them, and print a table."""
    table = Table(title=f"Reading image files, {torch.get_num_threads()} threads", title_justify="left")
    for name in ("PNG files", "what", "seconds", "processor", "ratio"):
        table.add_column(name, justify="left" if name == "what" else "right")
    for side, part in SIDES.items():
        with tempfile.TemporaryDirectory(prefix="flgames-") as scratch:
            folder = Path(scratch, "images")
            number = max(1, files // part)
            _draw(folder, number, side)
            decoding = 0.0
            for what, seconds, processor in _measured(folder, side, Path(scratch, "cache")):
                decoding = decoding or processor
                times = f"{processor / decoding:.2f}"
                table.add_row(f"{number:,} of {side} x {side}", what, f"{seconds:.2f}", f"{processor:.2f}", times)
    console.print(table)


def _measured(folder: Path, side: int, cache: Path) -> list[tuple[str, float, float]]:
    """What is done, how long it takes, and how much of processors."""
    files = pictures_in("here", folder).files
    smaller = min(side, 64)
    shape: Shape = (3, smaller, smaller)
    run, again = Reader("here", files, kept=Kept(folder, cache)), Reader("here", files, kept=Kept(folder, cache))
    alone = Reader("here", files)

    def plainly() -> None:
        for path in files:
            with Image.open(path) as image:
                np.asarray(image)

    def read(reader: Reader) -> None:
        reader.survey()
        reader.fitted(shape)

    with telling(lambda *_: None):  # a bar takes time too
        return [
            ("each decoded once", *_timed(plainly)),
            ("survey and first game", *_timed(lambda: read(alone))),
            ("next game", *_timed(lambda: alone.fitted(shape))),
            ("the same, and kept", *_timed(lambda: read(run))),
            ("next run, of what was kept", *_timed(lambda: read(again))),
        ]


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    began, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began, time.process_time() - processor


def _draw(folder: Path, number: int, side: int) -> None:
    """Soft blots with noise: about as many bytes as a scan of that size."""
    (folder / "class").mkdir(parents=True)
    draw = np.random.default_rng(0)
    for each in followed(range(number), lambda each: f"drawing images of {side} x {side}"):
        blots = Image.fromarray(draw.integers(0, 256, (side // 8, side // 8, 3), dtype=np.uint8))
        smooth = np.asarray(blots.resize((side, side), Image.Resampling.BICUBIC)).astype(np.int16)
        noisy = smooth + draw.integers(-6, 7, (side, side, 1), dtype=np.int16)
        Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(folder / "class" / f"{each:06}.png")

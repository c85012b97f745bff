"""Who hears of a game as it is played: callbacks, with one contract for the command line and for Python.

A callback hears of every round by the line that a run folder keeps of it, and of the end by the result. It can't
answer.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from flgames.errors import UserError

Line = Mapping[str, Any]


class Callback(Protocol):
    """What follows a game.

    Examples
    --------
    >>> class Printer:
    ...     def on_round(self, line):
    ...         print(line["round"], line["accuracy"])
    ...     def on_end(self, result):
    ...         print("chose round", result["chosen_round"])
    """

    def on_round(self, line: Line) -> None:
        """A round has been played: ``round``, ``accuracy``, ``accuracy_of``, ``loss_of``, ``bytes``, ``seconds``."""

    def on_end(self, result: Line) -> None:
        """The game has ended: ``end``, ``rounds``, ``chosen_round``, ``train``, ``train_of``."""


def check_tensorboard() -> None:
    """Refuse to begin what could not be tracked."""
    if importlib.util.find_spec("tensorboard") is None:
        raise UserError("TensorBoard needs one more package: pip install -c constraints.txt '.[track]'.")


class TensorBoard:
    """Writes every measure of every round for TensorBoard.

    Parameters
    ----------
    folder
        Where the event file goes: ``tensorboard --logdir FOLDER`` shows it.
    settings
        Shown as text.

    Examples
    --------
    >>> from flgames import FLGames, TensorBoard
    >>> model = FLGames(callbacks=[TensorBoard("tracked")])  # doctest: +SKIP
    """

    def __init__(self, folder: str | Path, settings: Mapping[str, Any] | None = None) -> None:
        check_tensorboard()
        from torch.utils.tensorboard import SummaryWriter  # an extra

        self._writer = SummaryWriter(str(folder))
        if settings:
            rows = "\n".join(f"| {name} | {value} |" for name, value in settings.items())
            self._writer.add_text("settings", f"| | |\n|---|---|\n{rows}")

    def on_round(self, line: Line) -> None:
        step = int(line["round"])
        for name in ("accuracy", "spread", "seconds"):
            self._writer.add_scalar(f"train/{name}", line[name], step)
        for what in ("accuracy_of", "loss_of", "loss_of_move"):
            for client, value in line[what].items():
                self._writer.add_scalar(f"{what.replace('_', ' ')}/{client}", value, step)
        for direction in ("down", "up"):
            total = sum(client[direction] for client in line["bytes"].values())
            self._writer.add_scalar(f"bytes/{direction}", total, step)

    def on_end(self, result: Line) -> None:
        step = int(result["chosen_round"])
        self._writer.add_scalar("chosen/train", result["train"], step)
        seen = result.get("profile") or result.get("held_out")
        if seen:
            self._writer.add_scalar("chosen/unseen", seen["unseen"], step)
        self._writer.flush()

    def __deepcopy__(self, memo: object) -> TensorBoard:
        return self  # an open file has no copies; sklearn's clone asks for one

    def picture(self, name: str, path: Path) -> None:
        """A figure of the run."""
        import numpy as np
        from PIL import Image

        with Image.open(path) as image:
            self._writer.add_image(name, np.asarray(image.convert("RGB")), dataformats="HWC")
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()

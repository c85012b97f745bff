"""Every measure of every round, for TensorBoard."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from flgames.core.callbacks import Callback
from flgames.core.records import GameResult, RoundRecord
from flgames.errors import UserError


def check_tensorboard() -> None:
    """Refuse to begin what could not be tracked."""
    if importlib.util.find_spec("tensorboard") is None:
        raise UserError("TensorBoard needs one more package: pip install -c constraints.txt '.[track]'.")


class TensorBoard(Callback):
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

    def __init__(self, folder: str | Path, settings: Mapping[str, object] | None = None) -> None:
        check_tensorboard()
        from torch.utils.tensorboard import SummaryWriter  # an extra

        self._writer = SummaryWriter(str(folder))
        if settings:
            rows = "\n".join(f"| {name} | {value} |" for name, value in settings.items())
            self._writer.add_text("settings", f"| | |\n|---|---|\n{rows}")

    def on_round(self, record: RoundRecord) -> None:
        totals = {"accuracy": record.accuracy, "spread": record.spread, "seconds": record.seconds}
        by_client = {
            "accuracy of": record.accuracy_of,
            "loss of": record.loss_of,
            "loss of move": record.loss_of_move,
        }
        for name, value in totals.items():
            self._writer.add_scalar(f"train/{name}", value, record.round)
        for name, values in by_client.items():
            for client, value in values.items():
                self._writer.add_scalar(f"{name}/{client}", value, record.round)
        self._writer.add_scalar("bytes/down", sum(each.down for each in record.bytes.values()), record.round)
        self._writer.add_scalar("bytes/up", sum(each.up for each in record.bytes.values()), record.round)

    def on_end(self, result: GameResult) -> None:
        self._writer.add_scalar("chosen/train", result.train, result.chosen_round)
        self._writer.flush()

    def unseen(self, accuracy: float, round_: int) -> None:
        """How the chosen model does on the client that nobody trained on."""
        self._writer.add_scalar("chosen/unseen", accuracy, round_)

    def __deepcopy__(self, _: object) -> TensorBoard:
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

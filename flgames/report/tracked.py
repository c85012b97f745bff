"""A run that others follow: every game of it in TensorBoard."""

from __future__ import annotations

from flgames.core.callbacks import Callback, GameInfo
from flgames.core.records import GameResult, RoundRecord
from flgames.core.tensorboard import TensorBoard
from flgames.runs.folder import RunFolder
from flgames.runs.result import Result
from flgames.runs.runner import info_of

FOLDER = "tensorboard"


class Tracked(Callback):
    """Writes every game into RUN/tensorboard, a folder each, and the figures of the run into one of their own.

    Of a run that goes on, what was played before is written again: it may not have been tracked. Use as a context
    manager.
    """

    def __init__(self, run: RunFolder) -> None:
        self.run = run
        self._boards = {"run": self._board("run")}
        self._game = self._boards["run"]
        for match, folder in run.games() if run.is_planned else []:
            if records := folder.measures():
                self.on_start(info_of(match, folder))
                for record in records:
                    self.on_round(record)
            if folder.has_ended:
                self.on_end(folder.result())

    def __enter__(self) -> Tracked:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._boards.values():
            each.close()

    def on_start(self, game: GameInfo) -> None:
        assert game.folder is not None
        name = str(game.folder.relative_to(self.run.path))
        if name not in self._boards:
            self._boards[name] = self._board(name)
        self._game = self._boards[name]

    def on_round(self, record: RoundRecord) -> None:
        self._game.on_round(record)

    def on_end(self, result: GameResult) -> None:
        self._game.on_end(result)
        if isinstance(result, Result) and result.unseen is not None:
            self._game.unseen(result.unseen, result.chosen_round)

    def add_pictures(self) -> None:
        """Of a run whose games have ended."""
        for path in sorted(self.run.path.glob("*.png")):
            self._boards["run"].picture(path.stem, path)

    def _board(self, name: str) -> TensorBoard:
        return TensorBoard(self.run.path / FOLDER / name, self.run.settings.flat())

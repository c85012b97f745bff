"""Runs that others follow: whoever is told of every game, round by round, and of the page in the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Self

from flgames.core.callbacks import Callback, GameInfo
from flgames.core.records import GameResult, RoundRecord
from flgames.core.tensorboard import TensorBoard, check_tensorboard
from flgames.runs.folder import RunFolder
from flgames.runs.result import Result
from flgames.runs.runner import info_of

FOLDER = "tensorboard"


class Tracker(Callback, ABC):
    """Follows a whole run. It is made before the first round, and closed whatever happens: use as a context manager.

    Of a run that goes on, it is told again of what was played before: it may not have been there.
    """

    def __init__(self, run: RunFolder) -> None:
        self.run = run
        self.remarks: list[str] = []
        """What a person should know in the end."""

    @staticmethod
    def check() -> None:
        """Refuse to begin what could not be tracked."""

    @property
    @abstractmethod
    def where(self) -> str:
        """Where it writes, or the command that shows it."""

    def close(self, ended: bool) -> None:
        """Nothing more will be told."""

    def __enter__(self) -> Self:
        for match, folder in self.run.games() if self.run.is_planned else []:
            if records := folder.measures():
                self.on_start(info_of(match, folder))
                for record in records:
                    self.on_round(record)
            if folder.has_ended:
                self.on_end(folder.result())
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close(ended=kind is None)


class TensorBoardRun(Tracker):
    """Writes every game into RUN/tensorboard, a folder each, and the figures of the run into one of their own."""

    def __init__(self, run: RunFolder) -> None:
        super().__init__(run)
        self._boards = {"run": self._board("run")}
        self._game = self._boards["run"]

    @staticmethod
    def check() -> None:
        check_tensorboard()

    @property
    def where(self) -> str:
        return f"tensorboard --logdir {self.run.path / FOLDER}"

    def close(self, ended: bool) -> None:
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

    def on_report(self, folder: Path) -> None:
        for path in sorted(folder.glob("*.png")):
            self._boards["run"].picture(path.stem, path)

    def _board(self, name: str) -> TensorBoard:
        return TensorBoard(self.run.path / FOLDER / name, self.run.settings.flat())

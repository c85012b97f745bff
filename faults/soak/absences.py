"""The game that a federation's record tells of, played again in one process: who was away then is away now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from flgames.core.local import LocalFederation
from flgames.core.loop import Play
from flgames.core.messages import Answers, Ask
from flgames.core.records import RoundRecord
from flgames.models.architecture import Weights
from flgames.runs.folder import RunFolder
from flgames.runs.runner import set_up


class WithAbsences(LocalFederation):
    """Clients in this process, of whom in every round only those answer who are in its record."""

    def __init__(self, there: LocalFederation, records: Sequence[RoundRecord]) -> None:
        super().__init__(there._clients)
        self.records = records
        self.round = 0

    def ask(self, asks: Mapping[str, Ask], timeout: float | None = None) -> Answers:
        record = self.records[min(self.round, len(self.records) - 1)]
        (task,) = {ask.task for ask in asks.values()}
        answered = set(asks) if task == "introduce" else set(record.accuracy_of if task == "count" else record.moved)
        for name in answered & set(asks):
            if asks[name].after is None:
                self._clients[name].forget()
        answers = super().ask({name: ask for name, ask in asks.items() if name in answered})
        return Answers(answers.answered, dict.fromkeys(set(asks) - answered, "away"))


def weights_of_the_same_game(run: Path) -> Weights:
    """What the local engine ends with, if players are away in the rounds in which this run's record says so."""
    (found,) = RunFolder.open(run).games()
    match, folder = found
    records = folder.measures()
    torch.set_num_threads(1)
    data = match.data()
    play = set_up(match.entry, data.training_clients(), data.classes, match.seed, torch.device("cpu"))
    federation = play.federation
    assert isinstance(federation, LocalFederation)
    away = WithAbsences(federation, records)
    again = Play(
        play.method, away, seed=match.seed, rounds=match.entry.rounds, measure_samples=match.entry.measure_samples
    )  # fmt: skip

    def next_round() -> None:
        away.round = again.next_round

    again.start()
    again.run(after_round=next_round)
    return again.chosen().tensors()

"""The loop that plays any method over any federation, round by round, and ends by a rule, a limit or a signal."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from flgames.errors import Diverged
from flgames.federation import Federation, Weights
from flgames.measures import Counts, TrainingMeasure
from flgames.methods.base import Method, Move
from flgames.models import Ensemble
from flgames.server import Server
from flgames.stopping import Rule

GROWTH = 4
"""By what factor the number of counted samples grows while a measure can't decide."""

End = Literal["rule", "rounds", "interrupted"]


@dataclass(frozen=True)
class Round:
    """All that is known of one round: the line that a run folder keeps.

    Examples
    --------
    >>> from flgames import Observers, Round
    >>> def heard(round_: Round) -> None:
    ...     print(round_.round, round_.measure.accuracy, dict(round_.failures))
    >>> observers = Observers(on_round=heard)
    """

    round: int
    move: Move
    measure: TrainingMeasure
    decided_by: TrainingMeasure
    traffic: Mapping[str, Mapping[str, int]]
    failures: Mapping[str, str]
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        clients = self.measure.clients
        return {
            "round": self.round,
            "kind": self.move.kind,
            "moved": list(self.move.losses),
            "loss_of_move": dict(self.move.losses),
            "accuracy": self.measure.accuracy,
            "spread": self.measure.spread,
            "accuracy_of": {name: counts.accuracy for name, counts in clients.items()},
            "loss_of": {name: counts.loss_sum / counts.samples for name, counts in clients.items()},
            "samples": self.measure.samples,
            "decided_by": {"accuracy": self.decided_by.accuracy, "samples": self.decided_by.samples},
            "bytes": {name: dict(traffic) for name, traffic in self.traffic.items()},
            "failures": dict(self.failures),
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class Kept:
    """The model that a rule would return, and what was counted of it."""

    round: int
    tensors: Weights
    measure: TrainingMeasure

    def state_dict(self) -> dict[str, Any]:
        counts = {name: (each.confusion, each.loss_sum) for name, each in self.measure.clients.items()}
        return {"round": self.round, "tensors": self.tensors, "counts": counts, "sizes": dict(self.measure.sizes)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Kept:
        counts = {name: Counts(confusion, loss) for name, (confusion, loss) in state["counts"].items()}
        return cls(state["round"], state["tensors"], TrainingMeasure(counts, state["sizes"]))


@dataclass(frozen=True)
class Observers:
    """Who hears of a game. None of them can answer, so nothing they see can reach training or stopping.

    Examples
    --------
    >>> from flgames import Observers
    >>> observers = Observers(probe=lambda round_, model: print(round_), probe_every=10)
    """

    on_round: Callable[[Round], None] = lambda _: None
    probe: Callable[[int, Ensemble], None] = lambda _, __: None
    probe_every: int = 0
    """Show the ensemble to ``probe`` after every so many rounds; 0: never."""


class Play:
    """A game under way. Its whole state is one value, :meth:`state_dict`.

    Parameters
    ----------
    method, federation
        What is played, and by whom.
    rounds
        How many rounds at most.
    rule
        Ends the game by training measures; None plays all rounds.
    measure_samples
        How many training samples, over all clients, a measure looks at first; 0: all of them.
    timeout, min_clients
        How long clients have for an answer, and how many must be there for the game to go on.

    Examples
    --------
    >>> import torch
    >>> from flgames import ArraySamples, Game, LocalFederation, Play, Rules, paper_architecture
    >>> game = Game(paper_architecture((4,), 2, variable=False), Rules())
    >>> clients = {name: ArraySamples(torch.randn(9, 4), torch.arange(9) % 2) for name in ("north", "south")}
    >>> play = Play(game, LocalFederation.of(game, clients, seed=0), seed=0, rounds=3)
    >>> play.start()
    >>> play.run(), play.next_round
    ('rounds', 3)
    """

    def __init__(
        self,
        method: Method,
        federation: Federation,
        *,
        seed: int,
        rounds: int,
        rule: Rule | None = None,
        measure_samples: int = 2048,
        timeout: float | None = None,
        min_clients: int = 1,
    ) -> None:
        self.method = method
        self.federation = federation
        self.server = Server(federation, method.memory, timeout, min_clients)
        self.seed = seed
        self.rounds = rounds
        self.rule = rule
        self.measure_samples = measure_samples
        self.next_round = 0
        self.standing: Any = None
        """What the rule said last."""
        self.kept: Kept | None = None
        self.seconds = 0.0
        self.end: End | None = None
        self._measured: TrainingMeasure | None = None

    def start(self) -> None:
        """Introductions and initial actions; not for a game that is resumed."""
        self.server.introduce()
        self.method.start(self.server, self.seed)

    def run(
        self,
        observers: Observers | None = None,
        checkpoint: Callable[[], None] = lambda: None,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> End:
        """Play to the end. ``checkpoint`` is called after every round; a signal takes effect between rounds."""
        observers = observers or Observers()
        while self.end is None:
            if self.next_round >= self.rounds:
                self.end = "rounds"
            elif interrupted():
                return "interrupted"
            else:
                self._round(observers)
                checkpoint()
        return self.end

    def ensemble(self) -> Ensemble:
        """What the players play now, as one module."""
        return self.method.ensemble(self.server)

    def chosen(self) -> Ensemble:
        """The model that the game returns: the one that its rule has chosen, or else what is played now."""
        return Ensemble.from_tensors(self.method.learnt, self.kept.tensors) if self.kept else self.ensemble()

    def _round(self, observers: Observers) -> None:
        began = time.perf_counter()
        round_ = self.next_round
        move = self.method.round(self.server, round_, self.seed)
        _check_finite(move.losses, round_)
        measure = self.server.measure(self.measure_samples or self.population)
        _check_finite({name: counts.loss_sum for name, counts in measure.clients.items()}, round_)
        decided_by = self._measured = self._decide(round_, measure)
        self.next_round += 1
        self.seconds += time.perf_counter() - began
        observers.on_round(
            Round(
                round_,
                move,
                measure,
                decided_by,
                self.server.take_traffic(),
                self.server.take_failures(),
                self.seconds,
            )
        )
        if observers.probe_every and self.next_round % observers.probe_every == 0:
            observers.probe(round_, self.ensemble())

    def _decide(self, round_: int, measure: TrainingMeasure) -> TrainingMeasure:
        """Apply the rule, counting more samples where that many can't tell; the measure that decided."""
        if self.rule is None:
            return measure
        asked = self.measure_samples
        while self.rule.is_unsure(round_, measure, self.standing):
            asked *= GROWTH
            measure = self.server.measure(asked)
        verdict = self.rule.judge(round_, measure, self.standing)
        if verdict.keep and set(measure.clients) != set(self.server.samples):
            return measure  # where somebody is missing, clients are alike too easily
        self.standing = verdict.standing
        if verdict.keep:
            self.kept = Kept(round_, self.ensemble().tensors(), measure)
        if verdict.stop:
            self.end = "rule"
        return measure

    def exact_measure(self) -> TrainingMeasure:
        """Of the model that is returned, on all samples."""
        if self.kept:
            return self.kept.measure
        if self._measured is None or not self._measured.exact:
            self._measured = self.server.measure(self.population)
        return self._measured

    @property
    def population(self) -> int:
        """How many samples to ask for so that every client counts all of its own."""
        return max(self.server.samples.values()) * len(self.server.clients)

    def state_dict(self, keep: Collection[int] = ()) -> dict[str, Any]:
        """The whole state, as a value of its own: playing on does not change it.

        Clients with disks of their own keep theirs there, and still have those of the rounds in ``keep``.
        """
        saved = self.federation.save(self.next_round, keep)
        self.server.lose(saved.failed)
        return copy.deepcopy(
            {
                "next_round": self.next_round,
                "standing": self.standing,
                "kept": self.kept.state_dict() if self.kept else None,
                "seconds": self.seconds,
                "end": self.end,
                "server": self.server.state_dict(),
                "method": self.method.state_dict(),
                "clients": saved.states,
                "whole": not self.server.absent,
            }
        )

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state; it may be loaded more than once."""
        state = copy.deepcopy(state)
        self.next_round = state["next_round"]
        self.standing = state["standing"]
        self.kept = Kept.from_state(state["kept"]) if state["kept"] else None
        self.seconds = state["seconds"]
        self.end = state["end"]
        self.server.load_state_dict(state["server"])
        self.method.load_state_dict(state["method"], self.server)
        self.server.lose(self.federation.restore(self.next_round, state["clients"]))


def _check_finite(losses: Mapping[str, float], round_: int) -> None:
    for client, loss in losses.items():
        if not math.isfinite(loss):
            raise Diverged(f"The loss of {client} became {loss} in round {round_}: try a smaller learning rate.")

"""The loop that plays any method over any federation, round by round, and ends by a rule, a limit or a signal."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from flgames.core.callbacks import Callback
from flgames.core.counts import Counts, TrainingMeasure
from flgames.core.federation import Federation
from flgames.core.figures import Figures
from flgames.core.method import Method, Move
from flgames.core.records import Balanced, Decision, End, GameResult, RoundRecord, Traffic
from flgames.core.server import Server, Spoiled
from flgames.core.state import State, taken
from flgames.core.stopping.rule import Standing, StoppingRule
from flgames.errors import Diverged
from flgames.models.architecture import Weights
from flgames.models.ensemble import Ensemble

GROWTH = 4
"""By what factor the number of counted samples grows while a measure can't decide."""


@dataclass(frozen=True)
class Kept:
    """The model that a rule would return, and what was counted of it."""

    round: int
    tensors: Weights
    measure: TrainingMeasure

    def state_dict(self) -> State:
        counts = {name: (each.confusion, each.loss_sum) for name, each in self.measure.clients.items()}
        measured = {"counts": counts, "sizes": dict(self.measure.sizes), "shares": self.measure.shares}
        return {"round": self.round, "tensors": self.tensors} | measured

    @classmethod
    def from_state(cls, state: State) -> Kept:
        saved = taken(state, "counts", dict)
        counts = {name: Counts(confusion, loss) for name, (confusion, loss) in saved.items()}
        shares = taken(state, "shares", dict) if state.get("shares") else None
        measure = TrainingMeasure(counts, taken(state, "sizes", dict), shares=shares)
        return cls(taken(state, "round", int), taken(state, "tensors", dict), measure)


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
    warm_start, least_warm_start
        Rounds in which the rule can't stop; None: the rule's own, or else what the method says, and at least
        ``least_warm_start``.
    measure_samples
        How many training samples, over all clients, a measure looks at first; 0: all of them.
    timeout, min_clients
        How long clients have for an answer, and how many must be there for the game to go on.
    share_cap
        The largest share that a client can have, however many samples it says that it has.

    Examples
    --------
    >>> import torch
    >>> from flgames.core.local import LocalFederation
    >>> from flgames.core.loop import Play
    >>> from flgames.data.samples import ArraySamples
    >>> from flgames.methods.fl_games.config import FLGamesConfig
    >>> from flgames.methods.fl_games.server import Game
    >>> from flgames.models.mlp import paper_architecture
    >>> game = Game(paper_architecture((4,), 2, variable=False), FLGamesConfig())
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
        rule: StoppingRule | None = None,
        warm_start: int | None = None,
        least_warm_start: int = 0,
        measure_samples: int = 2048,
        timeout: float | None = None,
        min_clients: int = 1,
        share_cap: float = 1.0,
    ) -> None:
        self.method = method
        self.federation = federation
        self.server = Server(federation, method.memory, timeout, min_clients, method.heard_by, share_cap)
        self.seed = seed
        self.rounds = rounds
        self.rule = rule
        self.warm_start = warm_start
        self.least_warm_start = least_warm_start
        self.measure_samples = measure_samples
        self.next_round = 0
        self.standing: Standing = None
        """What the rule said last."""
        self.kept: Kept | None = None
        self.seconds = 0.0
        self.end: End | None = None
        self.balanced: Balanced | None = None
        self._measured: TrainingMeasure | None = None
        self._before: State | None = None
        """What was published when the round before began."""
        self._concluding: dict[str, Traffic] = {}

    def start(self) -> None:
        """Introductions and initial actions; not for a game that is resumed."""
        self.server.introduce()
        self.method.start(self.server, self.seed)
        self._begin_rule()

    def _begin_rule(self) -> None:
        """The rule learns its warm start, which depends on how many samples clients have."""
        if self.rule is not None:
            usual = max(self.method.warm_start(self.server.samples), self.least_warm_start)
            given = self.rule.warm_start or usual if self.warm_start is None else self.warm_start
            self.rule = self.rule.after(given)

    def run(
        self,
        callbacks: Sequence[Callback] = (),
        after_round: Callable[[], None] = lambda: None,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> End:
        """Play to the end. ``after_round`` is for saving and for looking; a signal takes effect between rounds."""
        while self.end is None:
            if self.next_round >= self.rounds:
                self.end = "rounds"
            elif interrupted():
                return "interrupted"
            else:
                record = self._round()
                for each in callbacks:
                    each.on_round(record)
                after_round()
        self.server.norms.forget()  # what is asked from now on follows from no answer of a round
        self.balanced = self.method.conclude(self.server)
        if self.balanced:
            self._measured = None  # what was counted was another model
            self._concluding = self.server.take_traffic()
        return self.end

    def ensemble(self) -> Ensemble:
        """What the players play now, as one module."""
        return self.method.ensemble(self.server)

    def chosen(self) -> Ensemble:
        """The model that the game returns: the one that its rule has chosen, or else what is played now."""
        return Ensemble.from_tensors(self.method.learnt, self.kept.tensors) if self.kept else self.ensemble()

    def _round(self) -> RoundRecord:
        began = time.perf_counter()
        round_ = self.next_round
        try:
            move, measure, decided_by = self._moved(round_)
        except Diverged as error:
            raise Diverged(f"In round {round_ + 1}: {error}. Try a smaller learning rate.") from None
        self.next_round += 1
        self.seconds += time.perf_counter() - began
        return self._record(round_, move, measure, decided_by)

    def _moved(self, round_: int) -> tuple[Move, TrainingMeasure, TrainingMeasure]:
        """One round, what is counted after it, and what decided.

        Where one client's answer turned the others NaN, what came of it is taken back, and the round is played without
        that client. The others notice it when they count, or else when they move in the next round.
        """
        before = self._before
        while True:
            now = self._before = self._published()
            try:
                move = self.method.round(self.server, round_, self.seed)
            except Spoiled:
                self._take_back(before or now)
                continue
            try:
                measure = self.server.measure(self.measure_samples or self.population)
                self._measured = self._decide(round_, measure)
                return move, measure, self._measured
            except Spoiled:
                self._take_back(now)

    def _published(self) -> State:
        """All that came of the clients' answers so far."""
        return {"known": self.server.known.state_dict(), "method": copy.deepcopy(self.method.state_dict())}

    def _take_back(self, published: State) -> None:
        self.server.known.load_state_dict(taken(published, "known", dict))
        self.method.load_state_dict(copy.deepcopy(taken(published, "method", dict)), self.server)
        self.server.tell_again()

    def _record(self, round_: int, move: Move, measure: TrainingMeasure, decided_by: TrainingMeasure) -> RoundRecord:
        clients = measure.clients
        return RoundRecord(
            round=round_,
            kind=move.kind,
            moved=tuple(move.losses),
            loss_of_move=dict(move.losses),
            accuracy=measure.accuracy,
            spread=measure.spread,
            accuracy_of={name: counts.accuracy for name, counts in clients.items()},
            loss_of={name: counts.loss_sum / counts.samples for name, counts in clients.items()},
            samples=measure.samples,
            decided_by=Decision(accuracy=decided_by.accuracy, samples=decided_by.samples),
            bytes=self.server.take_traffic(),
            failures=self.server.take_failures(),
            seconds=self.seconds,
        )

    def _decide(self, round_: int, measure: TrainingMeasure) -> TrainingMeasure:
        """Apply the rule, counting more samples where that many can't tell; the measure that decided."""
        if self.rule is None:
            return measure
        asked = self.measure_samples
        while self.rule.is_unsure(round_, measure, self.standing):
            asked *= GROWTH
            measure = self.server.measure(asked)
        here, standing = self._comparable(measure)
        verdict = self.rule.judge(round_, here, standing)
        if verdict.keep and not self.rule.can_choose(len(measure.clients), len(self.server.judged)):
            return measure  # where somebody is missing, clients are alike too easily
        self.standing = verdict.standing
        if verdict.keep:
            self.kept = Kept(round_, self.ensemble().tensors(), measure)
        if verdict.stop:
            self.end = "rule"
        return measure

    def _comparable(self, measure: TrainingMeasure) -> tuple[TrainingMeasure, Standing]:
        """Two rounds are compared by the same clients: those who counted in this one and in the one that was kept."""
        if self.rule is None or self.kept is None or set(self.kept.measure.clients) == set(measure.clients):
            return measure, self.standing
        common = [name for name in measure.clients if name in self.kept.measure.clients]
        then = self.rule.restated(self.standing, self.kept.measure.among(common))
        return (measure.among(common), then) if common else (measure, self.standing)

    def result(self, records: Sequence[RoundRecord]) -> GameResult:
        """How the game has ended; ``records`` are those of all its rounds."""
        assert self.end is not None
        train = self.exact_measure()
        temperature, held_back = self._conclude()
        traffic = [client for record in records for client in record.bytes.values()]
        traffic += self._concluding.values()
        return GameResult(
            end=self.end,
            rule=str(self.rule) if self.rule else None,
            stopped_by=self.rule.reason if self.rule and self.end == "rule" else None,
            rounds=self.next_round,
            chosen_round=self.kept.round if self.kept else self.next_round - 1,
            train=train.accuracy,
            train_of={name: counts.accuracy for name, counts in train.clients.items()},
            confusion_of={name: counts.confusion.tolist() for name, counts in train.clients.items()},
            stop_below=self.rule.level if self.rule else None,
            bytes_down=sum(client.down for client in traffic),
            bytes_up=sum(client.up for client in traffic),
            seconds=self.seconds,
            temperature=temperature,
            held_back=held_back,
            finding=self.method.finding(),
            balanced=self.balanced,
        )

    def _conclude(self) -> tuple[float, dict[str, Figures]]:
        """Clients are told of the model that is returned, and judge it by the samples that they held back."""
        if not self.server.holds_back:
            return 1.0, {}
        if self.kept:
            self.method.return_to(self.server, self.kept.tensors)
        temperature = self.server.temperature()
        return temperature, self.server.figures(temperature)

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
        return max(self.server.judged.values()) * len(self.server.judged)

    def state_dict(self, keep: Collection[int] = ()) -> State:
        """The whole state, as a value of its own: playing on does not change it.

        Clients with disks of their own keep theirs there, and still have those of the rounds in ``keep``.
        """
        saved = self.federation.save(self.next_round, keep)
        self.server.mark_failed(saved.failed)
        return copy.deepcopy(
            {
                "next_round": self.next_round,
                "standing": self.standing,
                "kept": self.kept.state_dict() if self.kept else None,
                "seconds": self.seconds,
                "end": self.end,
                "server": self.server.state_dict(),
                "method": self.method.state_dict(),
                "clients": dict(saved.states),
                "whole": not self.server.absent,
            }
        )

    def load_state_dict(self, state: State) -> None:
        """Go on from a state; it may be loaded more than once."""
        state = copy.deepcopy(state)
        standing, end = state["standing"], state["end"]
        assert standing is None or isinstance(standing, bool | dict)
        assert end is None or end in ("rule", "rounds")
        self.next_round = taken(state, "next_round", int)
        self.standing = standing
        self.kept = Kept.from_state(taken(state, "kept", dict)) if state["kept"] else None
        self.seconds = taken(state, "seconds", float)
        self.end = "rule" if end == "rule" else "rounds" if end == "rounds" else None
        self.server.load_state_dict(taken(state, "server", dict))
        self.method.load_state_dict(taken(state, "method", dict), self.server)
        self.server.mark_failed(self.federation.restore(self.next_round, taken(state, "clients", dict)))
        self._begin_rule()

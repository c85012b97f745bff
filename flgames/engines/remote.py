"""A federation whose clients are somewhere else. The engine moves bytes; this says what is in them, and what of the
answers can be trusted."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from flgames.core.client import RESERVED
from flgames.core.messages import Answer, Answers, Ask, Saved
from flgames.core.server import BEGINNING
from flgames.core.state import State
from flgames.data.names import printable, unfit, unfit_client
from flgames.data.own.roles import Roles
from flgames.data.own.survey import Survey
from flgames.data.samples import POOLED
from flgames.engines.wire import SURVEY, AnswerHeader, Unreadable, allowed_bytes, pack, pack_ask, read_answer
from flgames.errors import ClientFailure
from flgames.models.architecture import Weights
from flgames.runs.match import Match

log = logging.getLogger(__name__)

STRIKES = 3
"""Refused answers in a row after which a client is asked no more."""

OVERSIZE = 4
"""How many times the expected bytes an answer may have before it is thrown away unread."""


class Unbounded(Unreadable):
    """An answer is NaN, or infinite."""


@dataclass(frozen=True)
class Replies:
    """What came back, and from whom nothing did and why."""

    arrived: Mapping[str, bytes]
    failed: Mapping[str, str] = field(default_factory=dict)


class Exchange(Protocol):
    """All that an engine has to do: carry payloads to clients and their replies back."""

    @property
    def clients(self) -> tuple[str, ...]:
        """The clients' names, in the order in which they play."""

    def __call__(self, payloads: Mapping[str, bytes], timeout: float | None) -> Replies:
        """Every client's own payload to it, and what it replies within so many seconds."""


class RemoteFederation:
    """The clients of one match, over any engine.

    An answer is refused if it is not what the question asked for; then it is as if the client had failed. Three in a
    row exclude the client.
    """

    def __init__(
        self,
        exchange: Exchange,
        run: str,
        match: Match,
        threads: int,
        device: str = "cpu",
        timeout: float | None = None,
        sizes: Mapping[str, int] | None = None,
    ) -> None:
        check_names(exchange.clients)
        self.exchange = exchange
        self.sizes = sizes or {}
        """How many samples each client has by its survey, where there was one."""
        self.timeout = timeout
        self.strikes: dict[tuple[str, str], int] = {}
        """Refused answers in a row, by client and task: one who counts well may still answer badly."""
        self._answered: set[tuple[str, str]] = set()
        """Who gave an answer to the last question that can be read."""
        self.excluded: dict[str, str] = {}
        self._players = frozenset(match.players)
        self._header = {"run": run, "match": match.model_dump(mode="json"), "threads": threads, "device": device}

    @property
    def clients(self) -> tuple[str, ...]:
        """Those who play; others may be there, such as one that is held out this time."""
        return tuple(name for name in self.exchange.clients if name in self._players)

    def ask(self, asks: Mapping[str, Ask], timeout: float | None = None) -> Answers:
        for answered_well in self._answered:  # and nobody refused it since: beside its peers' it may still be too large
            self.strikes.pop(answered_well, None)
        self._answered.clear()
        payloads = {
            name: pack_ask(ask, {**self._header, "kind": "ask"})
            for name, ask in asks.items()
            if name not in self.excluded
        }
        replies = self.exchange(payloads, timeout)
        answered: dict[str, Answer] = {}
        failed = dict.fromkeys(asks, "no answer") | dict(replies.failed)
        failed |= {name: why for name, why in self.excluded.items() if name in asks}
        unbounded = set()
        for name, reply in replies.arrived.items():
            if name not in payloads:
                log.warning("%s answered and was not asked: refused", name)
                continue
            try:
                answer = _accepted(name, asks[name], reply)
                self._check_size(name, asks[name].task, answer)
            except Unreadable as why:
                failed[name] = self.refuse(name, asks[name].task, str(why))
                unbounded |= {name} if isinstance(why, Unbounded) else set()
                continue
            if isinstance(answer, Answer):
                answered[name] = answer
                failed.pop(name)
                self._answered.add((name, asks[name].task))
            else:
                failed[name] = answer
        return Answers(answered, failed, frozenset(unbounded))

    def _check_size(self, name: str, task: str, answer: Answer | str) -> None:
        """N_k, and what is held back, are what the survey told."""
        if task != "introduce" or isinstance(answer, str) or name not in self.sizes:
            return
        told = int(answer.numbers["samples"] + answer.numbers["held_back"])
        if told != self.sizes[name]:
            raise Unreadable(f"says that it has {told:g} samples, and its survey {self.sizes[name]}")

    def refuse(self, name: str, task: str, why: str) -> str:
        why = printable(why)
        self._answered.discard((name, task))
        self.strikes[name, task] = self.strikes.get((name, task), 0) + 1
        reason = f"refused, because its answer {why}"
        if self.strikes[name, task] >= STRIKES:
            self.excluded[name] = f"excluded after {STRIKES} refused answers in a row; the last one {why}"
            reason = self.excluded[name]
        log.warning("%s: %s", name, reason)
        return reason

    def blame(self, name: str, why: str, others: Collection[str]) -> None:
        self.excluded[name] = why
        self.strikes = {struck: times for struck, times in self.strikes.items() if struck[0] not in others}
        for other in others:
            self.excluded.pop(other, None)
        log.warning("%s: %s", name, why)

    def save(self, round_: int, keep: Collection[int] = ()) -> Saved:
        _, failed = self._tell({"kind": "save", "round": round_, "keep": sorted(keep)})
        return Saved({}, failed)

    def rounds(self) -> set[int]:
        # It is now that they read their data: they get more time than for a move, as when a game begins.
        done, _ = self._tell({"kind": "rounds"}, max(self.timeout, BEGINNING) if self.timeout else None)
        common = [set(header.rounds) for header in done.values()]
        return set.intersection(*common) if common else set()

    def restore(self, round_: int, states: Mapping[str, State]) -> dict[str, str]:
        _, failed = self._tell({"kind": "restore", "round": round_})
        return failed

    def close(self) -> None:
        """The match has ended: clients need not keep anything of it."""
        self._tell({"kind": "leave"})

    def _tell(
        self, order: Mapping[str, Any], timeout: float | None = None
    ) -> tuple[dict[str, AnswerHeader], dict[str, str]]:
        """The same order to every client; who has done it, and who has not and why."""
        asked = [name for name in self.clients if name not in self.excluded]
        order, patience = {**self._header, **order}, timeout or self.timeout
        done, failed = _told(self.exchange, asked, order, patience, allowed_bytes(Ask("")))
        return done, failed | self.excluded


def surveys(exchange: Exchange, data: str, roles: Roles, threads: int, timeout: float | None) -> dict[str, Survey]:
    """What every client tells of its own data, before a game."""
    check_names(exchange.clients)
    order = {"kind": "survey", "data": data, "roles": roles.model_dump(), "threads": threads}
    done, failed = _told(exchange, exchange.clients, order, timeout, SURVEY)
    found = {name: header.survey for name, header in done.items() if header.survey is not None}
    if missing := [name for name in exchange.clients if name not in found]:
        reasons = "; ".join(f"{name}: {failed.get(name, 'it told nothing')}" for name in missing)
        raise ClientFailure(f"Not every client could tell of its data ({reasons}).")
    for name, survey in found.items():
        for each in sorted(survey.names()):
            if why := unfit(each):
                raise ClientFailure(f"{name} tells of {printable(each)!r}, which {why}: nothing can be called so.")
    return {name: found[name] for name in exchange.clients}


def check_names(clients: Collection[str]) -> None:
    """Clients that play over an engine have plain names of their own."""
    for name in clients:
        if why := why_unfit(name):
            raise ClientFailure(why)


def why_unfit(name: object) -> str | None:
    """Why no client can be called so, if none can; sites say themselves who they are."""
    if not isinstance(name, str):
        return f"A client's name is a text, and not of type {type(name).__name__}."
    why = unfit_client(name, (*RESERVED, POOLED))
    return f"No client can be called {printable(name)!r}: it {why}." if why else None


def _told(
    exchange: Exchange, clients: Collection[str], order: Mapping[str, Any], timeout: float | None, expected: int
) -> tuple[dict[str, AnswerHeader], dict[str, str]]:
    """The same order to these clients; who has done it, and who has not and why."""
    payload = pack(order)
    replies = exchange(dict.fromkeys(clients, payload), timeout)
    failed = dict.fromkeys(clients, "no answer") | dict(replies.failed)
    done = {}
    for name, reply in replies.arrived.items():
        try:
            header, _ = _read(name, reply, expected)
        except Unreadable as why:
            failed[name] = printable(f"its answer {why}")
            continue
        if header.error:
            failed[name] = printable(header.error)
        else:
            done[name] = header
            failed.pop(name, None)
    return done, failed


def _accepted(name: str, ask: Ask, reply: object) -> Answer | str:
    """A client's answer, or why it has none."""
    header, tensors = _read(name, reply, allowed_bytes(ask))
    if header.error is not None:
        return printable(header.error)
    if header.number != ask.number:
        raise Unreadable(f"is to question {header.number}, and {ask.number} was asked")
    answer = Answer(tensors, header.numbers)
    for fault in ask.form.malformed(answer):
        raise Unreadable(fault)
    for fault in ask.form.unbounded(answer):
        raise Unbounded(fault)
    for fault in ask.form.implausible(answer):
        raise Unreadable(fault)
    return answer


def _read(name: str, reply: object, expected: int) -> tuple[AnswerHeader, Weights]:
    if not isinstance(reply, bytes):
        raise Unreadable(f"is of type {type(reply).__name__}")
    if len(reply) > OVERSIZE * expected:
        raise Unreadable(f"has {len(reply)} bytes, and {expected} were expected: not read")
    header, tensors = read_answer(reply)
    if header.client != name:
        raise Unreadable(f"says that it is from {header.client}")
    return header, tensors

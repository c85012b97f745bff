"""What the training clients' data say of a result, in sentences: why it is what it is, and when to doubt it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from flgames.core.records import Finding
from flgames.runs.entry import Entry
from flgames.runs.result import Result

LITTLE = 0.02
"""A model that is not this much better than the most frequent class has learnt little."""

PERFECT = 0.99
"""Above this training accuracy there are too few mistakes for clients to differ by."""

TOO_SIMPLE = 0.02
"""Perceptrons must be this much better than linear models, and by more than chance, before a truth is not linear."""

NAMED = 3
"""Columns that a sentence names."""


def found(finding: Finding, columns: Sequence[str]) -> str:
    """What the sites disagree about, and what was made of it."""
    if not finding.contested:
        if finding.settled:
            return "The sites' own models differ by no more than chance; weights were asked for all the same."
        return (
            "The clients' data give no reason to distrust anything: no difference between the sites' own models is "
            "more than chance would make, so samples count as they are. With few samples only large ones are found."
        )
    named = ", ".join(_column(each.column, columns) for each in finding.contested[:NAMED])
    more = len(finding.contested) - NAMED
    about = f"The sites' own models disagree about {named}" + (f" and {more} more columns" if more > 0 else "")
    lies = f"{finding.reliance:.0%} of what they say lies in the direction in which they differ most"
    if finding.settled:
        left = ", ".join(f"{name} {share:.0%}" for name, share in finding.effective.items())
        return (
            f"{about}, and {lies}: samples are weighted so that it tells nothing (what is left of them: {left}), also "
            "those by which the round is chosen."
        )
    return f"{about}, but only {lies}: samples count as they are."


def _column(number: int, columns: Sequence[str]) -> str:
    return columns[number] if number < len(columns) else f"column {number}"


def chose(entry: Entry, result: Result) -> Iterator[str]:
    """Which round's model was chosen, and why."""
    if entry.rule is None or not entry.rule.chooses_round:
        return
    why = (result.stopped_by or entry.rule.reason) if result.end == "rule" else "--rounds ended the game"
    where = "on held-back samples" if result.held_back else "on training samples"
    weighted = ", weighted" if result.finding and result.finding.settled else ""
    yield (
        f"{entry.title}: chose the model of round {result.chosen_round + 1} of {result.rounds} ({why}): accuracy "
        f"{100 * result.train:.1f} % {where}{weighted}. Its rule {entry.rule}."
    )


def held_back_accuracy(result: Result) -> tuple[float, int]:
    """Pooled over training clients, and on how many samples."""
    n = sum(each.n for each in result.held_back.values())
    return sum(each.n * each.accuracy for each in result.held_back.values()) / n, n


def beside(ours: tuple[Entry, Result], other: tuple[Entry, Result], constant: float) -> tuple[str, bool]:
    """FL Games beside a baseline and the constant, on samples that were held back; whether that is a warning."""
    (entry, result), (against, its_result) = ours, other
    (own, n), (its, _) = held_back_accuracy(result), held_back_accuracy(its_result)
    said = (
        f"On held-back samples of the training clients: {entry.title} {own:.1%}, {against.title} {its:.1%}, the most "
        f"frequent answer {constant:.1%}."
    )
    behind = its - own > math.sqrt(own * (1 - own) / n)
    if not behind:
        return said, False
    if result.finding and result.finding.settled:
        return (
            f"{said} It is behind there because it does without what the sites disagree about; where that holds as at "
            f"the training sites, {against.title} is better.",
            False,
        )
    return (
        f"{said} It is behind {against.title} there, and nothing found in the data says why that should pay at unseen "
        f"clients: consider {against.title}, or other players (--predictor).",
        True,
    )


def too_simple(linear: Result, perceptrons: Result) -> Iterator[str]:
    """Whether perceptrons find what linear models can't, by the same method on the same samples."""
    (simple, n), (more, _) = held_back_accuracy(linear), held_back_accuracy(perceptrons)
    if more - simple > max(TOO_SIMPLE, 2 * math.sqrt(2 * simple * (1 - simple) / n)):
        yield (
            f"Perceptrons are right about {more:.1%} of the held-back samples, and linear models about {simple:.1%}, "
            "both by FedAvg: the truth is not linear here. --predictor mlp plays perceptrons, without settling."
        )


def doubts(entry: Entry, result: Result, constant: float) -> Iterator[str]:
    """Why not to believe a result."""
    if entry.rule is not None and result.end != "rule":
        yield (
            f"{entry.title}: --rounds ended the game before its rule did; a later round may be better. Try more "
            "--rounds."
        )
    if result.train < constant + LITTLE:
        yield (
            f"{entry.title}: the most frequent class alone gives {constant:.0%} at the training clients, and this "
            f"model {result.train:.0%}: it has learnt little that holds for all of them."
        )
    if result.train >= PERFECT and entry.rule is not None:
        yield (
            f"{entry.title}: training clients are at {result.train:.1%}. Where hardly anything is wrong, clients can't "
            "differ, and a rule that looks at them has no evidence: only a client that is held out can tell."
        )

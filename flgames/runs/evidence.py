"""What the training clients' data say of a result, in sentences: why it is what it is, and when to doubt it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from flgames.core.records import Balanced, Differs, Finding
from flgames.methods.fl_games.balance import TOO_ROUGH
from flgames.methods.settled.disagreement import SIGNIFICANT
from flgames.runs.entry import Entry
from flgames.runs.result import Result

LITTLE = 0.02
"""A model that is not this much better than the most frequent class has learnt little."""

PERFECT = 0.99
"""Above this training accuracy there are too few mistakes for clients to differ by."""

TOO_SIMPLE = 0.02
"""Perceptrons must be this much better than linear models, and by more than chance, before a truth is not linear."""

NAMED = 3
"""Columns, clients or classes that a sentence names."""


NO_REASON = "The clients' data give no reason to distrust anything"

FEW_LEFT = 0.1
"""Below this share of its samples, as weights count them, a client has too few left to learn from."""


def found(finding: Finding, columns: Sequence[str] = ()) -> str:
    """What the sites disagree about, and what was made of it."""
    if finding.differs is not None:
        return _found_by_players(finding, finding.differs)
    if not finding.contested:
        if finding.settled:
            return "The sites' own models differ by no more than chance; weights were asked for all the same."
        return (
            f"{NO_REASON}: no difference between the sites' own models is more than chance would make, so samples "
            "count as they are. With few samples only large ones are found."
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


def _found_by_players(finding: Finding, differs: Differs) -> str:
    told = _shares(finding.told)
    alone = f"What the players disagree about is, alone, right about the label for {told}"
    chance = f"p = {differs.p:.1g}"
    if not finding.settled:
        return (
            f"{NO_REASON}. {alone}, and it tells the same at all clients, as far as so many samples can say "
            f"({chance}): samples count as they are."
        )
    why = f"clients differ in what it tells by more than chance ({chance})"
    if differs.p >= SIGNIFICANT:
        why = f"clients differ in what it tells by no more than chance ({chance}), but weights were asked for"
    return (
        f"{alone}; {why}. Samples are weighted so that it is right for {_shares(finding.left)}; what is left of them "
        f"is worth {_shares(finding.effective)} of their number."
    )


def few_left(finding: Finding) -> Iterator[str]:
    """Clients to whom weights leave too little."""
    for name, share in finding.effective.items():
        if share < FEW_LEFT:
            yield f"{name}: weights leave {share:.1%} of its samples' worth. Hardly anything there speaks against u."


def _shares(by_client: Mapping[str, float]) -> str:
    if len(by_client) <= NAMED:
        return ", ".join(f"{share:.0%} ({name})" for name, share in by_client.items())
    return f"{min(by_client.values()):.0%} to {max(by_client.values()):.0%} (of {len(by_client)} clients)"


def balanced(found: Balanced) -> tuple[str, bool]:
    """What parity cost and what it is worth; whether that is a warning."""
    counts = ", ".join(f"{name} {weight:.2f}" for name, weight in found.weights.items())
    said = (
        f"Balanced: players count {counts}. The clients' losses were {found.gap_before:.3f} apart and are "
        f"{found.gap:.4f} apart now, with a sampling error of {found.error:.3f} ({found.exchanges} exchanges)."
    )
    if found.error <= TOO_ROUGH * found.gap_before:
        return said, False
    share = found.error / found.gap_before if found.gap_before else 1.0
    return (
        f"{said} The error is {share:.0%} of what was removed: with so few samples parity is partly luck, and so is "
        "what it does at unseen clients.",
        True,
    )


def _column(number: int, columns: Sequence[str]) -> str:
    return columns[number] if number < len(columns) else f"column {number}"


def chose(entry: Entry, result: Result) -> Iterator[str]:
    """Which round's model was chosen, and why."""
    if entry.rule is None or not entry.rule.chooses_round:
        return
    why = (result.stopped_by or entry.rule.reason) if result.end == "rule" else "--rounds ended the game"
    where = "on held-back samples" if result.held_back else "on training samples"
    weighted = "weighted " if result.finding and result.finding.settled else ""
    yield (
        f"{entry.title}: chose the model of round {result.chosen_round + 1} of {result.rounds} ({why}): {weighted}"
        f"accuracy {100 * result.train:.1f} ± {100 * standard_error(result):.1f} % {where}. Its rule {entry.rule}."
    )


def standard_error(result: Result) -> float:
    """Of the accuracy at the training clients, by how many samples count there, as weights count them."""
    judged = result.finding.judged if result.finding else {}
    left = sum(judged.get(name, 1.0) * sum(map(sum, each)) for name, each in result.confusion_of.items())
    return math.sqrt(result.train * (1 - result.train) / left)


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


def weighs(entry: Entry, classes: Sequence[str]) -> Iterator[str]:
    """What every class counts for, where it is not the same."""
    weights = entry.class_weight
    if not weights:
        return
    counts = f"{min(weights):.2f} to {max(weights):.2f}"
    if len(weights) <= NAMED:
        counts = ", ".join(f"{name} {weight:.2f}" for name, weight in zip(classes, weights, strict=True))
    yield f"Classes count alike in the loss of every method. A sample counts, by its class: {counts}."


def doubts(entry: Entry, result: Result, constant: float) -> Iterator[str]:
    """Why not to believe a result."""
    if entry.rule is not None and result.end != "rule":
        yield (
            f"{entry.title}: --rounds ended the game before its rule did; a later round may be better. Try more "
            "--rounds."
        )
    if result.train < constant + LITTLE and not entry.class_weight:  # classes that count alike cost accuracy
        yield (
            f"{entry.title}: the most frequent class alone gives {constant:.0%} at the training clients, and this "
            f"model {result.train:.0%}: it has learnt little that holds for all of them."
        )
    if result.train >= PERFECT and entry.rule is not None:
        yield (
            f"{entry.title}: training clients are at {result.train:.1%}. Where hardly anything is wrong, clients can't "
            "differ, and a rule that looks at them has no evidence: only a client that is held out can tell."
        )

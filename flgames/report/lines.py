"""The lines of a reproduced table: ours beside the paper's, with a mark for each figure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, stdev

from flgames.core.counts import oscillation
from flgames.data.benchmarks.registry import benchmark
from flgames.evaluation.profile import InvarianceProfile
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.schedule import turn
from flgames.paper.case import Case
from flgames.report.rows import Row, mean_and_sd
from flgames.runs.result import StoredMatch
from flgames.runs.store import Store

NOT_PLAYED = "not played yet"

MOST_SEEDS = 10
"""Seeds from 0 on that a line is made of, if they have been played, whatever the budget has for it."""

BEFORE = ("seeds", "train", "unseen client", "paper", "mark", "agree", "conflict", "mean", "flip rate")
AFTER = ("rounds", "paper's rounds", "ratio", "moves", "MB", "oscillation", "stopped by")


@dataclass(frozen=True)
class Line:
    """A case and the matches of it that have been played."""

    case: Case
    played: Sequence[StoredMatch]

    @classmethod
    def of(cls, case: Case, store: Store) -> Line:
        seeds = case.seeds if case.seeds.start else range(max(MOST_SEEDS, len(case.seeds)))
        return cls(case, [played for played in map(store.read, replace(case, seeds=seeds).matches()) if played])

    @cached_property
    def row(self) -> Row:
        entry = self.case.entry
        results = [played.result for played in self.played]
        return Row(entry.title, results, self.case.paper, entry.slug, entry.is_federated)

    @property
    def section(self) -> str:
        """The benchmark, as a heading."""
        return benchmark(self.case.options).title

    @property
    def label(self) -> str:
        """Where it stands, in one phrase."""
        return ", ".join(self.case.labels.values())

    @property
    def mark(self) -> str:
        """How our mean stands to the paper's: within two of its standard deviations, higher, lower, or reversed."""
        if not self.played:
            return ""
        if InvarianceProfile.mean_of(self.row.profiles).reversed:
            return "reversed"
        if self.case.paper is None:
            return ""
        off = fmean(self.row.values("unseen")) - self.case.paper.mean
        if abs(off) <= 2 * self.case.paper.deviation:
            return "within 2 sd"
        return "higher" if off > 0 else "lower"

    @property
    def ratio(self) -> float | None:
        """Our rounds over the paper's."""
        if not self.played or not self.case.paper_rounds:
            return None
        return fmean(self.row.values("rounds")) / self.case.paper_rounds

    @property
    def unstopped(self) -> int:
        """Seeds whose rule did not fire: they would have taken more rounds."""
        return sum(1 for result in self.row.played if result.rule and result.end == "rounds")

    @property
    def moves(self) -> list[int]:
        """How often a player moved, seed by seed; nobody is a player in a baseline."""
        if self.case.entry.method != "fl-games":
            return []
        config = FLGamesConfig.model_validate(self.case.entry.config)
        return [
            sum(
                0 if now.moves_phi else len(now.movers)
                for round_ in range(played.result.rounds)
                for now in [turn(config, round_, list(played.result.train_of), played.seed)]
            )
            for played in self.played
        ]

    @property
    def megabytes(self) -> list[float]:
        """Up and down, over all clients."""
        row = self.row
        return [up + down for up, down in zip(row.values("megabytes_up"), row.values("megabytes_down"), strict=True)]

    @property
    def oscillations(self) -> list[float]:
        """The mean absolute change of training accuracy from round to round, in %."""
        return [100 * oscillation(played.train_curve) for played in self.played]

    def cells(self) -> dict[str, str]:
        """What a person reads, by column."""
        labels = dict(self.case.labels)
        printed = {"paper": str(self.case.paper or ""), "paper's rounds": _number(self.case.paper_rounds, ".0f")}
        if not self.played:
            return labels | {"seeds": NOT_PLAYED} | printed
        least = "≥ " if self.unstopped else ""
        return labels | self.row.cells() | {"method": labels.get("method", "")} | printed | {
            "seeds": str(len(self.played)),
            "mark": self.mark,
            "rounds": least + mean_and_sd(self.row.values("rounds"), ".0f"),
            "ratio": least + _number(self.ratio, ".2f") if self.ratio else "",
            "moves": mean_and_sd(self.moves, ".0f"),
            "MB": mean_and_sd(self.megabytes, ".0f"),
            "oscillation": mean_and_sd(self.oscillations, ".2f"),
        }  # fmt: skip

    def record(self) -> dict[str, object]:
        """What a program reads."""
        printed: dict[str, object] = {
            "paper_unseen": self.case.paper.mean if self.case.paper else "",
            "paper_unseen_sd": self.case.paper.deviation if self.case.paper else "",
            "paper_rounds": self.case.paper_rounds or "",
        }
        start: dict[str, object] = {"benchmark": self.case.options.benchmark, **self.case.labels}
        if not self.played:
            return start | {"seeds": 0} | printed
        own: dict[str, object] = {
            "mark": self.mark,
            "rounds_ratio": "" if self.ratio is None else round(self.ratio, 3),
            "unstopped": self.unstopped,
        }
        for name, values in (
            ("moves", self.moves),
            ("megabytes", self.megabytes),
            ("oscillation", self.oscillations),
        ):
            own[name] = round(fmean(values), 4) if values else ""
            own[f"{name}_sd"] = round(stdev(values), 4) if len(values) > 1 else ""
        ours: dict[str, object] = {name: value for name, value in self.row.record().items() if name != "method"}
        return start | ours | printed | own


def markdown(cells: Sequence[dict[str, str]], labels: Iterable[str]) -> str:
    """A table of those columns that have something to say."""
    columns = [*labels, *(column for column in (*BEFORE, *AFTER) if any(each.get(column) for each in cells))]
    lines = [columns, ["---"] * len(columns), *([each.get(column, "") for column in columns] for each in cells)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def csv_of(lines: Sequence[Line]) -> str:
    records = [line.record() for line in lines]
    columns = list(dict.fromkeys(name for record in records for name in record))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)

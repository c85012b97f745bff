"""Own data compared: every method with each client held out in turn, and paired differences to FedAvg over clients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib import pyplot
from matplotlib.axes import Axes
from rich.console import Console
from rich.table import Table
from rich.text import Text

from flgames.core.figures import Interval
from flgames.files import write_atomically
from flgames.report.clients import MOST_SHOWN, rows_of
from flgames.report.draws import AGAINST, DrawsRow, Mark, csv_of, draw_differences, played
from flgames.report.plots import COLOURS, GREY, save
from flgames.runs.entry import Entry
from flgames.runs.match import Match
from flgames.runs.own_compare import OwnComparison
from flgames.runs.result import Result
from flgames.runs.store import Store

SUMMARY = ("mean", "worst", "mean - FedAvg", "wins")

OF_DRAWS = ("tenth_", "worst_")
"""What is compared draw by draw, and can't be where a draw has one client."""

MEAN: Sequence[Mark] = ((0.0, "mean", "mean over clients", "black"),)
"""What the picture shows of differences."""

LETTERS = (12, 8)
"""Of a client's name in a line of a terminal: fewer if all clients stand in one table then."""

WIDE = 1000
"""Letters, which any table fits into."""

FEW = 4
"""Clients in a table of a terminal that is too narrow for all."""

LEGEND = """
Accuracies in %, where a client was held out and the others trained, each with its 95% interval (Wilson's), as far as
the client's samples are few. `mean` and `worst` are over clients. `mean - FedAvg`: the paired difference over clients,
with its 95% interval (Student's t); `wins`: clients at which it is higher : lower. With several seeds, the mean over
seeds counts for a client. Of many methods one may be ahead by chance.
"""


@dataclass(frozen=True)
class HeldOutRow:
    """One method, with each client held out in turn."""

    draws: DrawsRow
    """A client that is held out is a draw."""
    intervals: Sequence[Interval] = ()
    """Of the accuracy at each client; none of what nobody played."""

    @classmethod
    def of(cls, entry: Entry, seeds: Sequence[Sequence[Result]]) -> HeldOutRow:
        """From the results of every seed, client by client."""
        draws = DrawsRow.mean_of([DrawsRow.of(entry.slug, entry.title, results) for results in seeds])
        unseen = [row for its in zip(*seeds, strict=True) for row in rows_of(its) if row.is_unseen]
        return cls(draws, [row.interval for row in unseen])

    @classmethod
    def constant(cls, seeds: Sequence[Sequence[Result]]) -> HeldOutRow:
        return cls(DrawsRow.mean_of([DrawsRow.constant(results) for results in seeds]))

    @property
    def accuracies(self) -> Sequence[float]:
        """In %, client by client."""
        return self.draws.values["mean"]

    def at_clients(self) -> list[tuple[str, str]]:
        """The accuracy at each client and its interval, as a person reads them."""
        ends = [f"{100 * low:.0f}-{100 * high:.0f}" for low, high in self.intervals] or [""] * len(self.accuracies)
        return [(f"{value:.1f}", end) for value, end in zip(self.accuracies, ends, strict=True)]

    def summary(self, against: DrawsRow | None) -> tuple[str, ...]:
        """What a person reads, in the order of the columns."""
        plain = (f"{self.draws.mean('mean'):.1f}", f"{self.draws.mean('worst'):.1f}")
        if against is None or against.slug == self.draws.slug:
            return (*plain, "", "")
        ahead = self.draws.minus(against, "mean")
        return (*plain, str(ahead), f"{ahead.wins}:{ahead.losses}")

    def record(self, clients: Sequence[str], seeds: int, against: DrawsRow | None) -> dict[str, object]:
        """What a program reads."""
        found = self.draws.record(against)
        named = {name: found.pop(name) for name in ("method", "title")} | {"clients": found.pop("draws")}
        at: dict[str, object] = {"seeds": seeds}
        for place, client in enumerate(clients):
            ends = [round(100 * end, 4) for end in self.intervals[place]] if self.intervals else ("", "")
            at[f"accuracy_at_{client}"] = round(self.accuracies[place], 4)
            at |= {f"accuracy_at_{client}_{name}": end for name, end in zip(("low", "high"), ends, strict=True)}
        return named | at | {name: value for name, value in found.items() if not name.startswith(OF_DRAWS)}


@dataclass(frozen=True)
class HeldOutTable:
    """Every method on the same data."""

    title: str
    clients: Sequence[str]
    seeds: int
    rows: Sequence[HeldOutRow]

    @classmethod
    def of(cls, comparison: OwnComparison, store: Store) -> HeldOutTable:
        """From matches that have all been played."""
        clients, seeds = comparison.clients, len(comparison.seeds)
        found = [(entry, _by_seed(store, matches)) for entry, matches in comparison.by_entry()]
        rows = [HeldOutRow.of(entry, results) for entry, results in found]
        title = f"{comparison.name}, each of {len(clients)} clients held out in turn"
        title += f", {seeds} seeds" if seeds > 1 else ""
        return cls(title, clients, seeds, [*rows, HeldOutRow.constant(found[0][1])])

    @property
    def against(self) -> DrawsRow | None:
        return next((row.draws for row in self.rows if row.draws.slug == AGAINST), None)

    @property
    def rivals(self) -> list[DrawsRow]:
        """Whom FedAvg is compared with."""
        return [row.draws for row in self.rows if row.draws.slug not in (AGAINST, "constant")]

    def verdict(self) -> str | None:
        """Who is better than FedAvg by more than chance, in a sentence; None: FedAvg was not played, or nobody else."""
        if self.against is None or not self.rivals:
            return None
        found = {row.title: row.minus(self.against, "mean") for row in self.rivals}
        ahead = [f"{title} ({each})" for title, each in found.items() if each.is_ahead]
        said = f"Better than FedAvg: {', '.join(ahead)}" if ahead else "No method is better than FedAvg"
        return f"{said}, beyond the 95% interval of the difference over {len(self.clients)} clients."

    def terminal(self, console: Console) -> Iterator[Table]:
        """One table if the terminal is wide enough; or else clients apart, and of many clients none."""
        everyone = range(len(self.clients)) if len(self.clients) <= MOST_SHOWN else ()
        for letters in LETTERS if everyone else ():
            whole = self._table(everyone, SUMMARY, letters)
            if console.measure(whole, options=console.options.update(width=WIDE)).maximum <= console.width:
                yield whole
                return
        for first in everyone[::FEW]:
            yield self._table(everyone[first : first + FEW], ())
        yield self._table((), SUMMARY)

    def _table(self, places: Sequence[int], summary: Sequence[str], letters: int = LETTERS[0]) -> Table:
        """Some of the clients, with intervals below accuracies; and the summary, if it is asked for."""
        table = Table(title=f"{self.title}: accuracy in %", title_justify="left", padding=(0, 0), collapse_padding=True)
        table.add_column("", min_width=16, max_width=20)
        for place in places:
            table.add_column(self.clients[place], justify="right", max_width=letters, overflow="fold")
        for column in summary:
            table.add_column(column, justify="right")
        for row in self.rows:
            at = row.at_clients()
            cells = [Text("\n").join(map(Text, filter(None, at[place]))) for place in places]
            table.add_row(row.draws.title, *cells, *(row.summary(self.against) if summary else ()))
        return table

    def markdown(self) -> str:
        columns = ("", *self.clients, *SUMMARY)
        lines: list[Sequence[str]] = [columns, ("---",) * len(columns)]
        for row in self.rows:
            at = [f"{value} ({ends})" if ends else value for value, ends in row.at_clients()]
            lines.append((row.draws.title, *at, *row.summary(self.against)))
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def csv(self) -> str:
        return csv_of([row.record(self.clients, self.seeds, self.against) for row in self.rows])


def _by_seed(store: Store, matches: Sequence[Match]) -> list[list[Result]]:
    """The results of every seed, client by client."""
    found: dict[int, list[Result]] = {}
    for match in matches:
        found.setdefault(match.seed, []).append(played(store, match))
    return list(found.values())


def show(comparison: OwnComparison, store: Store, console: Console) -> None:
    """Write and print the comparison of matches that have all been played."""
    table = HeldOutTable.of(comparison, store)
    verdict = table.verdict()
    stem = store.root / f"compare-{comparison.label}"
    files = [stem.with_name(stem.name + ending) for ending in (".md", ".csv", ".png")]
    write_atomically(files[0], f"{table.title}\n{LEGEND}\n{table.markdown()}" + (f"\n{verdict}\n" if verdict else ""))
    write_atomically(files[1], table.csv())
    draw(files[2], table)
    from flgames.report.html.stored_pages import held_out_page

    results = {entry.title: [played(store, match) for match in its] for entry, its in comparison.by_entry()}
    files.append(held_out_page(stem.with_name(stem.name + ".html"), table, results, verdict, comparison.command))
    for each in table.terminal(console):
        console.print(each)
    if len(table.clients) > MOST_SHOWN:
        console.print(f"{files[0].name} has a column for each client.", soft_wrap=True)
    if verdict:
        console.print(verdict, style="bold", soft_wrap=True)
    for file in files:
        console.print(str(file), soft_wrap=True)


def draw(path: Path, table: HeldOutTable) -> None:
    """A line a method: accuracy at every client, and beside it the difference to FedAvg with its interval."""
    panels = 2 if table.against and table.rivals else 1
    size = (5.0 * panels + 1.8, 0.36 * len(table.rows) + 2.0)
    figure, axes = pyplot.subplots(1, panels, figsize=size, squeeze=False, sharey=True, layout="constrained")
    _draw_accuracies(axes[0][0], table)
    if table.against and panels > 1:
        draw_differences(axes[0][1], [row.draws for row in table.rows], table.against, MEAN)
        axes[0][1].set_title("mean over clients (bars: 95 %)", fontsize=9)
    figure.suptitle(table.title, fontsize=10)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=9)
    save(figure, path)


def _draw_accuracies(panel: Axes, table: HeldOutTable) -> None:
    places = range(len(table.rows))
    few = len(table.clients) <= len(COLOURS)
    for number, client in enumerate(table.clients):
        values = [row.accuracies[number] for row in table.rows]
        colour, label = (COLOURS[number], client) if few else (GREY, "" if number else "a held-out client")
        panel.plot(values, places, "o", color=colour, markersize=5, alpha=0.8, label=label or None)
    means = [row.draws.mean("mean") for row in table.rows]
    panel.plot(means, places, "|", color="black", markersize=14, markeredgewidth=2, label="mean")
    panel.set_yticks(places, [row.draws.title for row in table.rows])
    panel.set_ylim(len(table.rows) - 0.4, -0.6)
    panel.set_xlabel("accuracy, %")
    panel.set_title("each client, held out", fontsize=9)
    panel.grid(axis="x", alpha=0.2)

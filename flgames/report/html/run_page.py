"""The page of runs: what `flgames report` and the end of `flgames play` write."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from flgames.errors import UserError
from flgames.report.card import model_card
from flgames.report.clients import ClientRow, rows_of
from flgames.report.html.disagree import disagreement
from flgames.report.html.gather import Gathered, Played, Source, gather
from flgames.report.html.measures import clients_table, planted_table, profile_chart, unseen_chart, unseen_table
from flgames.report.html.page import Block, Document, Notes, Page, Section
from flgames.report.html.render import REPORT, write
from flgames.report.html.rounds import cost, curves
from flgames.report.html.settings import repeat_section, settings_section
from flgames.report.remarks import majority_shares
from flgames.report.rows import Row, reference_rows, row_of
from flgames.report.sentences import NOBODY_HELD_OUT, Sentence, of_planted, of_real
from flgames.runs.folder import RunFolder
from flgames.runs.load import load
from flgames.runs.result import Environment


def write_report(runs: Sequence[RunFolder], out: Path | None = None) -> Path:
    """One file of these runs: in the folder of one, or where it is told to be."""
    path = out or (runs[0].path / REPORT if len(runs) == 1 else Path(REPORT))
    return write(path, run_page(runs))


def run_page(runs: Sequence[RunFolder], first: Sequence[Block] = ()) -> Page:
    """What a person wants to know of runs; ``first`` comes before all tables."""
    gathered = gather(runs)
    headlines: list[str] = []
    answer: list[Block] = list(first)
    notes: list[Sentence] = [Sentence(text, "warning") for text in gathered.damages]
    sections: list[Section] = []
    together: dict[str, list[ClientRow]] = {}
    for source in gathered.sources:
        headline, blocks, parts, said = (_planted if source.planted else _real)(source)
        headlines += [headline] if headline else []
        answer += blocks
        notes += said
        sections += parts
        for method in source.ended if not source.planted else ():
            rows = [row for row in rows_of(method.results) if row.is_unseen]
            together.setdefault(method.title, []).extend(rows)
    if len(gathered.sources) > 1 and (chart := _together(together)):
        turn = "every client held out in turn"
        answer = [
            *first,
            unseen_table(
                f"Accuracy in %, {turn}",
                together,
                _rounds([method for source in gathered.sources for method in source.ended]),
            ),
            chart,
            *answer[len(first) :],
        ]
        headlines = [_turns(together)]
    for source in gathered.sources:
        sections += [part for part in (curves(source), disagreement(source), cost(source)) if part]
    plain = list(dict.fromkeys(each.text for each in notes if each.level == "plain"))
    if plain:
        sections.insert(1 if sections else 0, Section("What the training clients say", [Notes(plain)]))
    sections += [settings_section(gathered), repeat_section(gathered), *_cards(gathered)]
    return Page(
        title=_title(gathered),
        about=_about(gathered),
        headline=" ".join(headlines[:3]) or _not_yet(gathered),
        facts=_facts(gathered),
        warnings=list(
            dict.fromkeys(
                [*_under_way(gathered), *(each.text for each in notes if each.level == "warning"), *_nobody(gathered)]
            )
        ),
        answer=answer,
        sections=sections,
        footer=_footer(gathered),
    )


Told = tuple[str, list[Block], list[Section], list[Sentence]]


def _planted(source: Source) -> Told:
    benchmark = source.planted
    assert benchmark is not None
    ended = source.ended
    if not ended:
        return "", [], [], []
    rows = [_row(method) for method in ended]
    seeds = sorted({game.match.seed for method in ended for game in method.games if game.result})
    try:
        constants = majority_shares(benchmark, seeds)
    except (UserError, OSError):  # its images are not on this machine
        constants = []
    constant = fmean(train for train, _ in constants) if constants else 0.0
    table = [*rows, *reference_rows(rows[0].profiles[0], constants)]
    how = "95% intervals over seeds" if len(seeds) > 1 else "one seed, so there are no intervals"
    said = list(of_planted([method.entry for method in ended], rows, constant, len(seeds)))
    best = rows[-1]
    unseen, agree, conflict = (fmean(best.values(name)) for name in ("unseen", "agree", "conflict"))
    others = [f"{row.title} {fmean(row.values('unseen')):.1f}%" for row in rows[:-1]]
    ceiling = 100 * rows[0].profiles[0].ceiling
    headline = (
        f"At the unseen client {best.title} is right about {unseen:.1f}%{_beside(others)}; at best an invariant model "
        f"reaches {ceiling:.0f}%. It is right about {agree:.1f}% where the shortcut agrees with the label and "
        f"{conflict:.1f}% where it contradicts it."
    )
    caption = f"{source.match.title}: accuracies in %, {how}"
    profile = Section(
        "Invariance profile",
        [profile_chart(rows, benchmark)],
        "A model that uses the shortcut falls from left to right. A flat line does not depend on it.",
    )
    return headline, [planted_table(caption, table)], [profile], said


def _row(method: Played) -> Row:
    options = method.games[0].match.options
    made = row_of(method.entry, options, method.results)  # type: ignore[arg-type]
    return Row(method.title, made.results, made.paper, made.slug, made.is_federated)


def _real(source: Source) -> Told:
    ended = source.ended
    if not ended:
        return "", [], [], []
    methods = {method.title: rows_of(method.results) for method in ended}
    last = methods[ended[-1].title]
    unseen = [row for row in last if row.is_unseen]
    several = len(unseen) > 1
    how = "mean over unseen clients with its 95% interval" if several else "with 95% intervals (Wilson's)"
    table = unseen_table(
        f"{source.match.title}: accuracies in %, {how if unseen else 'nobody was held out'}", methods, _rounds(ended)
    )
    said: list[Sentence] = []
    complete = [method for method in ended if len(method.results) == len(method.games)]
    for run in dict.fromkeys(method.run for method in complete):
        said += of_real(source.match, [(method.entry, method.results) for method in complete if method.run is run])
    blocks: list[Block] = [
        clients_table(
            "Accuracies in %, with Wilson's 95% intervals",
            methods,
            "" if sum(map(len, methods.values())) <= 14 else "Every client in figures",
        )
    ]
    if chart := unseen_chart("Accuracy at unseen clients", methods):
        blocks.insert(0, chart)
    section = Section(f"{'Unseen clients' if unseen else 'Clients'}{source.apart}", blocks)
    return _real_headline(methods), [table], [section], said


def _real_headline(methods: dict[str, list[ClientRow]]) -> str:
    title, rows = list(methods.items())[-1]
    unseen = [row for row in rows if row.is_unseen]
    if not unseen:
        return (
            f"{title} was trained by {len(rows)} clients. Nobody was held out, so how it does elsewhere is not known."
        )
    others = [f"{name} {100 * _mean(its):.1f}%" for name, its in list(methods.items())[:-1]]
    constant = 100 * fmean(row.constant for row in unseen)
    where = (
        f"Over {len(unseen)} clients that nobody trained on,"
        if len(unseen) > 1
        else f"At {unseen[0].client}, where nobody trained,"
    )
    worst = min(unseen, key=lambda row: row.mean("accuracy") or 0.0)
    also = f" It is worst at {worst.client}: {100 * (worst.mean('accuracy') or 0):.1f}%." if len(unseen) > 1 else ""
    return f"{where} {title} is right about {100 * _mean(rows):.1f}%{_beside([*others, f'the most frequent answer {constant:.1f}%'])}.{also}"


def _mean(rows: Sequence[ClientRow]) -> float:
    return fmean(row.mean("accuracy") or 0.0 for row in rows if row.is_unseen)


def _beside(others: Sequence[str]) -> str:
    return f" ({', '.join(others)})" if others else ""


def _turns(together: dict[str, list[ClientRow]]) -> str:
    title, rows = list(together.items())[-1]
    others = [f"{name} {100 * _mean(its):.1f}%" for name, its in list(together.items())[:-1]]
    return f"Over {len(rows)} cases in which a client was held out, {title} is right about {100 * _mean(rows):.1f}% there{_beside(others)}."


def _together(methods: dict[str, list[ClientRow]]) -> Block | None:
    rows = [row for its in methods.values() for row in its]
    names = [row.client for row in next(iter(methods.values()), [])]
    return unseen_chart("Every client, held out", methods) if rows and len(set(names)) == len(names) else None


def _rounds(methods: Sequence[Played]) -> dict[str, float]:
    """How many a method took, over everything that it was played on."""
    found: dict[str, list[int]] = {}
    for method in methods:
        found.setdefault(method.title, []).extend(result.rounds for result in method.results)
    return {title: fmean(rounds) for title, rounds in found.items()}


def _title(gathered: Gathered) -> str:
    runs = gathered.runs
    return runs[0].settings.title if len(runs) == 1 else f"{len(runs)} runs"


def _about(gathered: Gathered) -> str:
    titles = dict.fromkeys(source.match.title for source in gathered.sources)
    seeds = sorted({seed for run in gathered.runs for seed in run.settings.all_seeds})
    on = " and ".join(titles) or str(gathered.runs[0].settings.data or gathered.runs[0].settings.benchmark)
    return f"{on}, {len(seeds)} seed{'s' if len(seeds) > 1 else ''}"


def _facts(gathered: Gathered) -> list[tuple[str, str]]:
    facts: list[tuple[str, str]] = []
    if gathered.sources:
        players = gathered.sources[0].match.players
        facts.append(("Training clients", ", ".join(players) if len(players) <= 6 else str(len(players))))
        unseen = {name for game in gathered.games if game.result for name in game.result.unseen_clients}
        if gathered.sources[0].planted:
            unseen = {f"1, at p = {gathered.sources[0].planted.held_out_flip:g}"}
        named = ", ".join(sorted(unseen)) if len(unseen) <= 3 else str(len(unseen))
        facts.append(("Unseen clients", named or "nobody"))
    methods = dict.fromkeys(method.entry.title for source in gathered.sources for method in source.methods)
    facts.append(("Methods", str(len(methods))))
    facts.append(("Engine", ", ".join(dict.fromkeys(run.settings.engine for run in gathered.runs))))
    started = [
        environment.started[:16].replace("T", " ") for run in gathered.runs if (environment := _environment(run))
    ]
    if started:
        facts.append(("Begun", started[0]))
    return facts


def _environment(run: RunFolder) -> Environment | None:
    try:
        return Environment.model_validate(json.loads((run.path / "environment.json").read_bytes()))
    except (OSError, ValueError):
        return None


def _under_way(gathered: Gathered) -> list[str]:
    if not gathered.games:
        return []
    ended = sum(game.result is not None for game in gathered.games)
    playing = next((game for game in gathered.games if game.result is None and game.rounds), None)
    if ended == len(gathered.games):
        return []
    now = (
        f" {playing.match.entry.title}, seed {playing.match.seed}, is at round {len(playing.rounds)} of at most {playing.match.entry.rounds}."
        if playing
        else ""
    )
    return [f"The run has not ended: {ended} of {len(gathered.games)} games have.{now}"]


def _not_yet(gathered: Gathered) -> str:
    if not gathered.games:
        return "Nothing has been played yet: the clients' data have not been surveyed."
    return "No game has ended yet, so there is no answer; the curves show how it stands."


def _nobody(gathered: Gathered) -> list[str]:
    alone = [run for run in gathered.runs if run.settings.data is not None and not run.settings.holdout]
    return [NOBODY_HELD_OUT] if alone else []


def _cards(gathered: Gathered) -> list[Section]:
    """The model card of every run's game; a run that has not ended has none."""
    blocks: list[Block] = []
    for run in gathered.runs:
        try:
            holdout = run.plan.holdouts[0] if len(run.plan.holdouts) > 1 else None
            model = load(run.path, holdout=holdout)
            blocks.append(Document(f"{model.match.entry.title} on {model.match.title}", model_card(model, {})))
        except (UserError, OSError) as error:
            blocks.append(Notes([f"There is no model card: {str(error).rstrip('.')}."]))
    says = "What the model takes and gives, what was measured, and what it must not be used for. `flgames export` writes it beside the model."
    return [Section("Model card", blocks, says.replace("`", ""))]


def _footer(gathered: Gathered) -> str:
    said = []
    for run in gathered.runs:
        made = _environment(run)
        if made:
            commit = f" ({made.commit})" if made.commit else ""
            said.append(f"{run.path.name}: flgames {made.flgames}{commit}, torch {made.torch}, Python {made.python}")
    return ". ".join([*said, "This file needs no network and sends nothing"]) + "."

"""What is committed under results/runs: this version reads all of it, and finds it by the keys of its files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from flgames.core.stopping.rule import rule_from, rules
from flgames.data.benchmarks.options import RENDERED, SPRITES_OF, BenchmarkOptions
from flgames.runs.entry import Entry
from flgames.runs.match import Match
from flgames.runs.result import read_stored
from flgames.runs.store import Store

COMMITTED = Path(__file__).parents[2] / "results"

WHAT = ("benchmark", "entry", "seed")
"""What decides a match."""


def files() -> Iterator[tuple[Path, str, dict[str, Any]]]:
    """Every file, the key in its name, and what it says."""
    paths = sorted((COMMITTED / "runs").rglob("*.json"))
    assert len(paths) > 100
    for path in paths:
        yield path, path.stem.rpartition("-")[2], json.loads(path.read_text())


def match_of(saved: dict[str, Any]) -> Match:
    """The match that a file is of."""
    values = dict(saved["entry"])
    config = values.pop("rules")
    knobs = {name: values.pop(name) for each in rules().values() for name in each.knobs() if name in values}
    named = {"slug": saved["method"], "title": saved["title"], "config": config, "rule": rule_from(knobs)}
    entry = Entry.model_validate(values | named)
    drawn = {"sprites": RENDERED} if saved["benchmark"]["benchmark"] == SPRITES_OF else {}  # which keys don't mention
    options = BenchmarkOptions.model_validate(drawn | saved["benchmark"])
    return Match(options=options, entry=entry, seed=saved["seed"])


def unseen(result: dict[str, Any]) -> float:
    """Accuracy where nobody trained: of real sites the mean over them, however many samples they have."""
    if "profile" in result:
        return float(result["profile"]["unseen"])
    confusions = [site["confusion"] for site in result["unseen_clients"].values()]
    return fmean(sum(row[k] for k, row in enumerate(each)) / sum(map(sum, each)) for each in confusions)


def test_every_committed_match_is_read() -> None:
    for path, _, saved in files():
        stored = read_stored(path)
        assert (stored.method, stored.title, stored.seed) == (saved["method"], saved["title"], saved["seed"])
        assert stored.result.rounds == saved["result"]["rounds"]
        chosen = saved["result"].get("chosen_round", saved["result"]["rounds"] - 1)
        assert stored.result.chosen_round == chosen, "files count from 0"
        assert stored.result.chosen == f"round {chosen + 1} of {stored.result.rounds}, counted from 1"
        assert len(stored.train_curve) == (stored.result.rounds if stored.result.profile else 0), "real sites are many"
        assert stored.result.unseen == pytest.approx(unseen(saved["result"]), abs=1e-12)
        assert (stored.result.stopped_by is not None) == (saved["result"]["end"] == "rule")
        assert stored.probes == saved.get("probes", {})


def test_every_committed_match_is_named_by_what_decides_it() -> None:
    for path, key, saved in files():
        what = json.dumps({name: saved[name] for name in WHAT}, sort_keys=True)
        assert hashlib.sha256(what.encode()).hexdigest()[:12] == key, path
        assert path.parent.name == saved["benchmark"]["benchmark"]
        assert path.name == f"{saved['method']}-seed-{saved['seed']}-{key}.json"


def test_every_committed_match_is_found_again() -> None:
    store = Store(COMMITTED)
    for path, key, saved in files():
        match = match_of(saved)
        assert match.key == key, path
        assert match.what == {name: saved[name] for name in WHAT}
        assert store.find(match) == read_stored(path).result

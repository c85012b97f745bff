"""What a person reads of a benchmark: its clients or sites, where its data are, and what was counted in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rich.table import Table

from flgames.data.benchmarks.benchmark import HELD_OUT, Benchmark
from flgames.data.benchmarks.published import Published
from flgames.data.benchmarks.sites import Sites

MANY = 7
"""So many unseen sites are counted, not named."""


def facts(source: Benchmark | Sites, offline: bool) -> dict[str, str]:
    """Its clients, their sizes, and where its data would come from on this machine."""
    said = _sites(source) if isinstance(source, Sites) else _clients(source)
    return said | {"data": _each(source, lambda wanted: wanted.where(offline)) or source.origin}


def verified(source: Benchmark | Sites) -> str:
    """What its data were compared with."""
    digests = _each(source, lambda wanted: f"SHA-256 {wanted.sha256[:16]}...")
    return f"verified ({digests})" if digests else "nothing to fetch"


def counted(source: Benchmark | Sites, seed: int) -> Table:
    """A row a client: what was drawn beside what was meant, or what its records say."""
    return _records(source, seed) if isinstance(source, Sites) else _measured(source, seed)


def _each(source: Benchmark | Sites, say: Callable[[Published[Any]], str]) -> str:
    """Something of every data set that a benchmark needs, by name if there are several."""
    several = len(source.published) > 1
    return "; ".join(f"{wanted.title}: {say(wanted)}" if several else say(wanted) for wanted in source.published)


def _clients(source: Benchmark) -> dict[str, str]:
    train, test = source.available or (0, 0)
    flips = ", ".join(f"{flip:g}" for flip in source.flips.values())
    return {
        "clients": f"{len(source.flips)} x {train // len(source.flips):,}, p = {flips}",
        "unseen": f"{test:,}, p = {source.held_out_flip:g}",
    }


def _sites(source: Sites) -> dict[str, str]:
    def named(sites: tuple[str, ...]) -> str:
        return ", ".join(f"{site} {source.sizes[site]:,}" if site in source.sizes else site for site in sites)

    unseen = sum(source.sizes.get(site, 0) for site in source.unseen)
    is_short = len(source.unseen) < MANY
    return {
        "clients": named(source.players),
        "unseen": named(source.unseen) if is_short else f"{unseen:,} at {len(source.unseen)} sites",
        "origin": source.origin,
    }


def _measured(source: Benchmark, seed: int) -> Table:
    table = _table(f"{source.title}, seed {seed}: measured (intended)")
    for column in ("samples", "label noise", f"flips of {source.feature.noun}"):
        table.add_column(column, justify="right")
    data = source.data(seed)
    portions = data.training_portions() | {HELD_OUT: data.held_out_portion()}
    for client, portion in portions.items():
        intended = source.flips.get(client, source.held_out_flip)
        table.add_row(
            client, f"{len(portion.rows):,}",
            f"{portion.noise:.4f} ({source.noise:g})", f"{portion.flip:.4f} ({intended:g})",
        )  # fmt: skip
    return table


def _records(source: Sites, seed: int) -> Table:
    samples = source.load(seed)
    inputs = f"{samples.values.shape[1]} columns" if source.kind == "table" else _shape(samples.values.shape[1:])
    table = _table(f"{source.title}: {inputs}")
    is_binary = source.classes == 2
    for column in ("", "samples", repr(source.class_names[-1]) if is_binary else "rarest and most frequent class"):
        table.add_column(column, justify="right" if column else "left")
    for site in (*source.players, *source.unseen):
        shares = np.bincount(samples.labels[samples.rows(site)], minlength=source.classes) / len(samples.rows(site))
        share = f"{shares[-1]:.3f}" if is_binary else f"{shares.min():.3f}, {shares.max():.3f}"
        role = "trains" if site in source.players else "unseen"
        table.add_row(site, role, f"{len(samples.rows(site)):,}", share)
    return table


def _shape(shape: tuple[int, ...]) -> str:
    return f"images of {' x '.join(map(str, shape))}"


def _table(title: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("client")
    return table

"""What a finished run leaves behind for people: results.json, table.md, curves.png, profile.png."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from rich.console import Console

from flgames.data.benchmark import Benchmark
from flgames.files import write_atomically, write_json
from flgames.lineup import entries
from flgames.report.figures import draw_curves, draw_profile
from flgames.report.tables import Row, markdown_table, reference_cells, rich_table
from flgames.runs import RunFolder

SHORTCUT_WARNING = "stopped by --rounds; this may be a shortcut state"


def summarise(run: RunFolder, source: Benchmark, console: Console) -> None:
    """Write the results of a run whose games have all ended, and show them."""
    settings = run.settings
    folders = {entry.title: [run.game(entry.slug, seed) for seed in settings.all_seeds] for entry in entries(settings)}
    rows = [Row(title, [game.result for game in games if game.result]) for title, games in folders.items()]
    ceiling = rows[0].profiles[0].ceiling
    constant = _majority_shares(source, settings.all_seeds)
    cells = [row.cells() for row in rows] + reference_cells(ceiling, *constant)
    title = f"{source.title}, {settings.seeds} seed{'s' if settings.seeds > 1 else ''}, accuracies in %"

    write_json(run.path / "results.json", {row.title: list(row.results) for row in rows})
    write_atomically(run.path / "table.md", f"{title}\n\n{markdown_table(cells)}")
    draw_curves(run.path / "curves.png", source.title, folders, ceiling)
    draw_profile(run.path / "profile.png", f"{source.title}: invariance profile", rows, list(source.flips.values()))

    console.print(rich_table(cells, title))
    for row in rows:
        unruly = sum(1 for result in row.results if result["rule"] and result["end"] == "rounds")
        if unruly:
            console.print(f"{row.title}: {unruly} of {len(row.results)} {SHORTCUT_WARNING}.", style="yellow")
        untaught = sum(1 for result in row.results if result["train"] <= constant[0])
        if untaught:
            console.print(
                f"{row.title}: {untaught} of {len(row.results)} no better on the training clients than a constant: "
                "flat, but nothing was learnt.",
                style="yellow",
            )
        if any(profile.reversed for profile in row.profiles):
            console.print(
                f"{row.title}: above {ceiling:.0%} on the unseen client the spurious feature is used the wrong way "
                "round (reversed); that is not a better model.",
                style="yellow",
            )
    for name in ("curves.png", "profile.png"):
        console.print(f"{run.path / name}", soft_wrap=True)
    console.print(f"run folder: {run.path.resolve()}", soft_wrap=True, style="bold")


def _majority_shares(source: Benchmark, seeds: Iterable[int]) -> tuple[float, float]:
    """The accuracy of always saying the label that is most frequent in training: there, and on held-out clients."""
    shares = []
    for seed in seeds:
        labels = np.concatenate([portion.labels for portion in source.training_portions(seed).values()])
        counts = np.bincount(labels)
        held_out = source.held_out_portion(seed).labels
        shares.append((counts.max() / len(labels), float(np.mean(held_out == counts.argmax()))))
    train, held_out_share = np.mean(shares, axis=0)
    return float(train), float(held_out_share)

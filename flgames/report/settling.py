"""Settling in three pictures: players run apart on the shortcut, weights take it away, and what is learnt then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from matplotlib import pyplot
from matplotlib.axes import Axes
from torch import Tensor

from flgames.core.local import LocalFederation
from flgames.core.loop import Play
from flgames.data.benchmarks.benchmark import Benchmark
from flgames.data.benchmarks.clients import PaintedSamples
from flgames.evaluation.profile import InvarianceProfile
from flgames.methods.settled.disagreement import along, apart, centred, furthest
from flgames.methods.settled.server import Settled
from flgames.methods.weighting import Weighting
from flgames.report.plots import CLIENT_COLOURS, COLOURS, GREY, save
from flgames.runs.entry import Entry

LOOKED_AT = 2000
"""Training samples of every client that the first two pictures are of."""

EVERY = 5
"""Rounds between two looks."""


class Players:
    """A game under way, and what each player says of some samples of every client."""

    def __init__(self, source: Benchmark, entry: Entry, seed: int) -> None:
        data = source.data(seed)
        method = entry.make(data.input_shape, data.classes)
        assert isinstance(method, Settled)
        self.game, self.clients = method.game, data.training_clients()
        federation = LocalFederation.of(self.game, self.clients, seed, validation=entry.validation)
        self.play = Play(self.game, federation, seed=seed, rounds=int(entry.config["settle_after"] or 0))
        self.play.start()
        self.module = self.game.architecture.predictor().eval()

    def logits(self, samples: PaintedSamples) -> Tensor:
        """``(samples, players, classes)``, centred."""
        inputs, _ = samples.batch(torch.arange(min(len(samples), LOOKED_AT)))
        said = []
        for buffer in self.play.server.known.players.values():
            self.module.load_state_dict(buffer.current.weights)
            with torch.inference_mode():
                said.append(self.module(inputs))
        return centred(torch.stack(said, 1).double())

    def parts(self) -> dict[str, float]:
        """How much each player's logits say by colour, over all samples of all clients."""
        by_client = [(self.logits(samples), samples.codes[:LOOKED_AT].long()) for samples in self.clients.values()]
        found = {}
        for number, name in enumerate(self.clients):
            margins = torch.cat([each[:, number, 1] - each[:, number, 0] for each, _ in by_client])
            codes = torch.cat([codes for _, codes in by_client])
            found[name] = float(margins[codes == 1].mean() - margins[codes == 0].mean())
        return found


def draw_settling(
    path: Path, source: Benchmark, entry: Entry, seed: int, profiles: Mapping[str, Sequence[InvarianceProfile]]
) -> None:
    """``profiles`` are of methods that have been played, by title: those of the third picture."""
    players = Players(source, entry, seed)
    parts = [players.parts()]
    while players.play.next_round < players.play.rounds:
        players.play._round()
        if players.play.next_round % EVERY == 0:
            parts.append(players.parts())
    figure, panels = pyplot.subplots(1, 3, figsize=(16.5, 4.9), layout="constrained")
    _draw_parts(panels[0], parts)
    _draw_weights(panels[1], players)
    _draw_profiles(panels[2], profiles)
    figure.suptitle(f"{source.title}: a settled game in three pictures")
    save(figure, path)


def _draw_parts(panel: Axes, parts: Sequence[Mapping[str, float]]) -> None:
    rounds = [EVERY * place for place in range(len(parts))]
    for name, colour in zip(parts[0], COLOURS, strict=False):
        panel.plot(rounds, [part[name] for part in parts], color=colour, linewidth=2, label=f"player of {name}")
    mean = [sum(part.values()) / len(part) for part in parts]
    panel.plot(rounds, mean, color="black", linestyle="--", linewidth=1.4, label="their mean, the ensemble")
    panel.axhline(0, color=GREY, linewidth=0.8)
    panel.set(title="1. Players run apart on the colour", xlabel="round", ylabel="what a player's logits say by colour")
    panel.legend(fontsize=9)
    panel.grid(alpha=0.2)


def _draw_weights(panel: Axes, players: Players) -> None:
    """How often the label is 1 on either side of u, before weights and after."""
    logits = {name: players.logits(samples) for name, samples in players.clients.items()}
    direction = furthest(torch.stack([apart(each) for each in logits.values()]).sum(0))
    ticks = []
    for place, (name, samples) in enumerate(players.clients.items()):
        u, targets = along(logits[name], direction), samples.labels[:LOOKED_AT].long()
        middle = u.sort(0).values[[len(u) // 2], 0]
        weighting = Weighting.of(u, targets, classes=2, edges=middle)
        weights = weighting(u, targets)
        for side in (0, 1):
            own = (u[:, 0] > middle) == bool(side)
            plain = float(targets[own].double().mean())
            even = float((weights * targets)[own].sum() / weights[own].sum())
            where = 3 * place + side
            panel.bar(where - 0.2, plain, 0.38, color=CLIENT_COLOURS[1], label="as they are" if not where else None)
            panel.bar(where + 0.2, even, 0.38, color=COLOURS[4], label="weighted" if not where else None)
            ticks.append((where, f"{name}\nu {'high' if side else 'low'}"))
    panel.axhline(0.5, color=GREY, linestyle=":", linewidth=1.2)
    panel.set_xticks([where for where, _ in ticks], [text for _, text in ticks], fontsize=8)
    panel.set(title="2. Weights make their disagreement u tell nothing", ylabel="share of label 1", ylim=(0, 1))
    panel.legend(fontsize=9)


def _draw_profiles(panel: Axes, profiles: Mapping[str, Sequence[InvarianceProfile]]) -> None:
    p = np.linspace(0, 1, 2)
    for (title, its), colour in zip(profiles.items(), COLOURS, strict=False):
        mean = InvarianceProfile.mean_of(list(its))
        label = f"{title}: mean {mean.mean:.0%}, flips {mean.flip_rate:.0%}"
        panel.plot(p, [100 * mean.at(x) for x in p], color=colour, linewidth=2, label=label)
        for each in its:
            panel.plot(p, [100 * each.at(x) for x in p], color=colour, linewidth=0.6, alpha=0.4)
    panel.axhline(75, color=GREY, linestyle=":", linewidth=1.2)
    panel.set(
        title="3. What is learnt then, whatever colour says", ylim=(0, 102), ylabel="accuracy on held-out images, %",
        xlabel="p: how often colour contradicts the label",
    )  # fmt: skip
    panel.legend(fontsize=8, loc="lower left")
    panel.grid(alpha=0.2)

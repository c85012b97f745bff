"""Balanced ensembles: players count for so much that the model is equally good at all training clients. Ours.

A uniform ensemble swings: its round decides how much of the shortcut is left in it. But a model that uses a shortcut
is better where the shortcut works better. So of all ensembles z = sum of a_k w_k(x) + b the one is taken whose pooled
risk is smallest *subject to equal risks at all clients*: mean risk + lambda x variance of risks, with lambda growing.
A client answers with its risk and the gradient of it, N + C numbers with C classes, and tells nothing else.

Risks are those of the samples that were held back, because on samples that players know by heart parity lies. Where
none were, they are of all samples: sound while these have not been learnt by heart, as in 150 rounds on 30,000 images.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from flgames.core.gradients import shares_by_size
from flgames.core.messages import LARGEST, Action, Form
from flgames.core.records import Balanced
from flgames.core.server import Server
from flgames.models.ensemble import BALANCE

PENALTIES = (0.0, 1e2, 1e4, 1e5)
"""Lambda, one after the other. The first has no condition: how far risks are apart then is what balance removes."""

STEPS = 15
"""Of L-BFGS with each of them, at most."""

TOO_ROUGH = 0.1
"""Above this share of the gap that it removes, the sampling error of a gap makes parity a matter of luck."""


@dataclass
class _Risks:
    """Asks clients for risks at a point (a, b), and remembers the last ones and how often."""

    server: Server
    exchanges: int = 0
    last: dict[str, float] = field(default_factory=dict)

    def at(self, point: Tensor) -> tuple[Tensor, Tensor]:
        """The risk of every client that is judged, and its gradient."""
        players, known = len(self.server.clients), self.server.known.buffers.get(BALANCE)
        bias = torch.cat([torch.zeros(1, dtype=torch.float64), point[players:]])
        version = known.current.version + 1 if known else 1
        self.server.publish(Action(BALANCE, version, {"weights": point[:players].clone(), "bias": bias}))
        form = Form({"gradient": (torch.float64, point.shape)}, ("loss",))
        answers = self.server.ask_all("risk", form, tuple(self.server.judged))
        self.exchanges += 1
        self.last = {name: float(answer.numbers["loss"]) for name, answer in answers.items()}
        gradients = torch.stack([answer.tensors["gradient"] for answer in answers.values()])
        return torch.tensor(list(self.last.values()), dtype=torch.float64), gradients

    @property
    def gap(self) -> float:
        return max(self.last.values()) - min(self.last.values())


def balance(server: Server) -> Balanced:
    """Publish what each player counts for, so that the clients' risks are alike."""
    players = len(server.clients)
    point = torch.cat([torch.full((players,), 1 / players), torch.zeros(server.classes - 1)]).double()
    risks, gaps = _Risks(server), []
    for penalty in PENALTIES:
        point = _descended(risks, point, penalty)
        risks.at(point)
        gaps.append(risks.gap)
    told = server.ask_all(
        "doubt", Form(numbers=("variance",), between={"variance": (0, LARGEST)}), tuple(server.judged)
    )
    errors = sorted(math.sqrt(float(each.numbers["variance"]) / server.judged[name]) for name, each in told.items())
    return Balanced(
        weights=dict(zip(server.clients, point[:players].tolist(), strict=True)),
        bias=(0.0, *point[players:].tolist()),
        risks=risks.last,
        gap=gaps[-1],
        gap_before=gaps[0],
        error=math.hypot(*errors[-2:]),
        exchanges=risks.exchanges,
    )


def _descended(risks: _Risks, start: Tensor, penalty: float) -> Tensor:
    """Where mean risk + penalty x variance of risks is smallest, from here on."""
    point, server = start.clone().requires_grad_(), risks.server
    shares = torch.tensor(
        list(shares_by_size(server.judged, server.judged, server.share_cap).values()), dtype=torch.float64
    )
    optimiser = torch.optim.LBFGS([point], max_iter=STEPS, max_eval=2 * STEPS, line_search_fn="strong_wolfe")

    def objective() -> Tensor:
        risk, gradient = risks.at(point.detach())
        apart = risk - risk.mean()
        # Divided by what the penalty adds, so that steps keep their size.
        point.grad = (shares + 2 * penalty * apart / len(risk)) @ gradient / (1 + penalty)
        return (shares @ risk + penalty * apart.square().mean()) / (1 + penalty)

    optimiser.step(objective)  # type: ignore[no-untyped-call]
    return point.detach()

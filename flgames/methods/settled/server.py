"""A game, then what its players disagree about, then ordinary training without it. Ours: the paper ends with the game.

1. Players play a short game. Where it stops does not matter: it is not what is learnt.
2. Clients tell how far players are apart on their samples (N x N numbers each). u is the direction in which they are
   furthest apart: the shortcut, where there is one.
3. Clients count how often every label comes with every bin of u, on samples that were held back. Where P(y | u) differs
   between clients by more than chance, u can't be trusted elsewhere. Where it does not, nothing is weighted.
4. Each client weights its own samples by P(y) / P(y | u), so that u tells nothing of the label.
5. Any network is trained on those from scratch, by FedAvg or FedSGD.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from flgames.core.client import Site
from flgames.core.messages import CONTESTED, MODEL, SHARE, Action, Form
from flgames.core.method import Method, Move
from flgames.core.records import Differs, Finding
from flgames.core.server import Server
from flgames.core.state import State, taken
from flgames.methods.fedavg import FedAvg, FedAvgConfig
from flgames.methods.fedsgd import FedSGD, FedSGDConfig
from flgames.methods.fl_games.config import FLGamesConfig
from flgames.methods.fl_games.server import Game
from flgames.methods.local_mean import LocalMean
from flgames.methods.settled.client import SettledClient
from flgames.methods.settled.config import SettledConfig
from flgames.methods.settled.disagreement import (
    Difference,
    difference,
    difference_of_classes,
    finer,
    furthest,
    most_telling,
)
from flgames.models.architecture import Architecture, Weights
from flgames.models.ensemble import Ensemble

BINS, MOST_BINS = 200, 100
"""Of u, over all clients: a client tells its part of the edges, as quantiles, but not more than the second number."""

FEWEST_BINS = 4
"""That a client tells of itself."""


class Settled(Method):
    """A settled game.

    ``players`` is what plays the game, if it is not the network that is trained in the end: on images, say, perceptrons
    on pixels find what convolutions are then kept from using.

    Examples
    --------
    >>> from flgames.methods.settled.config import SettledConfig
    >>> from flgames.methods.settled.server import Settled
    >>> from flgames.models.mlp import paper_architecture
    >>> Settled(paper_architecture((4,), 2, variable=False), SettledConfig(memory=5)).memory
    5
    """

    Config = SettledConfig

    def __init__(
        self, architecture: Architecture, config: SettledConfig | None = None, players: Architecture | None = None
    ) -> None:
        self.config = config = config or SettledConfig()
        if config.representation == "variable":
            raise ValueError("a settled game has a fixed representation: what is learnt is learnt after it")
        if config.full_batch:
            raise ValueError("settling weights the samples of mini-batches: it can't be had with full batches")
        game = FLGamesConfig.model_validate(
            {name: getattr(config, name) for name in FLGamesConfig.model_fields} | {"settle": "never"}
        )
        # Clients need every player's logits, not only what opponents say together.
        makes = Game if config.found_by == "game" else LocalMean
        self.game = makes(replace((players or architecture).joined(), linear=False), game)
        self.training: FedAvg | FedSGD = (
            FedAvg(
                architecture,
                FedAvgConfig(
                    local_steps=config.train_steps, batch_size=config.batch_size, learning_rate=config.train_rate
                ),
            )
            if config.train_by == "fedavg"
            else FedSGD(architecture, FedSGDConfig(batch_size=config.batch_size, learning_rate=config.train_rate))
        )
        self.architecture = self.training.architecture
        self.memory = self.game.memory
        self.found: Finding | None = None

    def client(self, site: Site) -> SettledClient:
        return SettledClient(self.game.client(site), self.training.client(site))

    def start(self, server: Server, seed: int) -> None:
        self.found = None
        self.game.start(server, seed)

    def round(self, server: Server, round_: int, seed: int) -> Move:
        last = self.config.settle_after
        if round_ < last:
            return self.game.round(server, round_, seed)
        if round_ == last:
            self._settle(server)
            self.training.start(server, seed)
        return self.training.round(server, round_ - last, seed)

    def _settle(self, server: Server) -> None:
        """Find u, see whether clients differ about it, and have samples weighted where they do. Who is away now weights
        its samples when it is back."""
        server.known.drop_history()
        players = len(server.clients)
        like = torch.zeros(players, players, dtype=torch.float64)
        told = server.ask("disagree", server.clients, Form.of({"apart": like}))
        u = {"direction": furthest(torch.stack([answer.tensors["apart"] for answer in told.values()]).sum(0))}
        self._publish(server, u)
        differs, u = self._cut(server, u) if server.classes == 2 else self._speak(server, u)
        settled = {"auto": differs.is_sure, "always": True, "never": False}[self.config.settle]
        self._publish(server, u | {"weighted": torch.tensor([int(settled)])})
        self._look(server, differs, settled, u["direction"])

    def _cut(self, server: Server, u: Weights) -> tuple[Difference, Weights]:
        """With two classes: common bins of u, and where it is cut into cells."""
        each = max(FEWEST_BINS, min(MOST_BINS, BINS // len(server.clients)))
        form = Form({"edges": (torch.float64, torch.Size((each - 1,)))})
        told = server.ask("place", server.clients, form, bins=each)
        grid = sorted({edge for answer in told.values() for edge in answer.tensors["edges"].tolist()})
        train, judged = self._binned(server, u, grid)
        differs = difference(train, judged)
        cuts = differs.cuts or (most_telling(train),)
        # Once more, closely: where most samples weigh little, a few on the wrong side weigh much.
        grid = finer(grid, cuts)
        train, judged = self._binned(server, u, grid)
        cuts = (differs.cuts and difference(train, judged).cuts) or (most_telling(train),)
        return differs, u | {"edges": torch.tensor([grid[cut - 1] for cut in cuts], dtype=torch.float64)}

    def _binned(self, server: Server, u: Weights, grid: Sequence[float]) -> tuple[Tensor, Tensor | None]:
        self._publish(server, u | {"edges": torch.tensor(grid, dtype=torch.float64)})
        return self._counts(server, len(grid) + 1)

    def _speak(self, server: Server, u: Weights) -> tuple[Difference, Weights]:
        """With more classes: the cell of a sample is the class that u speaks for, by the sign that is more often
        right."""
        counts = {sign: self._counts(server, server.classes, sign) for sign in (1, -1)}
        sign = max(counts, key=lambda sign: float(counts[sign][0].sum(0).diagonal().sum()))
        train, judged = counts[sign]
        differs = difference_of_classes(train if judged is None else judged)
        return differs, {"direction": sign * u["direction"]}

    def _publish(self, server: Server, contested: Weights) -> None:
        known = server.known.buffers.get(CONTESTED)
        server.publish(Action(CONTESTED, known.current.version + 1 if known else 1, contested))

    def _counts(self, server: Server, bins: int, sign: int = 1) -> tuple[Tensor, Tensor | None]:
        """``[client, bin, label]``, on samples that were trained on, and on those that were held back, if some were."""
        table = (torch.float64, torch.Size((bins, server.classes)))
        forms = {
            name: Form(
                {"train": table, "judged": table},
                counts={"train": (size, size), "judged": (server.judged_by(name),) * 2},
            )
            for name, size in server.samples.items()
        }
        told = server.ask("tabulate", server.clients, forms, sign=sign)
        train = torch.stack([answer.tensors["train"] for answer in told.values()])
        back = [answer.tensors["judged"] for name, answer in told.items() if name in server.judged]
        return train, torch.stack(back) if server.holds_back and back else None

    def _look(self, server: Server, differs: Difference, settled: bool, direction: Tensor) -> None:
        """What u tells at every client, and what weights leave of it."""
        numbers = ("told", "left", "effective", "judged")
        told = server.ask("weigh", server.clients, Form(numbers=numbers, between=dict.fromkeys(numbers, SHARE)))
        by_name = {number: {name: float(each.numbers[number]) for name, each in told.items()} for number in numbers}
        self.found = Finding(
            settled=settled,
            differs=Differs(statistic=differs.statistic, freedom=differs.freedom, p=differs.p),
            players=dict(zip(server.clients, direction.tolist(), strict=True)),
            told=by_name["told"],
            left=by_name["left"],
            effective=by_name["effective"] if settled else {},
            judged=by_name["judged"] if settled else {},
        )
        server.effective = {name: share for name, share in self.found.judged.items() if name in server.judged}

    def warm_start(self, samples: Mapping[str, int]) -> int:
        """No rule can choose a round of the game."""
        return self.config.settle_after

    def ensemble(self, server: Server) -> Ensemble:
        stage = self.training if MODEL in server.known.buffers else self.game
        return stage.ensemble(server)

    def finding(self) -> Finding | None:
        return self.found

    def evidence(self, server: Server) -> Weights:
        """The players that found u, and u's direction."""
        found = server.known.buffers.get(CONTESTED)
        if found is None:
            return {}
        told = {f"{CONTESTED}/{name}": tensor for name, tensor in found.current.weights.items()}
        return self.game.ensemble(server).tensors() | told

    def state_dict(self) -> State:
        return {
            "game": self.game.state_dict(),
            "training": self.training.state_dict(),
            "found": self.found.model_dump() if self.found else None,
        }

    def load_state_dict(self, state: State, server: Server) -> None:
        self.found = Finding.model_validate(state["found"]) if state["found"] else None
        self.game.load_state_dict(taken(state, "game", dict), server)
        if MODEL in server.known.buffers:
            server.known.drop_history()
            self.training.load_state_dict(taken(state, "training", dict), server)

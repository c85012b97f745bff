"""What the server of any method does: publish actions, ask clients, remember who was told what, count bytes.

It knows nothing of where clients live.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flgames.errors import ClientFailure
from flgames.federation import Action, Answer, Ask, Federation, Number, bytes_down, bytes_up
from flgames.measures import Counts, TrainingMeasure
from flgames.memory import InformationSet


class Server:
    """The server's side of a federation.

    A question carries the news that its client has not seen: every action travels to every client once, which is
    all that memory needs, because clients keep the copies they were sent.
    """

    def __init__(self, federation: Federation, memory: int = 0, timeout: float | None = None) -> None:
        self.federation = federation
        self.timeout = timeout
        self.known = InformationSet(memory)
        self.told: dict[str, dict[str, int]] = {client: {} for client in federation.clients}
        self.down = dict.fromkeys(federation.clients, 0)
        self.up = dict.fromkeys(federation.clients, 0)
        self.failures: dict[str, str] = {}
        self.samples: dict[str, int] = {}

    @property
    def clients(self) -> tuple[str, ...]:
        return self.federation.clients

    def introduce(self) -> None:
        """Learn N_k of every client."""
        self.samples = {name: int(a.numbers["samples"]) for name, a in self.ask("introduce", self.clients).items()}

    def publish(self, action: Action) -> None:
        """Make an action known; it travels with the next question to each client that lacks it."""
        self.known.receive([action])
        if action.author in self.told and action.version > 0:
            self.told[action.author][action.author] = action.version

    def ask(self, task: str, clients: Sequence[str], **arguments: Number) -> dict[str, Answer]:
        """The answers of those who answered, in the players' order. It is an error if nobody did."""
        asks = {name: Ask(task, self.known.newer_than(self.told[name]), arguments) for name in clients}
        answers = self.federation.ask(asks, self.timeout)
        self.failures |= answers.failed
        for name, answer in answers.answered.items():
            self.told[name] |= {action.author: action.version for action in asks[name].news}
            self.down[name] += bytes_down(asks[name])
            self.up[name] += bytes_up(answer)
        if not answers.answered:
            reasons = "; ".join(f"{name}: {why}" for name, why in answers.failed.items())
            raise ClientFailure(f"No client answered {task!r} ({reasons}).")
        return {name: answers.answered[name] for name in self.clients if name in answers.answered}

    def measure(self, samples: int) -> TrainingMeasure:
        """How w_av does on the training clients, on at least so many samples in all."""
        each = -(-samples // len(self.clients))
        counts = {
            name: Counts(answer.tensors["confusion"], float(answer.numbers["loss_sum"]))
            for name, answer in self.ask("count", self.clients, samples=each).items()
        }
        return TrainingMeasure(counts, {name: self.samples[name] for name in counts})

    def take_traffic(self) -> dict[str, dict[str, int]]:
        """Bytes down and up per client since the last call."""
        traffic = {name: {"down": self.down[name], "up": self.up[name]} for name in self.clients}
        self.down = dict.fromkeys(self.clients, 0)
        self.up = dict.fromkeys(self.clients, 0)
        return traffic

    def take_failures(self) -> dict[str, str]:
        """Who failed since the last call, and why."""
        failures, self.failures = self.failures, {}
        return failures

    def state_dict(self) -> dict[str, Any]:
        return {
            "known": self.known.state_dict(),
            "told": self.told,
            "samples": self.samples,
            "down": self.down,
            "up": self.up,
            "failures": self.failures,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.known.load_state_dict(state["known"])
        self.told = state["told"]
        self.samples = state["samples"]
        self.down = state["down"]
        self.up = state["up"]
        self.failures = state["failures"]
